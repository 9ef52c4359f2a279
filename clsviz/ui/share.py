"""The link, the downloads, and how to cite."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from clsviz import api
from clsviz.jobs.measure import Measured, Prepared
from clsviz.jobs.worker import NoRunner
from clsviz.results import provenance
from clsviz.results.result import Result
from clsviz.sources import corpora
from clsviz.ui import sidebar
from clsviz.ui.server import server


def show(
    result: Result,
    revisions: Mapping[str, str],
    sentences: Sequence[Mapping[str, Any]] = (),
    others: Sequence[str] = (),
) -> None:
    """Draw the buttons under the picture; their contents come when they are opened.

    revisions: of the Hub, or "", by the settings that the page takes a model and a corpus from.
    sentences: that the visitor has typed. others: models that are compared, with revisions.
    """
    contents: dict[str, Callable[[], object]] = {
        "Link": lambda: _show_link(revisions, sentences, others),
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


def revisions_of(prepared: Prepared | Measured) -> dict[str, str]:
    """The revisions of a model and of a corpus, by their settings."""
    corpus = prepared.sample.corpus
    return {"model": prepared.weights.revision, "corpus": corpus.reading.revision}


def _show_link(
    revisions: Mapping[str, str], sentences: Sequence[Mapping[str, Any]], others: Sequence[str]
) -> None:
    query = sidebar.to_query()
    if others:
        query["others"] = others
    if any(corpora.is_file(query.get(name, "")) for name in revisions):
        st.caption("Your file is not in the link: it works here, while the file is stored.")
    for name, revision in revisions.items():
        if revision and "@" not in query[name]:
            query[name] += f"@{revision}"
    if sentences and st.checkbox("Include my sentences", key="include"):
        query["text"] = "\n".join(own["sentence"] for own in sentences)
    address = str(st.context.url or "").partition("?")[0]
    st.code(
        f"{address}?{urlencode(query, doseq=True)}" if query else address,
        language=None,
        wrap_lines=True,
    )


def _show_downloads(result: Result) -> None:
    name = f"clsviz-{result.kind}"
    st.download_button("CSV", lambda: _csv(result), f"{name}.csv", on_click="ignore")
    st.download_button("Parquet", lambda: _parquet(result), f"{name}.parquet", on_click="ignore")
    _show_report()
    st.caption("PNG and SVG: by the buttons in the corner of the picture.")


def _show_report() -> None:
    """A page of all answers for which nothing need be measured."""
    view, others = st.session_state.experiment, sidebar.models()[1:]
    search = sidebar.search()
    write = partial(
        api.report,
        **asdict(view),
        others=others,
        search_corpus=search.corpus,
        search_pooling=search.pooling,
        store=server().root,
        runner=NoRunner(),
    )
    st.download_button(
        "Report",
        lambda: write().encode(),
        "clsviz-report.html",
        on_click="ignore",
        help="All answers on this model and corpus that are measured, as one HTML page.",
    )


def _csv(result: Result) -> bytes:
    return result.table.to_csv(index=False).encode()


def _parquet(result: Result) -> bytes:
    file = io.BytesIO()
    result.table.to_parquet(file, index=False)
    return file.getvalue()
