"""Boxes of a page: how a file was read, sentences that were picked, the table, the method."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import streamlit as st

from clsviz.numbers import counted, seconds
from clsviz.results import provenance
from clsviz.results.norms import lengths_of
from clsviz.results.result import Result
from clsviz.settings import Experiment
from clsviz.sources import corpora
from clsviz.sources.corpora import Corpus
from clsviz.ui import layout, sidebar
from clsviz.ui.server import server

if TYPE_CHECKING:
    import pandas as pd

ORIGINAL: Final = Experiment(
    model="google-bert/bert-base-uncased", corpus="bookcorpus/bookcorpus", sample_size=100_000
)
ORIGINAL_WEIGHTS: Final = 12 * 7_087_872  # the twelve blocks of BERT base

VECTOR: Final = {
    "vector": "Vector",
    "width": "Numbers of a vector",
    "query_prompt": "Prompt before queries",
    "text_prompt": "Prompt before texts",
}
"""What was measured of the model, as JSON and the page name it."""

N_FIRST: Final = 10
MOST_ROWS: Final = 1000


def is_new_file(corpus: str) -> bool:
    """True for a file of one's own until its box is dismissed."""
    return corpora.is_file(corpus) and st.session_state.get("dismissed") != corpus


def show_reading(corpus: Corpus | None, experiment: Experiment) -> None:
    """Draw how a file of one's own was read; another column or cut is a click away."""
    if corpus is None or not is_new_file(experiment.corpus):
        return
    reading = corpus.reading
    is_cut = reading.segmentation != "lines"
    parts = [
        f"column {reading.column}" * bool(reading.column),
        f"encoding {reading.encoding}" * bool(reading.encoding),
        counted(reading.n_texts, "text"),
        f"cut into {reading.segmentation}" if is_cut else "each as it is",
    ]
    names = reading.columns[:5]
    changes = [("column", name, f"Take column {layout.escape(name)}") for name in names]
    if reading.segmentation == "sentences":
        changes.append(("segmentation", "lines", "Take texts as they are"))
    else:
        changes.append(("segmentation", "sentences", "Cut into sentences"))
    with st.container(border=True):
        st.markdown(f"**How {layout.escape(corpus.label)} was read**")
        st.caption(layout.escape(" · ".join(filter(None, parts))))
        with st.container(horizontal=True):
            for *change, label in changes:
                st.button(label, on_click=sidebar.change, args=change)
        first = corpus.table.slice(0, N_FIRST).select(["sentence"]).to_pandas()
        show_first(first, "The first sentences of the file", experiment.corpus)


def show_first(rows: "pd.DataFrame | Mapping[str, Any]", alt: str, corpus: str) -> None:
    """Draw the first rows of a file, and the button that dismisses its box."""
    st.dataframe(rows, hide_index=True, height=180, alt=alt)
    if st.button("Dismiss", icon=":material/close:"):
        st.session_state.dismissed = corpus
        st.rerun()


def show_picked(result: Result, rows: list[int]) -> None:
    """Draw the sentences of points that were picked."""
    rows = [row for row in rows if row < len(result.table)]
    if rows:
        table = result.table.iloc[rows[:MOST_ROWS]][["sentence", "length", "norm"]]
        if len(rows) > 1:
            st.markdown(layout.escape(lengths_of(result.table, rows)))
        st.dataframe(table, hide_index=True, alt="The sentences that were picked")
        if len(rows) > MOST_ROWS:
            st.caption(f"The first {MOST_ROWS:,} of {len(rows):,} that were picked.")


def show_table(
    title: str,
    table: "pd.DataFrame",
    columns: Mapping[str, str] | Sequence[str],
    alt: str,
    configuration: Mapping[str, Any] | None = None,
) -> None:
    """Draw the picture as a table, for the keyboard and the screen reader.

    columns: the names of those that are of use, and their titles where these are others.
    configuration: of columns, as Streamlit has it.
    """
    names = dict(columns) if isinstance(columns, Mapping) else {}
    with st.expander(title, key="table", on_change="rerun") as box:
        if box.open:
            rows = table.head(MOST_ROWS)[[*columns]].dropna(axis=1, how="all").rename(columns=names)
            st.dataframe(rows, hide_index=True, alt=alt, column_config=configuration)
            if len(table) > MOST_ROWS:
                st.caption(f"The first {MOST_ROWS:,} of {len(table):,}; the downloads have all.")


def show_method(result: Result, sample: str) -> None:
    """Draw how the result came about.

    sample: what was measured of the corpus.
    """
    with st.expander("How it was measured", key="method", on_change="rerun") as box:
        if box.open:
            numbers = {fact.label: fact.number for fact in result.facts}
            about = {label: str(result.about.get(key) or "") for key, label in VECTOR.items()}
            numbers |= {label: layout.escape(text) for label, text in about.items() if text}
            rows = numbers | provenance.method(result.weights, result.corpus, sample)
            st.table({"": list(rows), "Value": list(rows.values())})
            st.code(sidebar.to_paste(result.command), language="shell", wrap_lines=True)


def show_original() -> None:
    """Draw the experiment that began it all: its finding, its cost, and a click that repeats it."""
    with st.expander("The original experiment", key="original", on_change="rerun") as box:
        if box.open:
            duration = server().workspace.estimate(ORIGINAL_WEIGHTS, 100_000, ORIGINAL.precision)
            time = f" It takes about {seconds(duration or 0)}, by this server’s speed so far."
            st.markdown(
                "A blog post of 2021 measured BERT base on 100,000 sentences of BookCorpus, and "
                "drew those of fewer than 80 tokens. Norms over 16 or below 13 mostly belonged to "
                "sentences of fewer than 20 tokens; the others could have any length.\n\n"
                "Repeating it downloads about 0.46 GB, 0.44 of them BERT base."
                f"{time * bool(duration)} You can cancel it at any time, and continue later."
            )
            link = f"./?{urlencode(ORIGINAL.to_query())}"
            st.link_button("Measure", link, icon=":material/play_arrow:", type="secondary")
            command = sidebar.to_paste(provenance.command("measure", ORIGINAL))
            st.code(command, language="shell", wrap_lines=True)
