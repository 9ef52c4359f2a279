"""The scatter of a view, and which of its sentences are selected."""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment, View
from clsviz.jobs import Found
from clsviz.settings import Overlay, Unit
from clsviz.sources import catalogue
from clsviz.statistics.lengths import bins, slices
from clsviz.ui.parts import colouring, plot, selection
from clsviz.ui.state import links, server

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.statistics.line import Flat
    from clsviz.statistics.shape import Quantiles

HEIGHT = 470

_KEY = "scatter"

_FURTHEST = 1e30
"""Where no axis ends."""


def view_of(found: Found, experiment: Experiment) -> "ViewData":
    """What the experiment's view shows of what is measured so far."""
    view = experiment.view
    cache = server.cache()
    key = "shown", found.key, view, analysis.clusters_ready(found, view, cache)
    return cache.get_or_compute(key, lambda: analysis.select(found, view, wait=False, cache=cache))


def _quantiles(found: Found, view: View, shown: "ViewData") -> "Quantiles | None":
    asked = analysis.result_key("quantiles", found, view=view)
    compute = partial(analysis.quantiles, shown)
    return server.cache().get_or_compute(asked, compute)


def drawn_overlays(found: Found, experiment: Experiment, shown: "ViewData", overlays: Sequence[str]) -> list[Overlay]:
    """Those overlays that there is something to draw of: few sentences have no curves."""
    curves = _quantiles(found, experiment.view, shown) if Overlay.CURVES in overlays else None
    return [Overlay(name) for name in overlays if name != Overlay.CURVES or curves is not None]


def flat(found: Found, experiment: Experiment, shown: "ViewData") -> "Flat | None":
    """R² of what is shown on a flat distribution of lengths, or None where there is none."""
    view = experiment.view
    asked = analysis.result_key("flat", found, view=view)
    compute = partial(analysis.flat, shown, view)
    return server.cache().get_or_compute(asked, compute)


def _labels(sample: Hashable, sentences: list[str]) -> "figures.Labels":
    return server.cache().get_or_compute(("labels", sample), lambda: figures.labels_of(sentences))


def _labels_sent(sample: Hashable, sentences: list[str]) -> plot.Content:
    def pack() -> plot.Content:
        return plot.content(orjson.dumps(_labels(sample, sentences).tolist()))

    return server.cache().get_or_compute(("labels sent", sample), pack)


def zoom_of(experiment: Experiment) -> str:
    """Changes when the axes of the scatter no longer mean the same."""
    view = (experiment.model, experiment.selection, experiment.length_cutoff, experiment.layer, experiment.pooling)
    return str((*view, experiment.unit))


def axes_of(experiment: Experiment, shown: "ViewData | None" = None) -> "figures.Axes":
    """The axes of the scatter of what is shown, which keep the visitor's zoom for as long as they mean the same."""
    longest = int(shown.lengths.max()) if shown is not None and len(shown.lengths) else experiment.length_cutoff
    if experiment.unit is Unit.TOKENS:
        longest = min(longest, experiment.length_cutoff)
    return figures.Axes(
        words.axis_title(experiment),
        longest,
        zoom_of=zoom_of(experiment),
        unit=experiment.unit,
        length_title=words.length_title(experiment.view),
    )


def seen(
    found: Found, experiment: Experiment, shown: "ViewData", own: "figures.Points | None", overlays: Sequence[str]
) -> "export.Seen":
    """What the visitor sees in the picture, for its downloads."""
    selected, groups = selection.marked(st.session_state.selected, shown), colouring.groups(found, experiment)
    return export.Seen(own, tuple(overlays), tuple(st.session_state.zoom), selected, groups)


def key_sent(groups: "export.Groups | None", shown: "ViewData") -> dict[str, Any] | None:
    """What the colours stand for, for the browser, which draws it where the picture is taken along."""
    if groups is None:
        return None
    key = groups.key(shown.index, figures.Palette())
    drawn = {
        "traces": figures.colouring.traces(key),
        "layout": figures.colouring.layout(key),
        "room": figures.colouring.ROOM,
    }
    return {**drawn, "roles": plot.roles()}


def _take_zoom() -> None:
    """Note what the browser tells of the zoom; what it cannot have told, as in a forged message, changes nothing."""
    told = plot.told(_KEY, "zoomed")
    if not isinstance(told, dict) or told.get("of") != st.session_state.get("marked_in"):  # an earlier view
        return
    ends = told.get("ends")
    if not isinstance(ends, list) or len(ends) not in (0, 4):
        return
    if all(type(end) in (int, float) and abs(end) < _FURTHEST for end in ends):
        st.session_state.zoom = tuple(map(float, ends))


def _take_marks() -> None:
    """Note what the browser tells of what is marked; what cannot be marks, as in a forged message, marks nothing."""
    text = plot.told(_KEY, "selected")
    st.session_state.selected = links.EXTRAS["selected"](text if isinstance(text, str) else "", lambda _: None)


def link() -> dict[str, str]:
    """What of the picture is not in the experiment, as URL parameters; "" for those that have their defaults."""
    return {
        "overlays": links.overlays_text(st.session_state.overlays),
        "zoom": ",".join(f"{end:.6g}" for end in st.session_state.zoom),
        "selected": selection.in_link(),
        "colour": st.session_state.colour or "",
        "find": st.session_state.find,
    }


def show(
    experiment: Experiment,
    found: Found,
    shown: "ViewData",
    own: "figures.Points | None" = None,
    overlays: Sequence[str] = (Overlay.MEDIANS,),
    own_name: str = "yours",
) -> NDArray[np.intp]:
    """The scatter; returns which of the sentences shown are selected in it, intp (n,).

    own: the visitor's sentences, to be marked; own_name: what they are called there.
    """
    around = axes_of(experiment, shown)
    is_dense = figures.is_dense(len(shown.index), len(found.measurements))
    part = tuple(st.session_state.zoom) if is_dense else ()
    marked = selection.marked(st.session_state.selected, shown)
    selected = _found_in(marked, found, shown.index)
    groups = colouring.groups(found, experiment)

    def draw() -> tuple["figures.Drawn", plot.Drawing]:
        over = {
            "quantiles": _quantiles(found, experiment.view, shown) if Overlay.CURVES in overlays else None,
            "bins": bins(shown.lengths, shown.norms) if Overlay.MEDIANS in overlays else None,
            "slices": slices(shown.lengths, shown.norms) if Overlay.RANGES in overlays else None,
            "own": own,
            "own_name": own_name,
        }
        return _draw(found, experiment, shown, around, part, selected, groups, over)

    also = selected.tobytes() if is_dense and len(selected) <= figures.MOST_SELECTED else b""
    of = around, tuple(overlays), st.session_state.colour, groups is None, part, also
    key = "drawing", found.key, experiment.view, analysis.clusters_ready(found, experiment.view), of
    # What a visitor typed is seen by nobody else.
    drawn, drawing = draw() if own else server.cache().get_or_compute(key, draw)
    against = f"{words.axis_title(experiment)} against sentence length for {shown.n:,} sentences. "
    alt = against + words.result(shown, experiment, found.n_measured)
    plot.show(
        drawing,
        key=_KEY,
        alt=alt,
        height=HEIGHT,
        tools=True,
        is_kept=True,
        zoom=st.session_state.zoom,
        marks=st.session_state.selected,
        selected=np.isin(drawn.points, selected),
        on_zoom=_take_zoom,
        on_select=_take_marks,
    )
    if drawn.density is not None:
        n_more = len(drawn.points) - drawn.n_sampled
        said = words.selection.density(shown.n, drawn.n_seen, drawn.n_sampled, n_more, is_zoomed=bool(part))
        st.caption(f"{said} {words.selection.of_zoom(is_zoomed=bool(part))}")
    st.session_state.marked_sentences = shown.index[marked]
    return selected


def _draw(
    found: Found,
    experiment: Experiment,
    shown: "ViewData",
    axes: "figures.Axes",
    part: Sequence[float],
    selected: NDArray[np.intp],
    groups: "export.Groups | None",
    over: dict[str, Any],
) -> tuple["figures.Drawn", plot.Drawing]:
    """The picture as it goes to the browser, and what of the sentences is in it; part: which is seen, of a density."""
    drawn = export.drawn(found, shown, export.Seen(zoom=part, selected=selected))
    at, is_own = drawn.points, catalogue.is_own(experiment.corpus)
    numbers, sample = shown.index[at], colouring.sample_of(found)
    if drawn.density is None:
        labels = _labels(sample, found.sentences)[numbers]
    else:
        labels = figures.labels_of([found.sentences[i] for i in numbers])
    figure = figures.scatter(
        figures.Points(labels, shown.lengths[at], shown.norms[at]),
        axes,
        figures.Palette(),
        density=drawn.density,
        fit=shown.fit,
        **over,
        **(groups.look(shown.index, at) if groups else {}),
    )
    is_apart = drawn.density is None and not is_own
    sent = figures.sent(figure, numbers, shown.fit, has_labels=not is_apart)
    texts = _labels_sent(sample, found.sentences) if is_apart else None
    is_private = is_own or over["own"] is not None
    return drawn, plot.drawing(sent, HEIGHT, labels=texts, is_private=is_private)


def show_empty(experiment: Experiment, alt: str) -> None:
    """The scatter before there are points: that of the settings before, dimmed, or its axes alone."""
    if plot.show_before(_KEY):
        return
    figure = figures.empty(axes_of(experiment))
    drawing = plot.drawing(figures.sent(figure, np.empty(0, np.intp)), HEIGHT)
    plot.show(drawing, key=_KEY, alt=alt, height=HEIGHT, tools=True)


def follow(experiment: Experiment) -> None:
    """Keep what is selected when the view changes, before anything is drawn."""
    selection.follow(zoom_of(experiment), _drawn_from(experiment))


def selected_sentences(found: Found, experiment: Experiment) -> NDArray[np.intp]:
    """Which sentences of the sample are selected in the scatter, as it was drawn last on whichever page: intp (n,)."""
    marked = np.empty(0, np.intp)
    if st.session_state.selected and st.session_state.get("marked_of") == _drawn_from(experiment):
        marked = st.session_state.get("marked_sentences", marked)
        marked = marked[marked < len(found.sentences)]
    return _found_in(marked, found)


def _drawn_from(experiment: Experiment) -> Hashable:
    return experiment.selection, experiment.seed, experiment.sample_size


def _found_in(
    marked: NDArray[np.intp], found: Found, index: NDArray[np.intp] | slice = slice(None)
) -> NDArray[np.intp]:
    """Those marked that hold what the visitor looks for; if none is marked, all that do.

    index: which sentences of the sample can be marked.
    """
    text = st.session_state.find.strip()
    if not text:
        return marked
    key = "holding", colouring.sample_of(found), text
    is_held = server.cache().get_or_compute(key, lambda: analysis.fields.holding(text, found.sentences))[index]
    return marked[is_held[marked]] if st.session_state.selected else np.flatnonzero(is_held)
