"""What the visitor marked in the scatter, as a link has it: sentences, boxes and lassos.

A mark is a word and numbers, as in “box:3,17,7.2,7.5”. Boxes and lassos are in the units of the axes; points are the
numbers of sentences in the sample, which the link names as well.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz.ui.state.links import MOST_MARKS

if TYPE_CHECKING:
    from clsviz.analysis import ViewData

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


def mark_one(sentence: int) -> None:
    """Mark a single sentence, by its number in the sample, in place of all others."""
    st.session_state.selected = f"points:{sentence}"


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
