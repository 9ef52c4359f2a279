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
export default function ({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => {
      const plot = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`)
      if (!plot) return
      const { clientWidth: width, clientHeight: height } = plot
      const image = { format: button.dataset.format, filename: data.name, scale: 2, width, height }
      if (!data.key) return window.Plotly.downloadImage(plot, image)
      const colours = getComputedStyle(button).getPropertyValue("--st-chart-categorical-colors").split(",")
      let key = JSON.stringify(data.key)
      for (const [written, role] of Object.entries(data.key.roles)) {
        if (colours[role]) key = key.replaceAll(written, colours[role].trim())
      }
      const { traces, layout, room } = JSON.parse(key)
      // The page's font is not in the image: what is as wide as it would be in it is cut off.
      const font = { ...plot.layout.template.layout.legend.font, family: "Arial, sans-serif" }
      const legend = { ...layout.legend, font }
      const figure = {
        data: [...plot.data.map((trace) => ({ ...trace, showlegend: false })), ...traces],
        layout: { ...plot.layout, ...layout, legend },
      }
      window.Plotly.downloadImage(figure, { ...image, height: height + room })
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
