"""For those who hear the page, go through it by keyboard, or are to see a part of it."""

from collections.abc import Sequence

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
// focus is in the field: Shift+Tab leads to it. To the main column leads the link that skips all before it.
function takeStopsAway() {
  const focused = document.activeElement
  const main = document.querySelector("[data-testid=stMain]")
  if (main?.tabIndex === 0) main.tabIndex = -1
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


_INTO_VIEW = st.components.v2.component(
    "clsviz.into_view",
    js="""
const MARGIN = 12 // pixels around what is brought into view, as it may have a frame

const NARROW = "(max-width: 768px)" // where the sidebar lies over the page

function boxesOf(keys) {
  const parts = keys.map((key) => document.querySelector(`.st-key-${key}`)).filter(Boolean)
  return parts.map((part) => part.getBoundingClientRect()).filter((box) => box.height)
}

function closeSidebar() {
  if (!matchMedia(NARROW).matches) return
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click() // which is there while it is open
}

// How far to scroll until what lies between top and bottom is seen between start and end, or else its beginning.
function distance(top, bottom, start, end) {
  if (top < start || bottom - top > end - start) return top - start
  return Math.max(0, bottom - end)
}

function bring({ keys, below }) {
  const boxes = boxesOf(keys)
  const main = document.querySelector("[data-testid=stMain]")
  if (!boxes.length || !main) return
  closeSidebar()
  const header = document.querySelector("[data-testid=stHeader]")?.getBoundingClientRect().bottom ?? 0
  const [cover] = boxesOf([below])
  const start = Math.max(header, main.getBoundingClientRect().top) + MARGIN
  const end = (cover?.top ?? main.getBoundingClientRect().bottom) - MARGIN
  const top = Math.min(...boxes.map((box) => box.top))
  const bottom = Math.max(...boxes.map((box) => box.bottom))
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"
  main.scrollBy({ top: distance(top, bottom, start, end), behavior })
}

export default function ({ data, parentElement }) {
  if (parentElement.occasion === data.occasion) return
  parentElement.occasion = data.occasion
  requestAnimationFrame(() => bring(data)) // once what was sent with it has its place
}
""",
)


def bring_into_view(keys: Sequence[str], occasion: str, below: str = "") -> None:
    """Scroll to the parts with these keys, if some of them cannot be seen, and close a sidebar that covers them.

    If not all of them fit, the first is seen. Afterwards the visitor is free to scroll elsewhere, until there is
    another occasion. below: the key of what lies on the page's lower end, which they are not to be under.
    """
    _INTO_VIEW(data={"keys": list(keys), "occasion": occasion, "below": below}, key=f"into_view_{keys[0]}")
