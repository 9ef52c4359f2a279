"""Buttons that switch a setting on, and with a second click off again."""

import streamlit as st

from clsviz.experiment import Experiment
from clsviz.settings import Lengths


def show(label: str, settings: dict[str, object], about: str, *, is_on: bool) -> None:
    """A button; settings: what a click sets."""
    st.button(
        label,
        key=f"control-{label}",
        type="primary" if is_on else "secondary",
        icon=":material/check:" if is_on else None,
        on_click=st.session_state.update,
        args=[settings],
        help=about,
    )


def shuffled_lengths(experiment: Experiment) -> None:
    """The control of shuffled lengths."""
    about = "As a control, gives every sentence the length of another, drawn at random: any R² that remains is chance."
    is_shuffled = experiment.lengths is Lengths.SHUFFLED
    lengths = Lengths.TRUE if is_shuffled else Lengths.SHUFFLED
    show("Shuffle lengths", {"lengths": lengths}, about, is_on=is_shuffled)
