"""How large the sample is, which one it is, and how exactly it is measured."""

import streamlit as st

from clsviz import models
from clsviz.settings import ALL, RANGES, Precision
from clsviz.ui.controls import choices
from clsviz.ui.state import server

_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)

_PROBE_SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)


def show(*, of_vectors: bool) -> None:
    """The controls; of_vectors: whether vectors are measured, which are always exact, and not norms."""
    limits = server.limits()
    _slider(
        "Sentences",
        "sample_size",
        [size for size in _SIZES if size <= limits.sample_size] + [ALL] * (not limits.is_public),
        "How many sentences to draw from the corpus. A larger sample contains the smaller ones.",
    )
    if of_vectors:
        _slider(
            "Vectors for the first",
            "probe_size",
            [size for size in _PROBE_SIZES if size <= limits.probe_size],
            "Whole vectors are measured for this many sentences, from the start of the sample. They take more room "
            "than norms: about 17 kB per sentence with the built-in model, 60 kB with BERT base.",
        )
    is_imported = models.Imported.parse(st.session_state.model) is not None
    if not is_imported or st.session_state.seed:
        _seed()
    if not of_vectors and (not is_imported or st.session_state.precision is not Precision.EXACT):
        _precision()


def _seed() -> None:
    lowest, highest = RANGES["seed"]
    seed = st.session_state.seed
    st.number_input(
        "Seed",
        lowest,
        highest,
        seed,
        key="seed",
        persist_state="session",
        help="A different seed draws different sentences.",
    )


def _precision() -> None:
    st.segmented_control(
        "Precision",
        list(Precision),
        default=st.session_state.precision,
        format_func=str.capitalize,
        key="precision",
        persist_state="session",
        required=True,
        help="Exact computes in float32. Fast multiplies matrices in bfloat16 and measures some sentences both "
        "ways to report its error. A norm that varies by less than that error is not shown.",
    )


def _slider(label: str, setting: str, sizes: list[int], about: str) -> None:
    st.select_slider(
        label,
        choices.including(st.session_state[setting], sizes, in_order=True),
        value=st.session_state[setting],
        format_func=lambda size: "All" if size == ALL else f"{size:,}",
        key=setting,
        persist_state="session",
        help=about,
    )
