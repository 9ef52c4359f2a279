"""The sentences that are selected in the scatter, as a link has them, and what is shown of them.

A mark is a word and numbers, as in “box:3,17,7.2,7.5”. Boxes and lassos are in the units of the axes; points are the
numbers of sentences in the sample, which the link names as well.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import export, words
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import Unit
from clsviz.ui.markdown import escape
from clsviz.ui.parts import colouring
from clsviz.ui.state.links import LONGEST_SEARCH, MOST_MARKS

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis import ViewData

_MOST_LISTED = 1_000

KEPT = "kept"
"""In place of marks: those of an earlier view that are too many for a link."""


def follow(view: str, sample: Hashable) -> None:
    """Keep the sentences that are marked when the view changes; what is marked in one sample means nothing in another.

    A box, a lasso and the zoom of a link mean nothing in another view: what was in them becomes points.
    """
    if st.session_state.get("marked_in", view) != view:
        st.session_state.zoom = ()
        if st.session_state.selected:
            st.session_state.selected = _as_points(st.session_state.get("marked_sentences", np.empty(0, np.intp)))
    if st.session_state.get("marked_of", sample) != sample:
        st.session_state.selected = ""
    st.session_state.marked_in, st.session_state.marked_of = view, sample


def in_link() -> str:
    """What is marked; those of an earlier view that are too many for a link are left out."""
    return "" if st.session_state.selected == KEPT else str(st.session_state.selected)


def _as_points(sentences: NDArray[np.intp]) -> str:
    if len(sentences) > MOST_MARKS:
        st.session_state.kept_sentences = sentences
        return KEPT
    return f"points:{','.join(map(str, sentences.tolist()))}" if len(sentences) else ""


def marked(marks: str, shown: "ViewData") -> NDArray[np.intp]:
    """Which of the sentences shown the marks hold, intp (n,), ascending."""
    is_marked = np.zeros(len(shown.index), dtype=bool)
    if marks == KEPT:
        return np.flatnonzero(np.isin(shown.index, st.session_state.kept_sentences))
    for mark in filter(None, marks.split(";")):
        word, _, text = mark.partition(":")
        numbers = np.array(text.split(","), dtype=float)
        if word == "points":
            is_marked |= np.isin(shown.index, numbers.astype(np.intp))
        elif word == "box":
            (left, right), (low, high) = sorted(numbers[:2]), sorted(numbers[2:])
            is_within = (left <= shown.lengths) & (shown.lengths <= right)
            is_marked |= is_within & (low <= shown.norms) & (shown.norms <= high)
        else:
            is_marked |= _inside(shown.lengths, shown.norms, numbers.reshape(-1, 2))
    return np.flatnonzero(is_marked)


def _inside(x: NDArray[Any], y: NDArray[Any], corners: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points lie in a polygon: those from which a ray crosses its edges an odd number of times."""
    is_inside = np.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y0 != y1:
            is_between = (y0 > y) != (y1 > y)
            is_inside ^= is_between & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return is_inside


def show_search(found: Found, shown: "ViewData", experiment: Experiment) -> None:
    """What sentences are coloured by, and what is looked for in them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        colouring.control(found)
        st.text_input(
            "Find sentences",
            value=st.session_state.find,
            key="find",
            persist_state="session",
            max_chars=LONGEST_SEARCH,
            placeholder="Find sentences that contain…",
            label_visibility="collapsed",
            icon=":material/search:",
            width=300,
            live=True,
        )
        colouring.show_legend(found, shown, experiment)


def show(experiment: Experiment, found: Found, shown: "ViewData", selected: NDArray[np.intp], name: str) -> None:
    """The one sentence in full, or a table of several.

    selected: intp (n,), which of those shown. name: of the table as a file, without an ending.
    """
    if not len(shown.index):
        return
    if not len(selected):
        st.caption("Nothing found." if st.session_state.find.strip() else words.selection.HOW_TO_SELECT)
    elif len(selected) == 1:
        _one(found, shown, int(selected[0]), experiment.unit)
    else:
        _several(experiment, found, shown, selected, name)


def _several(experiment: Experiment, found: Found, shown: "ViewData", selected: NDArray[np.intp], name: str) -> None:
    unit, groups = experiment.unit, colouring.groups(found, experiment)
    more = f" · the first {_MOST_LISTED:,} are listed" if len(selected) > _MOST_LISTED else ""
    with st.container(
        horizontal=True, vertical_alignment="center"
    ):  # on the left: the tools of the table come on the right
        st.markdown(escape(words.selection.selected(shown, selected) + more), width="content")
        st.download_button(
            "Selected (CSV)",
            lambda: export.to_csv(export.tables.named(found.sentences, selected, shown, unit, groups)),
            f"{name}-selected.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    digits = st.column_config.NumberColumn(format="%.5g")
    st.dataframe(
        export.tables.selected(found.sentences, selected[:_MOST_LISTED], shown, unit, groups),
        hide_index=True,
        height=280,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Norm": digits,
            "Residual": digits,
        },
        alt="The selected sentences",
    )


def _one(found: Found, shown: "ViewData", index: int, unit: Unit) -> None:
    """The sentence, and steps to those with the next lower and the next higher norm."""
    length, norm = int(shown.lengths[index]), float(shown.norms[index])
    residual = f" · residual {words.number(norm - float(shown.fit.predict(length)), sign='+')}" if shown.fit else ""
    order = np.lexsort((shown.index, shown.norms))
    place = int(np.flatnonzero(order == index)[0])
    with st.container(border=True):
        st.text(found.sentences[shown.index[index]])
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.caption(
                f"{length} {unit} · norm {words.number(norm)}{residual} · number {place + 1:,} of {len(order):,} by "
                "norm",
                width="content",
            )
            with st.container(horizontal=True, width="content"):
                for label, icon, step in (("Lower norm", "arrow_downward", -1), ("Higher norm", "arrow_upward", 1)):
                    is_there = 0 <= place + step < len(order)
                    st.button(
                        label,
                        icon=f":material/{icon}:",
                        on_click=st.session_state.update,
                        args=[{"selected": f"points:{shown.index[order[place + step]]}"}] if is_there else [{}],
                        disabled=not is_there,
                    )


def show_nearest(table: "pd.DataFrame", alt: str, about_count: str | None = None) -> None:
    """Sentences of the sample by their similarity, as `similarity.nearest` has them."""
    st.dataframe(
        table.rename(columns={"sentence": "Sentence", "similarity": "Similarity", "times": "Count"}),
        hide_index=True,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Similarity": st.column_config.NumberColumn(format="%.4f", width="small"),
            "Count": st.column_config.NumberColumn(width="small", help=about_count),
        },
        alt=alt,
    )
