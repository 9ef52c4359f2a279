"""Does length bend my search?: how often texts of every length are found, and what helps."""

from dataclasses import asdict
from typing import Final

import streamlit as st

from clsviz import api
from clsviz.figures import quintiles
from clsviz.numbers import counted
from clsviz.results.search import (
    fix_table,
    fix_title,
    lengthened_title,
    match_table,
    match_title,
    misled,
    misled_title,
    snippet,
)
from clsviz.sources.searches import Searches
from clsviz.ui import cards, chart, layout, share, sidebar, work

HEIGHT, LOWER = 520, 240

CHANGED = (
    "A right text of some searches, cut to the first half of its words, said twice, or followed by "
    "as many words that say nothing: the places that it loses among the others, with intervals."
)

READING = (
    "Exposure is how often texts of a fifth are among the first ten, over how often they are "
    "right: 1 is a fair share, and the band is close to it. Recall is the share of right texts "
    "among the first ten; a fix ranks each half of the searches as it was fitted to the other half."
)

TASKS: Final = {
    "titles": "Each title searches for its text.",
    "halves": "The first half of each text searches for the second.",
    "cloze": "A sentence searches for the sentences around it.",
}

COLUMNS: Final = ("search_titles", "search_column")
"""Settings of the columns of a table."""

LABELS: Final = {
    "query": "Query",
    "right": "Right text",
    "right_tokens": "Tokens",
    "first": "First found",
    "first_tokens": "Tokens found",
    "mean_tokens": "Tokens of ten",
    "right_rank": "Right at",
}
"""Columns of the tables."""

MATCHES: Final = {
    "threshold": "99 of 100 unrelated are under",
    "right_median": "Median of right ones",
    "right_above": "Right ones above",
}
"""Columns of the table of scores, by fifths of the texts' lengths."""

WIDTHS: Final = {
    label: st.column_config.TextColumn(width=190)
    if name in ("query", "right", "first")
    else st.column_config.NumberColumn(width=95, format="%.0f")
    for name, label in LABELS.items()
}
"""Texts are cut, so that their lengths stand next to them."""


def choose_columns() -> None:
    """Take the columns that were chosen, or the likeliest where none were."""
    for name in COLUMNS:
        sidebar.change(name, st.session_state.get(f"read-{name}") or "")


def show_reading(searches: Searches, corpus: str) -> None:
    """Draw how a file of one's own was read; other columns are a click away."""
    reading, titles = searches.texts.reading, searches.titles
    names = list(dict.fromkeys(filter(None, [reading.column, titles, *reading.columns])))
    with st.container(border=True):
        st.markdown(f"**How {layout.escape(searches.texts.label)} are searched**")
        for place, label, key, name in zip(
            st.columns(2) if len(names) > 1 else (),
            ("Column that searches", "Column that is searched"),
            COLUMNS,
            (titles, reading.column),
            strict=False,
        ):
            place.selectbox(
                label,
                names,
                names.index(name) if name else None,
                key=f"read-{key}",
                placeholder="none: halves of texts search",
                on_change=choose_columns,
            )
        texts, queries = (some.table["sentence"] for some in (searches.texts, searches.queries))
        n = min(cards.N_FIRST, len(searches.relevant))
        pairs = {
            "Query": queries[:n].to_pylist(),
            "Right text": [texts[int(relevant[0])].as_py() for relevant in searches.relevant[:n]],
        }
        cards.show_first(pairs, "The first searches of the file", corpus)


view, titles = sidebar.search(), st.session_state.get("search_titles") or ""
similarity = st.session_state.similarity or "auto"
settings = {**asdict(view), "titles": titles, "similarity": similarity}
job = work.asked(api.search_test, settings)
work.wait(job)
if job.error and (view.column or titles):
    st.button("Take the likeliest columns", on_click=choose_columns)
result = work.require(job, HEIGHT)
searches = result.answered.searches
layout.head(result)
chart.show(
    work.picture(result),
    key="search-fifths",
    alt=f"{result.question} {result.verdict}",
    height=HEIGHT,
)
st.caption(f"{TASKS.get(searches.task, '')} {READING}")
if cards.is_new_file(view.corpus):
    show_reading(searches, view.corpus)
share.show(result, share.revisions_of(result, "search_corpus"))
layout.caveats(result)
with st.expander(layout.escape(fix_title(result)), key="fixes", on_change="rerun") as box:
    if box.open:
        st.dataframe(fix_table(result), hide_index=True, alt="Recall and exposure with every fix")
        if correction := result.details["correction"]:
            st.code(snippet(correction), language="python", wrap_lines=True)
with st.expander(
    layout.escape(lengthened_title(result)), key="lengthened", on_change="rerun"
) as box:
    if box.open and result.answered.lengthened:
        picture = work.picture(result, quintiles.lengthened)
        chart.show(picture, key="lengthened-texts", alt=lengthened_title(result), height=LOWER)
        st.caption(CHANGED)
with st.expander(layout.escape(match_title(result)), key="matches", on_change="rerun") as box:
    if box.open:
        st.dataframe(
            match_table(result)[list(MATCHES)].rename(columns=MATCHES),
            alt="Scores of unrelated and of right texts, by fifths of their lengths",
        )
rows = misled(result)
with st.expander(layout.escape(misled_title(rows)), key="misled", on_change="rerun") as box:
    if box.open and not rows.empty:
        table = rows[list(LABELS)].rename(columns=LABELS)
        st.dataframe(
            table, hide_index=True, alt="Searches, and what each found first", column_config=WIDTHS
        )
cards.show_table("All searches as a table", result.table, LABELS, "Every search", WIDTHS)
n_texts, n_searches = counted(result.n_drawn, "text"), len(searches.relevant)
cards.show_method(result, f"{n_texts}, {n_searches:,} queries, seed {view.seed}")
