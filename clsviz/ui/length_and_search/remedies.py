"""What helps against a bend and what it costs, and which lengths are found."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from clsviz import export, figures, words
from clsviz.experiment import Experiment
from clsviz.statistics import Remedy
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot

if TYPE_CHECKING:
    from clsviz.analysis.search import Similarity


def show(similarity: "Similarity", *, is_imported: bool) -> None:
    """The correlation with and without each remedy, and the table of all ways to compare.

    is_imported: whether the vectors were.
    """
    st.subheader("What helps, and what does it cost?", anchor=False)
    st.markdown(escape(words.similarity.remedies(similarity) or "Trying remedies…"))
    left, right = st.columns([2, 3], gap="medium")

    def draw() -> Any:
        return figures.remedy_bars(_bars(similarity), chart.palette(), similarity.chance.neighbour_correlation_limit)

    with left:
        plot.show(
            plot.once(("remedies", similarity), draw),
            key="remedies",
            alt="The rank correlation of length and neighbours’ length, before and after each remedy.",
        )
    with right:
        _table(export.similarity.ways(similarity, is_imported=is_imported))
    st.caption(escape(words.similarity.ABOUT_REMEDIES))


def _bars(similarity: "Similarity") -> pd.DataFrame:
    """The rows of the bars; those that are still being computed keep their places."""
    known = {way.remedy: way.held_out for way in similarity.remedies}
    rows: list[tuple[str, float | None, bool]] = [
        (words.similarity.REMEDIES[remedy], known.get(remedy), False) for remedy in (None, *Remedy)
    ]
    by_words = similarity.by_words
    rows.append((words.similarity.SHARED_WORDS, by_words.neighbour_correlation if by_words else None, True))
    table = pd.DataFrame(rows, columns=["name", "correlation", "is_baseline"])
    return table.astype({"correlation": float})


def _table(table: pd.DataFrame) -> None:
    alone = table["remedy"] == ""
    is_plain = alone | (table["remedy"] == words.similarity.REMEDIES[None])
    mended = table["vector"] + ", " + table["remedy"].map(words.similarity.uncapitalized)
    shown = pd.DataFrame(
        {
            "Way to compare": table["vector"].where(is_plain, mended),
            "Correlation": table["held_out_correlation"].where(~alone, table["neighbor_length_correlation"]),
            "Kept": 100 * table["neighbors_kept"],
            "By length": 100 * table["length_share_of_cosine"],
        }
    )
    st.dataframe(
        shown,
        hide_index=True,
        column_config={
            "Way to compare": st.column_config.TextColumn(width=150),
            "Correlation": st.column_config.NumberColumn(format="%.2f", width=80),
            "Kept": st.column_config.NumberColumn(format="%.0f%%", width=50),
            "By length": st.column_config.NumberColumn(format="%.1f%%", width=70),
        },
        placeholder="–",
        alt="All ways to compare the sentences",
    )
    for problem in dict.fromkeys(filter(None, table["problem"])):
        st.caption(escape(problem))


def times_found(similarity: "Similarity", experiment: Experiment) -> None:
    """How often a sentence of each tenth is among the ten nearest of another."""
    st.markdown(escape(words.similarity.neighbours(similarity, experiment.unit)))
    by_words = similarity.by_words
    plot.show(
        figures.times_found(
            similarity.bias.times_found,
            by_words.times_found if by_words else np.full_like(similarity.bias.times_found, np.nan),
            [words.similarity.span(ends) for ends in similarity.ranges],
            chart.palette(),
            experiment.unit,
        ),
        height=300,
        key="times-found",
        alt="How often sentences of each tenth by length are among the ten nearest of another.",
    )
