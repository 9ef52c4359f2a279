"""The controls of the view, which are instant: layer, cutoff, vector and unit, and the switches of controls."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from clsviz import analysis, words
from clsviz.experiment import Experiment
from clsviz.jobs import Found, MeasuringJob
from clsviz.settings import Lengths, Pooling
from clsviz.ui.state import session, watching

_CUTOFFS = (*range(5, 100, 5), *range(100, 200, 10), *range(200, 501, 50), 512)

_FIRST_LOOK = 128
"""Sentences in the first analysis of vectors; while more are measured, it is computed anew each time they double."""


def choice(
    label: str, setting: str, options: Iterable[Any], name: Callable[[Any], str] = str.capitalize, **how: Any
) -> None:
    """The control of a setting that is one of a few; name: what an option is called. how: as Streamlit has it."""
    st.segmented_control(
        label,
        list(options),
        default=st.session_state[setting],
        format_func=name,
        key=setting,
        persist_state="session",
        required=True,
        **how,
    )


def switch(label: str, setting: str, **how: Any) -> None:
    """The control of a setting that is on or off."""
    st.toggle(label, value=st.session_state[setting], key=setting, persist_state="session", **how)


def select(label: str, setting: str, options: Iterable[Any], name: Callable[[Any], str], **how: Any) -> None:
    """The control of a setting that is one of many, in a list; a link may hold one that is not offered."""
    chosen, offered = st.session_state[setting], list(options)
    if chosen not in offered:
        offered.append(chosen)
    at = offered.index(chosen)
    st.selectbox(label, offered, index=at, format_func=name, key=setting, persist_state="session", **how)


def slider(label: str, setting: str, options: Iterable[Any], name: Callable[[Any], str], about: str) -> None:
    """The control of a setting that is one of many, in order."""
    st.select_slider(
        label,
        _in_order({*options, st.session_state[setting]}),
        value=st.session_state[setting],
        format_func=name,
        key=setting,
        persist_state="session",
        help=about,
    )


def _in_order(options: Collection[int | str]) -> list[int | str]:
    """The options, with the chosen one, as a link may hold any value in range; words after numbers."""
    return sorted(options, key=lambda option: (isinstance(option, str), option))


@contextmanager
def strip(n: int = 4) -> Iterator[None]:
    """The place of the controls that lie on a picture: n in a row, two on a phone."""
    with st.container(key="strip"), st.grid(n, min_column_width=150):
        yield


def controls(found: Found | None, poolings: Collection[Pooling] = tuple(Pooling)) -> None:
    """Layer, cutoff and vector; poolings: those that can be chosen. Imported vectors have one, of no layer."""
    if words.is_imported(session.experiment()):
        with st.container(key="only_cutoff"):
            _cutoff()
        return
    layer(found)
    _cutoff()
    choice(
        "Vector",
        "pooling",
        poolings,
        lambda pooling: words.POOLINGS[pooling].short,
        help="[CLS] is the vector of the token that stands for the whole sentence. The pooler output is [CLS] from "
        "the last layer, passed through a dense layer and tanh."
        + (" Mean and max are taken over all token vectors." if Pooling.MEAN in poolings else ""),
    )


def _cutoff() -> None:
    about = words.about_cutoff(session.experiment())
    slider("Length cutoff", "length_cutoff", _CUTOFFS, "under {}".format, about)


def layer(found: Found | None) -> None:
    """The slider of layers; another one for each number of them: a browser keeps the handle’s place, not its value."""
    n_layers = _n_layers(found)
    key = f"layer_{n_layers or 0}"
    if st.session_state.get(key) != st.session_state.layer:
        st.session_state[key] = st.session_state.layer
    unmeasurable: Collection[int | str | None] = ()  # with the fast precision
    if found is not None and found.audit is not None and len(found.measurements):
        unmeasurable = analysis.unmeasurable_layers(found, session.experiment().view)

    def label(layer: int | str) -> str:
        is_lost = (n_layers if layer == session.LAST else layer) in unmeasurable
        return f"{layer} (not measurable)" if is_lost else str(layer)

    def choose() -> None:  # a page that is left in the same moment has already taken the control's value away
        st.session_state.layer = st.session_state.get(key, st.session_state.layer)

    st.select_slider(
        "Layer",
        _in_order({*range(n_layers or 1), session.LAST, st.session_state.layer}),
        value=st.session_state.layer,
        format_func=label,
        key=key,
        disabled=n_layers is None or st.session_state.pooling is Pooling.POOLER,
        on_change=choose,
        help="The layer after which the vector is taken; 0 is the embedding output.",
    )


def _n_layers(found: Found | None) -> int | None:
    if found is None:
        return None
    return found.measurements.n_layers if len(found.measurements) else found.weights.n_layers


def choose_vector(pooling: Pooling, layer: int, n_layers: int) -> None:
    """Make a vector the view."""
    is_last = pooling is Pooling.POOLER or layer == n_layers
    st.session_state.pooling = pooling
    st.session_state.layer = session.LAST if is_last else layer


def fit(found: Found | None, poolings: Collection[Pooling] = tuple(Pooling)) -> Experiment:
    """Bring layer and vector back to what the model and the page have, and note it; returns the experiment then.

    poolings: those of the page.
    """
    if st.session_state.pooling not in poolings:
        session.adjust(words.waiting.ONLY_CLS_HERE, pooling=Pooling.CLS)
    n_layers = _n_layers(found)
    if found is None or n_layers is None:
        return session.experiment()
    label, layer = found.weights.label, st.session_state.layer
    if found.weights.imported:
        if layer != session.LAST or st.session_state.pooling is not Pooling.CLS:
            session.adjust(words.waiting.ONE_VECTOR, layer=session.LAST, pooling=Pooling.CLS)
        return session.experiment()
    if layer != session.LAST and layer >= n_layers:
        session.adjust(words.waiting.no_layer(label, layer, n_layers) if layer > n_layers else "", layer=session.LAST)
    if st.session_state.pooling is Pooling.POOLER and len(found.measurements) and not found.measurements.has_pooler:
        session.adjust(words.waiting.no_pooler(label), pooling=Pooling.CLS)
    return session.experiment()


def toggle(label: str, settings: dict[str, object], about: str, *, is_on: bool) -> None:
    """A button that switches a setting on, and with a second click off; settings: what a click sets."""
    st.button(
        label,
        key=f"control-{label}",
        type="primary" if is_on else "secondary",
        icon=":material/check:" if is_on else None,
        on_click=st.session_state.update,
        args=[settings],
        help=about,
    )


def toggle_shuffled_lengths(experiment: Experiment) -> None:
    """The control of shuffled lengths."""
    about = "As a control, gives every sentence the length of another, drawn at random: any R² that remains is chance."
    is_shuffled = experiment.lengths is Lengths.SHUFFLED
    lengths = Lengths.TRUE if is_shuffled else Lengths.SHUFFLED
    toggle("Shuffle lengths", {"lengths": lengths}, about, is_on=is_shuffled)


def covered(job: MeasuringJob, experiment: Experiment) -> Found | None:
    """The vectors that a page is about, or None while there are none.

    While they are being measured, these are the first 128, 256, 512 and so on: not every part redraws everything. What
    came with clsviz is whole, also while it is still looked at what it would take to measure more.
    """
    found = watching.found(job, experiment)
    if found is None:
        return None
    n = len(found.measurements)
    if job.state.is_active and not found.is_outline:
        n = max((_FIRST_LOOK << doubling for doubling in range(10) if _FIRST_LOOK << doubling <= n), default=0)
    return analysis.layers.head(found, n) if n else None
