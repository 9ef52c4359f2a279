"""How long may a chunk be?: how many sentences find the chunk they are in, by its length."""

from dataclasses import asdict, replace
from typing import Final

import streamlit as st

from clsviz import api
from clsviz.numbers import counted
from clsviz.questions import DEFAULT_CHUNKED
from clsviz.ui import cards, chart, layout, share, sidebar, work

HEIGHT = 480

READING = (
    "Each text is cut into chunks of so many sentences, and sentences search for the chunk that "
    "contains them: the lines are the shares that come first among as many chunks of every size, "
    "with bands of 95%."
)

OWN: Final = "The star: your chunks."

JUDGED: Final = (
    "Right texts: the share of those right for a title that are among the first ten, by their best "
    "chunk; dotted, by texts that are not cut."
)

LABELS: Final = {
    "way": "Search by",
    "sentences": "Sentences",
    "tokens": "Tokens (median)",
    "n_chunks": "Chunks",
    "n_truncated": "Truncated",
    "recall_at_1": "Found first",
    "recall_at_10": "Among ten",
    "recall_at_1_of_equal": "First of equally many",
    "recall_at_10_of_equal": "Among ten of them",
    "first_third": "First third",
    "middle_third": "Middle third",
    "last_third": "Last third",
}
"""Columns of the table."""

SHARES: Final = {
    label: st.column_config.NumberColumn(format="percent")
    for name, label in LABELS.items()
    if name.startswith("recall") or name.endswith("third")
}


view = replace(sidebar.search(), sample_size=DEFAULT_CHUNKED)
titles = st.session_state.get("search_titles") or ""
similarity = st.session_state.similarity or "auto"
settings = {**asdict(view), "titles": titles, "similarity": similarity}
settings["chunks"] = sidebar.own_chunks()
result = work.answered(api.chunk_test, settings, HEIGHT)
inputs = result.answered.inputs

layout.head(result)
chart.show(
    work.picture(result),
    key="chunk-sizes",
    alt=f"{result.question} {result.verdict}",
    height=HEIGHT,
)
own = f" {OWN}" * bool(result.answered.own_chunks)
st.caption(READING + own + f" {JUDGED}" * bool(inputs.judged))
share.show(result, {**share.revisions_of(result, "search_corpus"), "own_chunks": ""})
layout.caveats(result)
cards.show_table("All sizes as a table", result.table, LABELS, "Every size", SHARES)
n_searches = f"{len(inputs.chunks.queries):,} searches"
cards.show_method(result, f"{counted(result.n_drawn)}, {n_searches}, seed {view.seed}")
