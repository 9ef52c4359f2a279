"""What else is known of a search test, each with its finding as its title."""

import json
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from clsviz import figures, words
from clsviz.analysis.search_test import Correction, Example, SearchTest
from clsviz.settings import SimilarityFunction
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, layout, plot

_HEIGHT_OF_MAP, _ROW = 470, 35

_MARKED = "background-color: rgba(212, 160, 23, 0.2)"
"""Of the right text, in both themes."""


def as_json(correction: Correction) -> str:
    """A correction for a program to read."""
    of = {"fix": correction.fix, "formula": correction.formula, "coefficients": dict(correction.coefficients)}
    return json.dumps(of, indent=2, ensure_ascii=False)


def show(test: SearchTest, similarity: SimilarityFunction) -> None:
    """What else is known: each with its finding as its title."""
    of, cards = test.consequences[similarity], words.search_cards
    if (correction := of.correction) is not None:
        layout.box(cards.apply(correction), "correction", lambda: _show_correction(correction))
    st.subheader(cards.MISLED, anchor=False)
    st.caption(cards.ABOUT_MISLED if of.examples else cards.NONE_MISLED)
    st.session_state.setdefault("example_0", True)  # open at first
    for number, example in enumerate(of.examples[:5]):
        label = escape(cards.example(example))
        layout.box(label, f"example_{number}", partial(_show_example, example, number))
    st.subheader("What else is known", anchor=False)
    layout.box(cards.rankings(test), "rankings", lambda: _show_rankings(test))
    layout.box(cards.fixes(of), "fixes", lambda: _show_fixes(test, similarity))
    layout.box(cards.threshold(of.threshold), "threshold", lambda: _show_threshold(test, similarity))
    if test.neighbours is not None:
        layout.box(cards.neighbours(test.neighbours), "neighbours", lambda: _show_neighbours(test))


def _show_correction(correction: Correction) -> None:
    st.code(correction.formula, language=None, wrap_lines=True)
    st.code(words.search.python_lines(correction), language="python")
    if correction.coefficients:
        st.code(as_json(correction), language="json")


def _show_example(example: Example, number: int) -> None:
    """The ten that were found and the right one, their lengths as bars; a table’s cells are text, whatever it is."""
    st.markdown(f"**Query:** {escape(example.query)}")
    texts = [*example.found, example.right]
    ranks = [*map(str, range(1, len(example.found) + 1)), f"{example.right_rank:,} (right)"]
    rows = pd.DataFrame(
        {"Rank": ranks, "Tokens": [text.n_tokens for text in texts], "Text": [text.text for text in texts]}
    )
    longest = int(rows["Tokens"].max())
    st.dataframe(
        rows.style.apply(lambda row: [_MARKED if row.name == len(rows) - 1 else ""] * len(row), axis=1),
        hide_index=True,
        height=_ROW * (len(rows) + 1) + 3,
        column_config={
            "Rank": st.column_config.TextColumn(width=75),
            "Tokens": st.column_config.ProgressColumn(format="%d", min_value=0, max_value=longest, width=130),
            "Text": st.column_config.TextColumn(width=600),
        },
        key=f"example_table_{number}",
        alt=f"Search {number + 1}: the ten texts that were found, and the right one, with their lengths",
    )


def _fifth_columns(rows: list[Any]) -> dict[str, list[float | None]]:
    """Exposures of rankings, a column for each fifth."""
    return {
        name.capitalize(): [ranking.exposure[place] for ranking in rows]
        for place, name in enumerate(words.search.FIFTHS)
    }


_PERCENT = st.column_config.NumberColumn(format="%.0f%%", width=70)

_EXPOSURE = st.column_config.NumberColumn(format="%.2f", width=80)


def _show_rankings(test: SearchTest) -> None:
    rows = {words.search.ranker(of.pooling, of.similarity): ranking for of, ranking in test.rankings.items()}
    rows |= {words.search.BM25: test.bm25}
    table = pd.DataFrame(
        {
            "Ranking": [*rows],
            "Recall": [100 * ranking.recall_at_10 for ranking in rows.values()],
            "nDCG": [ranking.ndcg_at_10 for ranking in rows.values()],
            **_fifth_columns([*rows.values()]),
        }
    )
    _show_table(table, {"Recall": _PERCENT, "nDCG": _EXPOSURE}, "Every vector and similarity", "rankings_table")
    st.caption(words.search_cards.ABOUT_RANKINGS)


def _show_fixes(test: SearchTest, similarity: SimilarityFunction) -> None:
    of = test.consequences[similarity].fixes
    table = pd.DataFrame(
        {
            "Fix": [words.search.FIXES[fix] for fix in of],
            "Recall": [100 * result.ranking.recall_at_10 for result in of.values()],
            "Change": [100 * result.difference for result in of.values()],
            "Interval": [
                f"{100 * result.interval[0]:+.1f} to {100 * result.interval[1]:+.1f}".replace("-", "−")
                for result in of.values()
            ],
            **_fifth_columns([result.ranking for result in of.values()]),
        }
    ).sort_values("Recall", ascending=False)
    change = st.column_config.NumberColumn(format="%+.1f", width=70)
    _show_table(table, {"Recall": _PERCENT, "Change": change}, "Every fix that was tried", "fixes_table")
    st.caption(words.search_cards.ABOUT_FIXES)


def _show_table(table: pd.DataFrame, config: dict[str, Any], alt: str, key: str) -> None:
    exposures = {name.capitalize(): _EXPOSURE for name in words.search.FIFTHS}
    st.dataframe(table, hide_index=True, column_config=config | exposures, placeholder="–", alt=alt, key=key)


def _show_threshold(test: SearchTest, similarity: SimilarityFunction) -> None:
    shares = [100 * share for share in test.consequences[similarity].threshold.shares]
    table = pd.DataFrame({"Tokens of the text": words.search.spans(test), "Pass": shares})
    bars = st.column_config.ProgressColumn(format="%.1f%%", min_value=0, max_value=max(2.0, *shares), width="large")
    st.dataframe(
        table, hide_index=True, column_config={"Pass": bars}, alt="Unrelated pairs that pass", key="threshold_table"
    )
    st.caption(words.search_cards.ABOUT_THRESHOLD)


def _show_neighbours(test: SearchTest) -> None:
    of = test.neighbours
    assert of is not None  # the card has a title
    spans = [words.similarity.span(ends) for ends in of.spans]
    figure = figures.length_map(np.array(of.cosines), spans, chart.palette())
    alt = "Mean cosine of two texts by the tenths that their lengths are in."
    plot.show(figure, key="map", alt=alt, height=_HEIGHT_OF_MAP)
    st.caption(escape(words.search_cards.ABOUT_NEIGHBOURS))
    st.markdown(escape(words.search_cards.times_found(of)))
