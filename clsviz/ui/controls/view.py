"""The view: which of what was measured is shown."""

from collections.abc import Callable, Sequence

import streamlit as st

from clsviz import analysis, words
from clsviz.measuring import Found
from clsviz.settings import Pooling, Unit
from clsviz.ui.controls import choices
from clsviz.ui.state import session

_CUTOFFS = (*range(5, 100, 5), *range(100, 200, 10), *range(200, 501, 50), 512)


def cutoff() -> None:
    """The control of the length cutoff."""
    st.select_slider(
        "Length cutoff",
        choices.including(st.session_state.length_cutoff, _CUTOFFS, in_order=True),
        value=st.session_state.length_cutoff,
        format_func=lambda cutoff: f"under {cutoff}",
        key="length_cutoff",
        persist_state="session",
        help=words.view.about_cutoff(session.experiment()),
    )


def fit_unit() -> None:
    """Count words where there are no tokens; to be called before `unit` is drawn, or whether it is."""
    if st.session_state.unit is Unit.TOKENS and words.cutoff_unit(session.experiment()) is Unit.WORDS:
        st.session_state.unit = Unit.WORDS


def unit() -> None:
    """The control of what lengths are counted in."""
    in_words = words.cutoff_unit(session.experiment()) is Unit.WORDS
    st.segmented_control(
        "Count length in",
        [Unit.WORDS, Unit.CHARACTERS] if in_words else list(Unit),
        default=st.session_state.unit,
        format_func=str.capitalize,
        key="unit",
        persist_state="session",
        required=True,
        help="Tokens are what this model’s tokenizer splits a sentence into. Words (separated by white space) and "
        "characters are the same for all models.",
    )


def vector(poolings: Sequence[Pooling] = (Pooling.CLS, Pooling.POOLER)) -> None:
    """The control of the vector; poolings: those that can be chosen."""
    st.segmented_control(
        "Vector",
        list(poolings),
        default=st.session_state.pooling,
        format_func=lambda pooling: words.POOLINGS[pooling].short,
        key="pooling",
        persist_state="session",
        required=True,
        help="[CLS] is the vector of the token that stands for the whole sentence. The pooler output is [CLS] from "
        "the last layer, passed through a dense layer and tanh."
        + (" Mean and max are taken over all token vectors." if Pooling.MEAN in poolings else ""),
    )


def layer(found: Found | None) -> None:
    """The control of the layer.

    It is another one for each number of layers: the browser keeps the place of the handle, not what it stands for.
    """
    n_layers = _n_layers(found)
    key = f"layer_{n_layers or 0}"
    if st.session_state.get(key) != st.session_state.layer:
        st.session_state[key] = st.session_state.layer
    st.select_slider(
        "Layer",
        choices.including(st.session_state.layer, [*range(n_layers or 1), session.LAST], in_order=True),
        value=st.session_state.layer,
        format_func=_layer_name(found, n_layers),
        key=key,
        disabled=n_layers is None or st.session_state.pooling is Pooling.POOLER,
        on_change=_choose_layer,
        args=[key],
        help="The layer after which the vector is taken; 0 is the embedding output.",
    )


def _choose_layer(key: str) -> None:
    # A page that is left in the same moment has already taken the control's value away.
    st.session_state.layer = st.session_state.get(key, st.session_state.layer)


def _layer_name(found: Found | None, n_layers: int | None) -> Callable[[int | str], str]:
    """What the slider calls a layer; with the fast precision it marks those that cannot be measured."""
    if found is None or found.audit is None or not len(found.measurements):
        return str
    lost = analysis.unmeasurable_layers(found, session.experiment().view)
    return lambda layer: (
        f"{layer} (not measurable)" if (n_layers if layer == session.LAST else layer) in lost else str(layer)
    )


def _n_layers(found: Found | None) -> int | None:
    if found is None:
        return None
    return found.measurements.n_layers if len(found.measurements) else found.weights.n_layers


def fit(found: Found | None, poolings: Sequence[Pooling] = (Pooling.CLS, Pooling.POOLER)) -> None:
    """Bring layer and vector back to what the model and the page have, and say so.

    poolings: those of the page.
    """
    if st.session_state.pooling not in poolings:
        session.adjust(words.view.ONLY_CLS_HERE, pooling=Pooling.CLS)
    n_layers = _n_layers(found)
    if found is None or n_layers is None:
        return
    label, layer = found.weights.label, st.session_state.layer
    if found.weights.imported:
        if layer != session.LAST or st.session_state.pooling is not Pooling.CLS:
            session.adjust(words.imported.ONE_VECTOR, layer=session.LAST, pooling=Pooling.CLS)
        return
    if layer != session.LAST and layer >= n_layers:
        session.adjust(words.view.no_layer(label, layer, n_layers) if layer > n_layers else "", layer=session.LAST)
    if st.session_state.pooling is Pooling.POOLER and len(found.measurements) and not found.measurements.has_pooler:
        session.adjust(words.view.no_pooler(label), pooling=Pooling.CLS)
