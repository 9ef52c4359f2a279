"""The settings that cost model time."""

import streamlit as st

from clsviz.measuring import MeasuringJob
from clsviz.ui.controls import corpus, model, size


def show(job: MeasuringJob, *, of_vectors: bool = False) -> None:
    """All of them, each with what is wrong with it; of_vectors: whether vectors are measured, and not norms."""
    st.subheader("Sample", anchor=False)
    model.show(job.error)
    corpus.show(job)
    size.show(of_vectors=of_vectors)
