"""The link, the downloads, and how to cite."""

import io
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from clsviz.experiment import Experiment
from clsviz.jobs.measure import Measured
from clsviz.results import provenance
from clsviz.results.result import Result
from clsviz.sources import corpora


def show(result: Result, measured: Measured, sentences: list[dict[str, Any]]) -> None:
    """Draw the buttons under the picture; their contents come when they are opened."""
    contents: dict[str, Callable[[], object]] = {
        "Link": lambda: _show_link(measured, sentences),
        "Download": lambda: _show_downloads(result),
        "Cite": lambda: st.code(provenance.citation(), language="bibtex", wrap_lines=True),
    }
    icons = {"Link": "link", "Download": "download", "Cite": "format_quote"}
    with st.container(horizontal=True):
        for name, draw in contents.items():
            icon = f":material/{icons[name]}:"
            with st.popover(name, icon=icon, key=f"share-{name}", on_change="rerun") as box:
                if box.open:
                    draw()


def _show_link(measured: Measured, sentences: list[dict[str, Any]]) -> None:
    experiment: Experiment = st.session_state.experiment
    if corpora.is_file(experiment.corpus):
        st.caption("Your file is not in the link: it works here, while the file is stored.")
    query = experiment.to_query()
    revisions = {
        "model": measured.weights.revision,
        "corpus": measured.sample.corpus.reading.revision,
    }
    for name, revision in revisions.items():
        if revision and "@" not in getattr(experiment, name):
            query[name] = f"{getattr(experiment, name)}@{revision}"
    if sentences and st.checkbox("Include my sentences", key="include"):
        query["text"] = "\n".join(own["sentence"] for own in sentences)
    address = str(st.context.url or "").partition("?")[0]
    st.code(f"{address}?{urlencode(query)}" if query else address, language=None, wrap_lines=True)


def _show_downloads(result: Result) -> None:
    name = f"clsviz-{result.kind}"
    st.download_button("CSV", lambda: _csv(result), f"{name}.csv", on_click="ignore")
    st.download_button("Parquet", lambda: _parquet(result), f"{name}.parquet", on_click="ignore")
    st.caption("PNG and SVG: by the buttons in the corner of the picture.")


def _csv(result: Result) -> bytes:
    return result.table.to_csv(index=False).encode()


def _parquet(result: Result) -> bytes:
    file = io.BytesIO()
    result.table.to_parquet(file, index=False)
    return file.getvalue()
