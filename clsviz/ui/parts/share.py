"""What a visitor takes along: the link, the downloads, and how a result was measured."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from clsviz import export, figures, words
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.sources.hub import shortened
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, layout, preview, redrawn
from clsviz.ui.state import serving, session

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.export import Seen, Table

_HEIGHT, _WIDTH = 636, 656
"""Of what is offered, about; on a phone it takes the width that there is."""

_HEIGHT_OF_TABLE, _HEIGHT_BELOW, _WIDTH_OF_MENU = 56, -16, 330
"""Of the buttons for one table, the gap below the last, and what the buttons take."""

_MIMES = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
}
"""What files are, by their endings."""

_BUTTON = """
button {
  font: inherit; font-size: 0.875rem; font-family: var(--st-font); color: var(--st-text-color);
  background: transparent; cursor: pointer; flex: 1; min-height: 2.5rem; padding: 0.25rem 0.75rem; white-space: nowrap;
  border: 1px solid var(--st-widget-border-color, var(--st-border-color)); border-radius: var(--st-button-radius);
}
button:hover, button:focus-visible { color: var(--st-primary-color); border-color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
"""
"""Buttons of a component look as Streamlit’s own."""

_COPY = st.components.v2.component(
    "clsviz.copy",
    html='<button type="button"><span></span></button>',
    css=_BUTTON + "button { width: 100%; }",
    js="""
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button")
  const label = button.querySelector("span")
  const say = (text) => {
    label.textContent = text
    clearTimeout(button.timer)
    button.timer = setTimeout(() => { label.textContent = data.label }, 2000)
  }
  if (!label.textContent) label.textContent = data.label
  button.onclick = async () => {
    const query = new URLSearchParams(data.query)
    const axes = data.whole && document.querySelector(".st-key-scatter .js-plotly-plot")?._fullLayout
    if (axes) {
      const ends = [...axes.xaxis.range, ...axes.yaxis.range]
      const isWhole = axes.yaxis.autorange && data.whole.every((end, i) => Math.abs(end - ends[i]) < 1e-6)
      query.delete("zoom")
      if (!isWhole) query.set("zoom", ends.map((end) => Number(end.toPrecision(6))).join(","))
    }
    if (data.frame) query.set("embed", "true")
    const link = `${window.location.origin}${window.location.pathname}?${query}`
    const escape = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")
    const frame = `<iframe src="${escape(link)}" title="${escape(data.frame)}" width="100%" height="${data.height}" ` +
      `style="border: 0" loading="lazy"></iframe>`
    const text = data.frame ? frame : link
    try {
      await navigator.clipboard.writeText(text)
      say("Copied")
    } catch {
      // Browsers give the clipboard to secure pages only: offer it to be copied by hand.
      window.prompt("Copy this", text)
    }
  }
}
""",
)


_SAVE_PICTURE = st.components.v2.component(
    "clsviz.save_picture",
    html="""
<button type="button" data-format="png">Picture (PNG)</button>
<button type="button" data-format="svg">Picture (SVG)</button>
""",
    css=_BUTTON + ":host { display: block; } div { display: flex; gap: 1rem; width: 100%; }",
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


def copy_link(experiment: Experiment, found: Found, query: dict[str, str], longest: int | None = None) -> None:
    """A button that puts the link to the picture, on whatever address the app runs, onto the clipboard.

    query: what the address bar has; the link also pins the commits and fingerprints. longest: where the axis of lengths
    of the page's scatter ends, if it has one: the link then takes its zoom along, which only the browser knows.
    """
    _COPY(data=_link(experiment, found, query, longest) | {"label": "Copy link", "frame": ""}, key="copy_link")


def _link(experiment: Experiment, found: Found, query: dict[str, str], longest: int | None) -> dict[str, object]:
    whole = None if longest is None else [0, longest + 1]
    return {"query": "?" + urlencode(query | export.link(experiment, found)), "whole": whole}


def cite_and_export(
    experiment: Experiment, found: Found, shown: "ViewData", seen: "Seen", query: dict[str, str]
) -> None:
    """The table and the picture, as it is seen, as files, each made when asked for; and how to cite them."""
    with st.popover("Cite and export", icon=":material/format_quote:", key="export", on_change="rerun") as place:
        if not place.open:
            st.skeleton(_HEIGHT, width=_WIDTH)  # or else it would be opened where there is room for nothing
            return
        name, is_dense = file_name(experiment, found), figures.is_dense(len(shown.index), len(found.measurements))
        key = chart.key_sent(seen.groups, shown)
        _SAVE_PICTURE(data={"chart": "scatter", "name": name, "key": key}, key="save_picture")
        download("Picture (PDF)", partial(_pdf, experiment, shown), f"{name}.pdf")
        download("Picture (HTML)", lambda: export.report(experiment, found, shown, seen), f"{name}.html")
        if serving.hosting().may_be_framed:
            height = 590 if is_dense else 500  # with what is said below a density, which takes up to three lines
            of_frame = {"label": "Copy iframe", "frame": words.question(experiment), "height": height}
            longest = chart.axes_of(experiment, shown).longest
            _COPY(data=_link(experiment, found, query, longest) | of_frame, key="copy_frame")
        table_downloads(
            "Table",
            name,
            lambda: export.table(found.sentences, found.measurements, seen.groups),
            lambda: export.summary(*words.shareable(experiment, found), shown),
        )
        n_points = None
        if is_dense:
            n_points = figures.n_sampled(shown.lengths, shown.norms, seen.zoom)
            table_downloads(
                "Density",
                f"{name}-density",
                lambda: export.cells(found, shown, seen),
                lambda: about(experiment, found),
            )
        overlays = chart.drawn_overlays(found, experiment, shown, seen.overlays)
        colour = seen.groups.title if seen.groups else ""
        st.caption("Caption")
        caption = words.sharing.caption(experiment, found, shown, overlays, n_points, colour)
        st.code(caption, language=None, wrap_lines=True)
        st.caption("BibTeX")
        st.code(
            words.sharing.bibtex(experiment, found, url=_address(experiment, found, query)),
            language=None,
            wrap_lines=True,
        )


def _pdf(experiment: Experiment, shown: "ViewData") -> bytes:
    """The scatter with its line, its question and its answer."""
    titles = words.length_title(experiment.view), words.axis_title(experiment)
    scatter = figures.static.scatter_of(shown.lengths, shown.norms, titles, shown.fit)
    answer = words.answer(shown, experiment) if shown.fit else shown.problem
    return figures.static.image(scatter, words.question(experiment), answer, words.sharing.SITE, kind="pdf")


def _address(experiment: Experiment, found: Found, query: Mapping[str, str]) -> str:
    """Where the browser sees the page, with the settings and what they stand for; "" where that is not known."""
    address = str(getattr(st.context, "url", None) or "").partition("?")[0]
    return f"{address}?{urlencode({**query, **export.link(experiment, found)})}" if address else ""


def menu(draw: Callable[[], object], n_tables: int, *, is_disabled: bool = False) -> None:
    """A button that opens the downloads of a page. draw: draws them, of so many tables."""
    key, icon = "downloads", ":material/download:"

    def open_below() -> None:
        with st.popover("Download", icon=icon, key=key, on_change="rerun", disabled=is_disabled) as place:
            layout.fill(place, key, draw, n_tables * _HEIGHT_OF_TABLE + _HEIGHT_BELOW, _WIDTH_OF_MENU)

    with st.container(width="content"):
        redrawn.show(open_below, lambda: None, lambda: False)


def table_downloads(
    label: str, name: str, table: "Callable[[], Table]", about: Callable[[], Mapping[str, object]]
) -> None:
    """Buttons for one table as CSV, and as Parquet with `about` in its metadata; each file is made when asked for."""
    with st.container(horizontal=True):
        download(f"{label} (CSV)", lambda: export.to_csv(table()), f"{name}.csv")
        download(f"{label} (Parquet)", lambda: export.to_parquet(table(), about()), f"{name}.parquet")


def picture_downloads(name: str, image: Callable[[str], bytes]) -> None:
    """Buttons for a picture as PNG and SVG; image: makes it, as a file with that ending."""
    with st.container(horizontal=True):
        for kind in ("png", "svg"):
            download(f"Picture ({kind.upper()})", partial(image, kind), f"{name}.{kind}")


def download(label: str, content: Callable[[], bytes], name: str) -> None:
    """A button for a file, which is made when asked for; the ending of its name says what it is."""
    mime = _MIMES[name.rpartition(".")[2]]
    st.download_button(label, content, name, mime, key=f"download-{label}", on_click="ignore", width="stretch")


def file_name(experiment: Experiment, found: Found) -> str:
    """The name of a result's downloads, without an ending: model, corpus and their commits.

    An uploaded file goes by the name that it had, and the digits that tell it from others in the list of corpora.
    """
    experiment, found = words.shareable(experiment, found)
    corpus = words.corpus_name(experiment.corpus.partition("@")[0], found.corpus.label)
    commits = [shortened(commit) for commit in (found.weights.commit, found.corpus.pinned.partition("@")[2]) if commit]
    names = [experiment.model.partition("@")[0], corpus, *commits]
    return "-".join(re.findall(r"\w+", f"clsviz {' '.join(names)}", re.ASCII))


def about(experiment: Experiment, found: Found) -> dict[str, object]:
    """What the metadata of a file say of how it was made."""
    return export.about(*words.shareable(experiment, found))


def explain(how_to_read: str, how_it_was_measured: Callable[[], None] | None) -> None:
    """Two boxes: how to read the page, and what the other draws, if there is anything to say of it."""
    layout.box("How to read this page", "how_to_read", lambda: st.markdown(how_to_read))
    if how_it_was_measured:
        layout.box("How it was measured", "how_it_was_measured", how_it_was_measured, chosen=session.measured)


def provenance(rows: Mapping[str, str], experiment: Experiment, found: Found, name: str) -> None:
    """How a result came about, the command of that name that measures the same, and how to cite it."""
    facts(rows)
    preview.offer_other_cut(found)
    command(words.command(experiment, found, name))
    cite(experiment, found, session.query(), name)


def cite(experiment: Experiment, found: Found, query: Mapping[str, str], name: str, made_by: str = "") -> None:
    """How to cite a page. query: of its link. name, made_by: the command that measures the same."""
    st.markdown("To cite it:")
    entry = words.sharing.bibtex(experiment, found, name, _address(experiment, found, query), made_by)
    st.code(entry, language=None, wrap_lines=True)


def facts(rows: Mapping[str, str]) -> None:
    """A list of names and what is to be said of each."""
    st.markdown("\n".join(f"- **{escape(name)}:** {escape(text)}" for name, text in rows.items()))


def command(text: str) -> None:
    """The command line that measures the same."""
    st.markdown("The same from the command line:")
    st.code(text, language="shell", wrap_lines=True)
