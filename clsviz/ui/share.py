"""The link, the downloads, and how to cite."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from clsviz import api, limits
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
    contents: dict[tuple[str, str], Callable[[], None]] = {
        ("Link", "link"): partial(_show_link, revisions, sentences, others),
        ("Download", "download"): partial(_show_downloads, result),
        ("Cite", "format_quote"): _show_citation,
    }
    with st.container(horizontal=True):
        for (name, icon), draw in contents.items():
            look: dict[str, Any] = {"icon": f":material/{icon}:", "key": f"share-{name}"}
            with st.popover(name, **look, on_change="rerun") as box:
                if box.open:
                    draw()


def pin(name: str, revision: str) -> str:
    """A name with its revision of the Hub; a public server takes names only as it lists them."""
    is_pinned = revision and "@" not in name and not limits.is_public()
    return f"{name}@{revision}" if is_pinned else name


def revisions_of(result: Result, corpus: str = "corpus") -> dict[str, str]:
    """The revisions of a model and of a corpus, by their settings. corpus: its setting."""
    model = result.weights.revision if result.weights else ""
    return {"model": model, corpus: result.corpus.reading.revision if result.corpus else ""}


def _show_link(
    revisions: Mapping[str, str], sentences: Sequence[Mapping[str, Any]], others: Sequence[str]
) -> None:
    query = sidebar.to_query()
    if others:
        query["others"] = others
    if any(corpora.is_file(query.get(name, "")) for name in revisions):
        st.caption("Your file is not in the link: it works here, while the file is stored.")
    for name, revision in revisions.items():
        if revision:
            query[name] = pin(query[name], revision)
    if sentences and st.checkbox("Include my sentences", key="include"):
        query["text"] = "\n".join(own["sentence"] for own in sentences)
    address = str(st.context.url or "").partition("?")[0]
    link = f"{address}?{urlencode(query, doseq=True)}" if query else address
    st.code(link, language=None, wrap_lines=True)


def _show_downloads(result: Result) -> None:
    """The table, and a page of all answers for which nothing need be measured."""
    search = sidebar.search()
    report = partial(
        api.report,
        **asdict(st.session_state.experiment),
        others=sidebar.models()[1:],
        search_corpus=search.corpus,
        search_pooling=search.pooling,
        search_titles=st.session_state.get("search_titles") or "",
        search_column=search.column,
        search_encoding=search.encoding,
        similarity=st.session_state.get("similarity") or "auto",
        own_chunks=sidebar.own_chunks(),
        store=server().root,
        runner=NoRunner(),
    )
    name, table, files = f"clsviz-{result.kind}", result.table, sidebar.own_files()
    help_text = "All answers on this model and corpus that are measured, as one HTML page."
    button = partial(st.download_button, on_click="ignore")
    button("CSV", lambda: table.to_csv(index=False).encode(), f"{name}.csv")
    button("Parquet", lambda: table.to_parquet(index=False), f"{name}.parquet")
    button(
        "Report",
        lambda: sidebar.name_files(report(), files).encode(),
        "clsviz-report.html",
        help=help_text,
    )
    st.caption("PNG and SVG: by the buttons in the corner of the picture.")


def _show_citation() -> None:
    st.code(provenance.CITATION, language="bibtex", wrap_lines=True)
