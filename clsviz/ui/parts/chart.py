"""The scatter of a view, and which of its sentences are selected."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.elements.lib import streamlit_plotly_theme as theme

from clsviz import analysis, export, figures, statistics, words
from clsviz.experiment import Experiment, View
from clsviz.measuring import Found
from clsviz.settings import Overlay, Unit
from clsviz.ui.parts import assist, colouring, drawing, marks
from clsviz.ui.state import links, server

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.statistics import Flat, Quantiles

HEIGHT = 470

CURVES, MEDIANS, RANGES = Overlay
"""What can be drawn over the sentences."""


_ROLES = (
    (theme.CATEGORY_0, theme.CATEGORY_1, theme.CATEGORY_2, theme.CATEGORY_3, theme.BG_COLOR, theme.CATEGORY_4),
    (theme.CATEGORY_5, theme.CATEGORY_6, theme.CATEGORY_7, theme.CATEGORY_8, theme.BG_COLOR, theme.CATEGORY_9),
)
"""The same colours twice, as the settings of the theme have them."""

_SCALE = (
    *(theme.SEQUENTIAL_0, theme.SEQUENTIAL_1, theme.SEQUENTIAL_2, theme.SEQUENTIAL_3, theme.SEQUENTIAL_4),
    *(theme.SEQUENTIAL_5, theme.SEQUENTIAL_6, theme.SEQUENTIAL_7, theme.SEQUENTIAL_8, theme.SEQUENTIAL_9),
)

_COLOURS = dict(zip(_ROLES[0], ("0", "1", "2", "3", "background", "4"), strict=True))
_COLOURS |= {colour: f"scale {at}" for at, colour in enumerate(_SCALE)}
"""Which colours of the theme those of the scatter are, which takes them by itself."""


_FURTHEST = 1e30
"""Where no axis ends."""


def palette() -> "figures.Palette":
    """Colours that Streamlit replaces with those of the theme, light or dark.

    It does so once for a chart. When the theme has changed, the other names of the same colours make it another chart.
    """
    return figures.Palette(*_ROLES[assist.n_changes_of_theme() % 2])


def view_of(found: Found, experiment: Experiment) -> "ViewData":
    """What the experiment's view shows of what is measured so far."""
    view = experiment.view
    key = "shown", found.key, view, analysis.clusters_ready(found)
    return server.shared().of(key, lambda: analysis.select(found, view, wait=False, kept=server.kept()))


def _quantiles(found: Found, view: View, shown: "ViewData") -> "Quantiles | None":
    asked = analysis.question(analysis.quantiles, found, view=view)
    compute = partial(analysis.quantiles, shown)
    return server.shared().of(("quantiles", found.key, view), lambda: server.kept().of(asked, compute))


def drawn_overlays(found: Found, experiment: Experiment, shown: "ViewData", overlays: Sequence[str]) -> list[Overlay]:
    """Those overlays that there is something to draw of: few sentences have no curves."""
    curves = _quantiles(found, experiment.view, shown) if CURVES in overlays else None
    return [Overlay(name) for name in overlays if name != CURVES or curves is not None]


def flat(found: Found, experiment: Experiment, shown: "ViewData") -> "Flat | None":
    """R² of what is shown on a flat distribution of lengths, or None where there is none."""
    view = experiment.view
    asked = analysis.question(analysis.flat, found, view=view)
    compute = partial(analysis.flat, shown, view)
    return server.shared().of(("flat", found.key, view), lambda: server.kept().of(asked, compute))


def _labels(sample: Hashable, sentences: list[str]) -> "figures.Labels":
    return server.shared().of(("labels", sample), lambda: figures.labels_of(sentences))


def _labels_sent(sample: Hashable, sentences: list[str]) -> bytes:
    def pack() -> bytes:
        return drawing.packed(figures.labels_sent(str(sample), _labels(sample, sentences)))

    return server.shared().of(("labels sent", sample), pack)


def zoom_of(experiment: Experiment) -> str:
    """Changes when the axes of the scatter no longer mean the same."""
    view = (experiment.model, experiment.selection, experiment.length_cutoff, experiment.layer, experiment.pooling)
    return str((*view, experiment.unit))


def axes(experiment: Experiment, longest: int) -> "figures.Axes":
    """The axes of the scatter, which keep the visitor's zoom for as long as they mean the same."""
    if experiment.unit is Unit.TOKENS:
        longest = min(longest, experiment.length_cutoff)
    return figures.Axes(
        words.axis_title(experiment),
        longest,
        zoom_of=zoom_of(experiment),
        unit=experiment.unit,
        length_title=words.length_title(experiment.view),
    )


def axes_of(experiment: Experiment, shown: "ViewData") -> "figures.Axes":
    """The axes of the scatter of what is shown."""
    return axes(experiment, int(shown.lengths.max()) if len(shown.lengths) else experiment.length_cutoff)


def seen(
    found: Found, experiment: Experiment, shown: "ViewData", own: "figures.Points | None", overlays: Sequence[str]
) -> "export.Seen":
    """What the visitor sees in the picture, for its downloads."""
    selected, groups = marks.marked(st.session_state.selected, shown), colouring.groups(found, experiment)
    return export.Seen(own, tuple(overlays), _zoom(), selected, groups)


def key_sent(groups: "export.Groups | None", shown: "ViewData") -> dict[str, Any] | None:
    """What the colours stand for, for the browser, which draws it where the picture is taken along."""
    if groups is None:
        return None
    key = groups.key(shown.index, figures.Palette(*_ROLES[0]))
    drawn = {"traces": figures.key.traces(key), "layout": figures.key.layout(key), "room": figures.key.ROOM}
    return {**drawn, "colours": _COLOURS}


def _zoom() -> tuple[float, ...]:
    """The ends of both axes that the visitor sees, as far as that is known; none if it is all."""
    ends = st.session_state.get("zoomed")
    return tuple(st.session_state.zoom if ends is None else ends)


def _take_zoom() -> None:
    """Note what the browser tells of the zoom; what it cannot have told, as in a forged message, changes nothing."""
    told = st.session_state.get(drawing.DRAWN)
    told = told.get("zoomed") if isinstance(told, Mapping) else None
    if not isinstance(told, Mapping) or told.get("of") != st.session_state.get("marked_in"):  # an earlier view
        return
    ends = told.get("ends")
    if not isinstance(ends, list) or len(ends) not in (0, 4):
        return
    if all(type(end) in (int, float) and abs(end) < _FURTHEST for end in ends):
        st.session_state.zoomed = tuple(map(float, ends))


def link(found: Found | None) -> dict[str, str]:
    """What of the picture is not in the experiment, as URL parameters; "" for those that have their defaults.

    found: names the sentences that are marked, once there is something.
    """
    return {
        "overlays": links.overlays_text(st.session_state.overlays),
        "zoom": ",".join(f"{end:.6g}" for end in st.session_state.zoom),
        "selected": marks.in_link(None if found is None else partial(_names_in_link, found)),
        "colour": st.session_state.colour or "",
        "find": st.session_state.find,
    }


def names_of(found: Found, places: Sequence[int]) -> list[str]:
    """The names of sentences of the sample, which find them again in another, in the order of the sample."""
    there = _there(found, places)
    key = "names", colouring.sample_of(found), there
    return server.shared().of(key, lambda: analysis.naming.names_of(found.sentences, there))


def _names_in_link(found: Found, places: Sequence[int]) -> str:
    there = _there(found, places)
    key = "packed names", colouring.sample_of(found), there
    return server.shared().of(key, lambda: analysis.naming.packed(found.sentences, there)) if there else ""


def _there(found: Found, places: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted({place for place in places if place < len(found.sentences)}))


def show(
    experiment: Experiment,
    found: Found,
    shown: "ViewData",
    own: "figures.Points | None" = None,
    overlays: Sequence[str] = (MEDIANS,),
    own_name: str = "yours",
) -> NDArray[np.intp]:
    """The scatter; returns which of the sentences shown are selected in it, intp (n,).

    own: the visitor's sentences, to be marked; own_name: what they are called there.
    """
    around = axes_of(experiment, shown)
    n_measured = len(found.measurements)
    is_dense = figures.is_dense(len(shown.index), n_measured)
    part = _zoom() if is_dense else ()
    own_places = own and (*own.lengths.tolist(), *own.norms.tolist())
    seen = own_places, st.session_state.colour, st.session_state.find
    picture = around, found.key, tuple(overlays), seen
    selected = _found_in(marks.marked(marks.drawn(picture, part), shown), found, shown)
    groups = colouring.groups(found, experiment)

    def draw() -> tuple["figures.Drawn", bytes]:
        over = {**_over(found, experiment, shown, overlays), "own": own, "own_name": own_name}
        return _draw(found, shown, replace(around, zoom=st.session_state.zoom), part, selected, groups, over)

    of = picture, part, st.session_state.zoom, selected.tobytes(), groups is None
    key = "drawing", found.key, experiment.view, analysis.clusters_ready(found), of
    drawn, sent = draw() if own else server.shared().of(key, draw)  # what a visitor typed is seen by nobody else
    sample = colouring.sample_of(found)
    against = f"{words.axis_title(experiment)} against sentence length for {shown.n:,} sentences. "
    drawing.show(
        HEIGHT,
        against + words.result(shown, experiment, found.n_measured),
        sent,
        b"" if is_dense else _labels_sent(sample, found.sentences),
        lambda: marks.take(partial(_sentence_of, drawn, shown)),
        _take_zoom,
    )
    if drawn.density is not None:
        n_more = len(drawn.points) - drawn.n_sampled
        said = words.view.density(shown.n, drawn.n_seen, drawn.n_sampled, n_more, is_zoomed=bool(part))
        st.caption(f"{said} {words.view.of_zoom(is_zoomed=bool(part))}")
    marked = marks.marked(st.session_state.selected, shown)
    st.session_state.marked_sentences = places = shown.index[marked]
    st.session_state.marked_names = names_of(found, places.tolist()) if len(places) <= links.MOST_MARKS else []
    return _found_in(marked, found, shown)


def _draw(
    found: Found,
    shown: "ViewData",
    axes: "figures.Axes",
    part: Sequence[float],
    selected: NDArray[np.intp],
    groups: "export.Groups | None",
    over: dict[str, Any],
) -> tuple["figures.Drawn", bytes]:
    """The picture as it goes to the browser, and what of the sentences is in it; part: which is seen, of a density."""
    drawn = export.drawn(found, shown, export.Seen(zoom=tuple(part), selected=selected))
    at, sample = drawn.points, colouring.sample_of(found)
    numbers = shown.index[at]
    if drawn.density is None:
        labels = _labels(sample, found.sentences)[numbers]
    else:
        labels = figures.labels_of([found.sentences[i] for i in numbers])
    figure = figures.scatter(
        figures.Points(labels, shown.lengths[at], shown.norms[at]),
        axes,
        figures.Palette(*_ROLES[0], scale=_SCALE),
        density=drawn.density,
        fit=shown.fit,
        **over,
        selected=np.flatnonzero(np.isin(at, selected)) if len(selected) else None,
        **(groups.look(shown.index, at) if groups else {}),
    )
    return drawn, drawing.packed(figures.sent(figure, numbers, str(sample), _COLOURS, shown.fit))


def _sentence_of(drawn: "figures.Drawn", shown: "ViewData", trace: int, point: int) -> int | None:
    """The number in the sample of the sentence that a point of a trace is; None if it is not one."""
    traces = list(figures.traces_of(len(drawn.points)))
    place = trace - (drawn.density is not None)
    return int(shown.index[drawn.points[traces[place].start + point]]) if 0 <= place < len(traces) else None


def _over(found: Found, experiment: Experiment, shown: "ViewData", overlays: Sequence[str]) -> dict[str, Any]:
    """What is drawn over the sentences, as `scatter` takes it."""
    return {
        "quantiles": _quantiles(found, experiment.view, shown) if CURVES in overlays else None,
        "bins": statistics.bins(shown.lengths, shown.norms) if MEDIANS in overlays else None,
        "slices": statistics.slices(shown.lengths, shown.norms) if RANGES in overlays else None,
    }


def show_empty(experiment: Experiment, alt: str) -> None:
    """The scatter before there are points: its axes alone, in the place that it will have."""
    figure = figures.empty(axes(experiment, experiment.length_cutoff))
    sent = drawing.packed(figures.sent(figure, np.empty(0, np.intp), "", _COLOURS))
    drawing.show(HEIGHT, alt, sent, b"", lambda: None)


def follow(experiment: Experiment, found: Found | None) -> None:
    """Keep what is selected when the view or the sample changes; before anything is drawn. found: what is known."""
    marks.follow(zoom_of(experiment), _drawn_from(experiment), None if found is None else found.sentences)


def selected_sentences(found: Found, experiment: Experiment) -> NDArray[np.intp]:
    """Which sentences of the sample are selected in the scatter, as it was drawn last on whichever page: intp (n,)."""
    marked = np.empty(0, np.intp)
    if st.session_state.selected and st.session_state.get("marked_of") == _drawn_from(experiment):
        marked = st.session_state.get("marked_sentences", marked)
        marked = marked[marked < len(found.sentences)]
    text = st.session_state.find.strip()
    if not text:
        return marked
    is_held = _holding(colouring.sample_of(found), text, found.sentences)
    return marked[is_held[marked]] if st.session_state.selected else np.flatnonzero(is_held)


def _drawn_from(experiment: Experiment) -> Hashable:
    return experiment.selection, experiment.seed, experiment.sample_size


def _found_in(marked: NDArray[np.intp], found: Found, shown: "ViewData") -> NDArray[np.intp]:
    """Those marked that hold what the visitor looks for; if none is marked, all that do."""
    text = st.session_state.find.strip()
    if not text:
        return marked
    is_held = _holding(colouring.sample_of(found), text, found.sentences)[shown.index]
    return marked[is_held[marked]] if st.session_state.selected else np.flatnonzero(is_held)


def _holding(sample: Hashable, text: str, sentences: list[str]) -> NDArray[np.bool_]:
    return server.shared().of(("holding", sample, text), lambda: analysis.fields.holding(text, sentences))
