"""Searches by each of the compared models: their jobs, and exposure and recall as a picture."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from clsviz import figures, words
from clsviz.analysis.compare import Row
from clsviz.experiment import Experiment
from clsviz.settings import SEARCH_DEFAULTS, Pooling
from clsviz.sources import catalogue
from clsviz.ui import search_jobs
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot
from clsviz.ui.search_jobs import SearchJobs


def ask(names: Sequence[str], experiment: Experiment) -> list[SearchJobs]:
    """The jobs of each model's search: of one's own file, or else of the texts that are shipped for it."""
    of_means = replace(experiment, pooling=Pooling.MEAN, layer=None)
    if not catalogue.is_own(experiment.corpus):
        of_means = replace(Experiment.from_query(SEARCH_DEFAULTS), seed=experiment.seed)
    return [search_jobs.ask(replace(of_means, model=name)) for name in names]


def with_searches(rows: Sequence[Row], jobs: Sequence[SearchJobs]) -> list[Row]:
    """The rows with the tests that are computed, and with why others cannot be."""
    return [
        replace(row, search=job.result, search_problem=str(job.error or ""))
        for row, job in zip(rows, jobs, strict=True)
    ]


def show(rows: Sequence[Row], jobs: Sequence[SearchJobs], height: int) -> None:
    """What the searches are of, the picture of those that are tested, and a button for the others."""
    corpus = next((job.asked.work.result.corpus.label for job in jobs if job.asked.work.result), "")
    about = words.comparison.about_searches(rows, corpus)
    st.caption(escape(about))
    if any(row.search for row in rows):
        lines = figures.by_fifth(words.comparison.rankings(rows))
        figure = figures.exposure_by_fifth(lines, words.comparison.fifths(rows), chart.palette(), height=height)
        plot.show(figure, key="searches", alt=about, height=height)
    waiting = [(row, job) for row, job in zip(rows, jobs, strict=True) if job.asked.work.result and not job.is_done]
    active = [(row, job) for row, job in waiting if job.is_active]
    if active:
        row, job = next(((row, job) for row, job in active if job.test and job.test.total), active[0])
        now = job.test or job.asked
        st.progress(
            min(1.0, now.done / now.total) if now.total else 0.0,
            escape(
                f"{row.label}: {now.stage or 'waiting'}" + (f" {now.done:,} of {now.total:,}" if now.total else "…")
            ),
        )
        if st.button("Cancel", icon=":material/stop_circle:", key="cancel_searches"):
            for _, one in active:
                one.stop()
            st.rerun()
    elif waiting:
        costs = [job.asked.work.result.cost for _, job in waiting if job.asked.work.result]
        if st.button(words.comparison.measure_searches(costs), key="measure_searches", icon=":material/play_arrow:"):
            for _, job in waiting:
                job.start()
            st.rerun()
