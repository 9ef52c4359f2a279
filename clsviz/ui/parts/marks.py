"""What the visitor marked in the scatter, as a link has it: sentences, boxes and lassos.

A mark is a word and numbers, as in “box:3,17,7.2,7.5”. Boxes and lassos are in the units of the axes. Sentences are
named by their text, so that they are found in another sample as well; while the sample is known, they are points, which
are the numbers of sentences in it. A link may also have points.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis
from clsviz.ui.state.links import EXTRAS, MOST_MARKS

if TYPE_CHECKING:
    from clsviz.analysis import ViewData

_DIGITS = 6

_NAMED = "sentences:"

_MOST_CORNERS = 200
"""Of a lasso."""

_MOST_IN_BROWSER = 100
"""Marked points of an earlier picture."""

KEPT = "kept"
"""In place of marks: those of an earlier view that are too many for a link."""


def follow(view: str, sample: Hashable, sentences: Sequence[str] | None) -> None:
    """Keep the sentences that are marked when the view changes, and those of them that another sample has as well.

    sentences: of the sample, once they are known. A box, a lasso and the zoom of a link mean nothing in another view:
    what was in them becomes points.
    """
    if st.session_state.get("marked_in", view) != view:
        st.session_state.zoom, st.session_state.zoomed = (), None
        if st.session_state.selected:
            st.session_state.selected = _as_points(st.session_state.get("marked_sentences", np.empty(0, np.intp)))
    if st.session_state.get("marked_of", sample) != sample and not st.session_state.selected.startswith(_NAMED):
        names = st.session_state.get("marked_names", []) if st.session_state.selected else []
        st.session_state.selected = named(names)
    st.session_state.marked_in, st.session_state.marked_of = view, sample
    if sentences is not None and _NAMED in st.session_state.selected:
        st.session_state.selected = ";".join(filter(None, map(partial(_found, sentences), _split())))


def _split() -> list[str]:
    return list(st.session_state.selected.split(";"))


def _found(sentences: Sequence[str], mark: str) -> str:
    """Sentences that are named as points in a sample; other marks as they are."""
    if not mark.startswith(_NAMED):
        return mark
    names = analysis.naming.unpacked(mark.removeprefix(_NAMED))
    places = analysis.naming.places_of(sentences, names)
    return _mark("points", places.tolist()) if len(places) else ""


def named(names: Sequence[str]) -> str:
    """Sentences with these names, as a mark."""
    return f"{_NAMED}{','.join(names)}" if names else ""


def in_link(names_of: Callable[[list[int]], str] | None) -> str:
    """What is marked, with sentences by their names; names_of: packed, of the places of some, None while not known.

    Those of an earlier view that are too many for a link are left out.
    """
    if st.session_state.selected == KEPT:
        return ""

    def written_out(mark: str) -> str:
        word, _, numbers = mark.partition(":")
        if word != "points" or names_of is None:
            return mark
        names = names_of([int(float(number)) for number in numbers.split(",")])
        return names and f"{_NAMED}{names}"

    return ";".join(filter(None, map(written_out, _split())))


def _as_points(sentences: NDArray[np.intp]) -> str:
    if len(sentences) > MOST_MARKS:
        st.session_state.kept_sentences = sentences
        return KEPT
    return _mark("points", sentences.tolist()) if len(sentences) else ""


def mark_one(sentence: int) -> None:
    """Mark a single sentence, by its number in the sample, in place of all others."""
    st.session_state.selected = _mark("points", [sentence])
    st.session_state.drawn_for = None  # the browser did not mark it


def drawn(picture: object, part: object = ()) -> str:
    """The marks that the figure itself draws, so that they are there when the browser begins with a new one.

    picture: everything else in it; part: which part of it is seen, if it is made for that. As long as both stay the
    same, the browser draws what the visitor marks. A new chart, which shows all of it, is begun for another picture.
    """
    drawn_for = st.session_state.get("drawn_for")
    if drawn_for != (picture, part):
        if _n_in_browser() > _MOST_IN_BROWSER and (drawn_for is None or drawn_for[0] != picture):
            st.session_state.chart_number = chart_number() + 1
        st.session_state.drawn_for, st.session_state.drawn_marks = (picture, part), st.session_state.selected
    marks: str = st.session_state.drawn_marks
    return marks


def chart_number() -> int:
    """Changes when the browser is to begin with a new chart.

    It sends all points that it marked along with whatever the visitor does, until it has forgotten them.
    """
    return int(st.session_state.get("chart_number", 0))


def _n_in_browser() -> int:
    """How many points the browser marked in the chart that it has."""
    try:
        return len(st.session_state.scatter.selection.points)
    except (AttributeError, KeyError, TypeError):  # there is no chart yet, or a forged message
        return 0


def take(sentence_of: Callable[[int, int], int | None]) -> None:
    """Keep what the visitor has just marked in the browser; sentence_of: by trace and point, if it is one.

    What cannot be marks, as in a forged message, marks nothing.
    """
    try:
        marks = written(st.session_state.scatter.selection, sentence_of)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError):
        marks = ""
    before, st.session_state.selected = st.session_state.selected, EXTRAS["selected"](marks, lambda _: None)
    is_cleared = before.startswith("points") and not st.session_state.selected
    if is_cleared or st.session_state.selected.startswith("points"):
        st.session_state.drawn_for = None  # the figure adds a ring, or takes it away


def written(selection: Any, sentence_of: Callable[[int, int], int | None]) -> str:
    """A selection, as Streamlit has it, as marks; those that are too many or too fine for a link become fewer."""
    shapes = [_mark("box", [*box["x"][:2], *box["y"][:2]]) for box in selection.get("box", [])]
    for lasso in selection.get("lasso", []):
        corners = [*zip(lasso["x"], lasso["y"], strict=True)]
        corners = corners[:: len(corners) // _MOST_CORNERS + 1]
        shapes.append(_mark("lasso", [number for corner in corners for number in corner]))
    if shapes:
        return ";".join(shapes)
    points = [sentence_of(point["curve_number"], point["point_index"]) for point in selection.get("points", [])]
    known = sorted({point for point in points if point is not None})[:MOST_MARKS]
    return _mark("points", known) if known else ""


def _mark(word: str, numbers: Sequence[float]) -> str:
    return f"{word}:{','.join(f'{float(number):.{_DIGITS}g}' for number in numbers)}"


def marked(marks: str, shown: "ViewData") -> NDArray[np.intp]:
    """Which of the sentences shown the marks hold, intp (n,), ascending."""
    is_marked = np.zeros(len(shown.index), dtype=bool)
    if marks == KEPT:
        return np.flatnonzero(np.isin(shown.index, st.session_state.kept_sentences))
    for mark in filter(None, marks.split(";")):
        word, _, text = mark.partition(":")
        if f"{word}:" == _NAMED:  # the sample is not known yet
            continue
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
