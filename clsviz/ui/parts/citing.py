"""The picture as an image, made by the browser, and how to cite it."""

import streamlit as st

_SAVE_PICTURE = st.components.v2.component(
    "clsviz.save_picture",
    html="""
<button type="button" data-format="png">Picture (PNG)</button>
<button type="button" data-format="svg">Picture (SVG)</button>
""",
    css="""
:host, div { display: flex; flex-direction: column; gap: 0.5rem; }
button {
  font: inherit; font-size: 0.875rem; font-family: var(--st-font); color: var(--st-text-color);
  background: transparent; cursor: pointer; width: 100%; min-height: 2.5rem; padding: 0.25rem 0.75rem;
  border: 1px solid var(--st-widget-border-color, var(--st-border-color)); border-radius: var(--st-button-radius);
  margin-bottom: 0.5rem;
}
button:hover, button:focus-visible { color: var(--st-primary-color); border-color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
""",
    js="""
export default function ({ data, parentElement }) {
  for (const button of parentElement.querySelectorAll("button")) {
    button.onclick = () => {
      // Plotly is not a global of this page, but its own button does what is wanted, in the format that is set.
      const figure = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`)
      if (!figure) return
      figure._context.toImageButtonOptions = { format: button.dataset.format, filename: data.name, scale: 2 }
      figure.querySelector(".modebar-btn[data-attr='toimage'], .modebar-btn[data-title^='Download']")?.click()
    }
  }
}
""",
)


def image_buttons(chart: str, name: str) -> None:
    """Buttons that save the chart with this key as an image, as it is seen; name: of the file, without an ending."""
    _SAVE_PICTURE(data={"chart": chart, "name": name}, key="save_picture")


def citation(caption: str, entry: str) -> None:
    """A caption and a BibTeX entry, to be copied."""
    st.caption("Caption")
    st.code(caption, language=None, wrap_lines=True)
    st.caption("BibTeX")
    st.code(entry, language=None, wrap_lines=True)
