"""What joining sentences does to their similarity."""

from collections.abc import Sequence

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.analysis.search import MOST_TEXTS, SIZES, Joined
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Analysis, Found, measure_texts
from clsviz.progress import Progress
from clsviz.settings import Precision
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot
from clsviz.ui.state import server
from clsviz.vectors import Vectors


def of(found: Found, experiment: Experiment) -> Analysis[tuple[Joined, ...]]:
    """The job that measures joined sentences, running or done; it ends soon after nobody asks for it."""
    jobs = server.jobs()

    def measure(texts: Sequence[str]) -> Vectors:
        return measure_texts(texts, experiment, found, jobs.store, jobs.encoders, Progress())

    join = analysis.search.join
    return server.analyse_as(join, found, experiment.view, lambda: join(found, experiment.view, measure))


def show(found: Found, experiment: Experiment) -> None:
    """A switch, as this takes the model; and what was measured."""
    if found.weights.imported:
        st.caption(words.imported.NO_OTHERS)
        return
    st.toggle("Measure joined sentences", value=st.session_state.joined, key="joined")
    if not st.session_state.joined:
        st.caption(escape(words.similarity.joined_cost(_seconds(found))))
        return
    job = of(found, experiment)
    rows = job.work.result or ()
    if job.error:
        st.info(escape(job.error))
        return
    if job.state.is_active:
        st.progress(len(rows) / len(SIZES), f"Measuring: {len(rows)} of {len(SIZES)} sizes")
    if not rows:
        return
    st.markdown(escape(words.similarity.joined(rows)))
    table = export.similarity.joined(rows)
    plot.show(
        figures.joined(table, chart.palette()),
        height=340,
        key="joined-lines",
        alt="Mean cosines of texts by how many sentences they are joined from.",
    )
    st.caption(words.similarity.ABOUT_JOINED)


def _seconds(found: Found) -> float | None:
    """About how long it takes: the texts are as long as so many sentences."""
    numbers = Precision.EXACT.numbers
    rate = server.jobs().store.rate(found.weights.fingerprint, numbers, Kind.VECTORS)
    n = min(MOST_TEXTS, len(found.measurements) // SIZES[-1]) * (sum(SIZES) - 1)
    return n / rate if rate else None
