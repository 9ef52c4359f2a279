"""The controls that lie on a picture: what they change is instant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from clsviz import words
from clsviz.measuring import Found
from clsviz.settings import Pooling
from clsviz.ui.controls import view
from clsviz.ui.state import session


@contextmanager
def place(n: int = 4) -> Iterator[None]:
    """Where they are drawn: n in a row, two on a phone."""
    with st.container(key="strip"), st.grid(n, min_column_width=150):
        yield


def show_view(found: Found | None, poolings: Sequence[Pooling] = (Pooling.CLS, Pooling.POOLER)) -> None:
    """Layer, cutoff and vector; poolings: those that can be chosen. Of imported vectors there is one, of no layer."""
    if words.is_imported(session.experiment()):
        with st.container(key="only_cutoff"):
            view.cutoff()
        return
    view.layer(found)
    view.cutoff()
    view.vector(poolings)
