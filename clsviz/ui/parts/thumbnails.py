"""A row of small pictures, each of which is a button: one is chosen, and a click chooses another."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from clsviz.figures.layers import HIGH, WIDE
from clsviz.ui.parts import plot

_ROW = st.components.v2.component(
    "clsviz.thumbnails",
    html='<div role="toolbar"></div>',
    css="""
div { display: flex; gap: 0.5rem; overflow-x: auto; padding: 3px; }
button {
  flex: 1 0 auto; min-width: 6.2rem; max-width: 11rem; padding: 0.3rem 0.45rem; cursor: pointer; text-align: left;
  font: inherit; font-family: var(--st-font); font-size: 0.8rem; color: var(--st-text-color); background: transparent;
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
}
button[aria-pressed="true"] { box-shadow: inset 0 0 0 1px var(--st-primary-color); }
button[aria-pressed="true"], button:hover { border-color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
svg { display: block; width: 100%; height: 2.9rem; }
path { fill: none; stroke-linecap: round; vector-effect: non-scaling-stroke; }
span { display: flex; justify-content: space-between; gap: 0 0.4rem; white-space: nowrap; }
""",
    js=f"""
const BOX = "0 0 {WIDE} {HIGH}"
"""
    + """
const LOOK = { points: [0, 2.5, 0.45], marked: [3, 4, 1], line: [1, 2, 1] } // colour of the theme, width, opacity

export default function ({ data, parentElement, setTriggerValue }) {
  const row = parentElement.querySelector("[role=toolbar]")
  const colours = getComputedStyle(row).getPropertyValue("--st-chart-categorical-colors").split(",")
  row.setAttribute("aria-label", data.about)
  while (row.children.length > data.pictures.length) row.lastChild.remove()
  row.onkeydown = ({ key }) => { // one stop of the Tab key for all of them
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
    if (step) row.children[[...row.children].indexOf(row.getRootNode().activeElement) + step]?.focus()
  }
  const chosen = Math.max(0, data.pictures.findIndex(({ is_chosen }) => is_chosen))
  data.pictures.forEach(({ name, result, is_chosen, paths }, at) => {
    const button = row.children[at] ?? row.appendChild(document.createElement("button"))
    button.type = "button"
    button.tabIndex = at === chosen ? 0 : -1
    button.setAttribute("aria-pressed", String(is_chosen))
    button.onclick = () => setTriggerValue("chosen", at)
    const drawn = Object.entries(LOOK).map(([part, [colour, width, opacity]]) =>
      `<path d="${paths[part]}" stroke="${colours[colour]}" stroke-width="${width}" stroke-opacity="${opacity}"/>`)
    const svg = `<svg viewBox="${BOX}" preserveAspectRatio="none" aria-hidden="true">${drawn.join("")}</svg>`
    const picture = `${svg}<span><b></b><i style="font-style: normal"></i></span>`
    if (button.picture !== picture) button.innerHTML = button.picture = picture
    button.querySelector("b").textContent = name
    button.querySelector("i").textContent = result
  })
}
""",
)


def show(pictures: Sequence[Mapping[str, object]], about: str, key: str, choose: Callable[[int], None]) -> None:
    """Draw them in a row, which scrolls where it is too long; choose: called with the place of one that is clicked.

    pictures: name and result, which stand below each; paths, as in `figures.thumbnail`; is_chosen.
    """

    def take() -> None:
        at = plot.told(key, "chosen")
        if type(at) is int and 0 <= at < len(pictures):  # anything may be in a forged message
            choose(at)

    _ROW(data={"about": about, "pictures": pictures}, key=key, on_chosen_change=take)
