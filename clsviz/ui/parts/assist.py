"""For those who hear the page, or go through it by keyboard."""

import streamlit as st

_ASSIST = st.components.v2.component(
    "clsviz.assist",
    html='<p role="status" aria-live="polite"></p>',
    css="p { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); }",
    js="""
const QUIET_MILLISECONDS = 1000

// The answer is read when it changes. While sentences are measured it does so every second: only what stays is said.
function sayAnswer(region) {
  const answer = document.querySelector(".st-key-answer h2")?.innerText ?? ""
  if (!answer || answer === region.seen) return
  region.seen = answer
  clearTimeout(region.timer)
  region.timer = setTimeout(() => { region.textContent = answer }, QUIET_MILLISECONDS)
}

// The tools of a picture are one stop, between which the arrow keys move; the help of a field is one only while the
// focus is in the field: Shift+Tab leads to it.
function takeStopsAway() {
  const focused = document.activeElement
  for (const bar of document.querySelectorAll(".modebar")) {
    bar.setAttribute("role", "toolbar")
    bar.setAttribute("aria-label", "Tools of the picture")
    const tools = toolsOf(bar)
    const at = tools.find((tool) => tool === focused) ?? tools.find((tool) => tool.tabIndex === 0) ?? tools[0]
    for (const tool of tools) tool.tabIndex = tool === at ? 0 : -1
  }
  const field = focused?.closest("[data-testid=stElementContainer]")
  for (const help of document.querySelectorAll("button[aria-label^='Help for']")) {
    help.tabIndex = field?.contains(help) ? 0 : -1
  }
}

function toolsOf(bar) {
  return [...bar.querySelectorAll(".modebar-btn")]
}

function moveInBar(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  const bar = step && event.target.closest?.(".modebar")
  if (!bar) return
  const tools = toolsOf(bar)
  tools.at((tools.indexOf(event.target) + step) % tools.length).focus()
  event.preventDefault()
}

export default function ({ parentElement }) {
  if (parentElement.leave) return parentElement.leave
  const region = parentElement.querySelector("p")
  let frame = 0
  const soon = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      takeStopsAway()
      sayAnswer(region)
    })
  }
  const changes = new MutationObserver(soon)
  changes.observe(document.body, { childList: true, characterData: true, subtree: true })
  document.addEventListener("focusin", soon)
  document.addEventListener("keydown", moveInBar)
  soon()
  parentElement.leave = () => {
    delete parentElement.leave
    changes.disconnect()
    document.removeEventListener("focusin", soon)
    document.removeEventListener("keydown", moveInBar)
  }
  return parentElement.leave
}
""",
)


def show() -> None:
    """Have the answer read when it changes, and fewer stops of the Tab key."""
    _ASSIST(key="assist")
