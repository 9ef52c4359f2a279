"""The picture as an image, made by the browser, and how to cite it."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

_SAVE_PICTURE = st.components.v2.component(
    "clsviz.save_picture",
    html="""
<button type="button" data-format="png">Picture (PNG)</button>
<button type="button" data-format="svg">Picture (SVG)</button>
""",
    css="""
:host { display: block; }
div { display: flex; gap: 1rem; width: 100%; }
button {
  font: inherit; font-size: 0.875rem; font-family: var(--st-font); color: var(--st-text-color);
  background: transparent; cursor: pointer; flex: 1; min-height: 2.5rem; padding: 0.25rem 0.75rem; white-space: nowrap;
  border: 1px solid var(--st-widget-border-color, var(--st-border-color)); border-radius: var(--st-button-radius);
}
button:hover, button:focus-visible { color: var(--st-primary-color); border-color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
""",
    js="""
// What the colours of the theme are, by the names of those that stand for them.
function themed(text, colours, element) {
  const categories = getComputedStyle(element).getPropertyValue("--st-chart-categorical-colors").split(",")
  for (const [written, role] of Object.entries(colours)) {
    if (categories[role]) text = text.replaceAll(written, categories[role].trim())
  }
  return text
}

export default function ({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => {
      // Plotly is not a global of this page, but its own button does what is wanted, in the format that is set.
      const figure = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`)
      if (!figure) return
      const { data: traces, layout, _fullLayout: { height, width } } = figure
      const image = { format: button.dataset.format, filename: data.name, scale: 2 }
      if (data.key) {
        const key = JSON.parse(themed(JSON.stringify(data.key), data.key.colours, button))
        // The page's font is not in the image: what is as wide as it would be in it is cut off.
        const font = { color: layout.font?.color, family: "Arial, sans-serif" }
        const legend = { ...key.layout.legend, font }
        figure.data = [...traces.map((trace) => ({ ...trace, showlegend: false })), ...key.traces]
        figure.layout = { ...layout, ...key.layout, legend }
        Object.assign(image, { height: height + key.room, width })
      }
      figure._context.toImageButtonOptions = image
      figure.querySelector(".modebar-btn[data-attr='toimage'], .modebar-btn[data-title^='Download']")?.click()
      Object.assign(figure, { data: traces, layout }) // Plotly has copied what it draws
    }
  }
}
""",
)


def image_buttons(chart: str, name: str, key: Mapping[str, Any] | None) -> None:
    """Buttons that save the chart with this key as an image, as it is seen; name: of the file, without an ending.

    key: what its colours stand for, as `chart.key_sent` makes it.
    """
    _SAVE_PICTURE(data={"chart": chart, "name": name, "key": key}, key="save_picture")


def citation(caption: str, entry: str) -> None:
    """A caption and a BibTeX entry, to be copied."""
    st.caption("Caption")
    st.code(caption, language=None, wrap_lines=True)
    st.caption("BibTeX")
    st.code(entry, language=None, wrap_lines=True)
