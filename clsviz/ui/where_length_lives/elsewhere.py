"""The probes of this corpus, read on another."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, corpora, export, figures, words
from clsviz.errors import Subject
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Analysis, Found, MeasuringJob
from clsviz.ui import controls
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot, share
from clsviz.ui.state import server, visitor

if TYPE_CHECKING:
    from clsviz.statistics import Travel

_HEIGHT = 340


def wanted(experiment: Experiment) -> list[tuple[Experiment, Kind]]:
    """What is to be measured of the other corpus, if one is chosen."""
    name = st.session_state.travel_to
    return [(experiment.of_corpus(name), Kind.VECTORS)] if name else []


def of(found: Found, there: Found | None, experiment: Experiment) -> "Analysis[Travel] | None":
    """The analysis, running or done; None while the other corpus is not measured."""
    if there is None:
        return None
    return server.analyse_pair(analysis.probes.travels, found, there, experiment.view.of_all_layers)


def found_there(job: MeasuringJob | None) -> Found | None:
    """The whole of the other corpus, once it is measured."""
    if job is None or job.state.is_active or job.work.found is None or job.work.found.n_missing:
        return None
    return job.work.found


def show(found: Found, job: MeasuringJob | None, experiment: Experiment) -> None:
    """The choice of the other corpus, and how the probes do there."""
    st.subheader("Does the probe travel to another corpus?", anchor=False)
    _choice(experiment)
    if job is None:
        st.caption(words.probing.ABOUT_TRAVELLING)
        return
    there = found_there(job)
    if there is None:
        controls.errors.show(job.error, Subject.CORPUS)
        controls.status.draw(job, "-travel")
        return
    analysed = of(found, there, experiment)
    result = analysed.work.result if analysed else None
    if analysed and analysed.error:
        st.info(escape(analysed.error))
        return
    labels = found.corpus.label, there.corpus.label
    st.markdown(escape(words.probing.travelled(result, *labels, experiment.unit)))
    plot.show(
        figures.error_lines(
            export.tables.travel_lines(result),
            chart.palette(),
            unit=experiment.unit,
            n_layers=found.vectors.n_layers,
        ),
        height=_HEIGHT,
        key="travel",
        alt=words.probing.travelled(result, *labels, experiment.unit),
    )
    st.caption(words.probing.ABOUT_TRAVELLING)


def _choice(experiment: Experiment) -> None:
    chosen = st.session_state.travel_to
    offered = [name for name in [*corpora.CORPORA, *st.session_state.get("uploads", [])] if name != experiment.corpus]
    names = controls.choices.including(chosen, ["", *offered])
    st.selectbox(
        "Read the probes on",
        names,
        index=names.index(chosen),
        format_func=lambda name: controls.corpus.label(name) if name else "no other corpus",
        key="travel_to",
        persist_state="session",
        on_change=_choose,
        accept_new_options=not server.limits().is_public,
        help="Its sentences are measured first, as many as of this corpus. You can also type any dataset of the "
        "Hugging Face Hub or, if clsviz runs on your machine, the path of a file.",
    )
    controls.choices.show_message("travel_to")


def _choose() -> None:
    """Take the chosen corpus, or say why not."""
    name = str(st.session_state.travel_to)
    problem = visitor.corpus_problem(name) if name else ""
    st.session_state.travel_to_message = problem
    if problem:
        st.session_state.travel_to = ""


def downloads(
    experiment: Experiment, found: Found, job: MeasuringJob | None, about: Callable[[], Mapping[str, object]]
) -> None:
    """The errors by layer as a table, if there are any."""
    analysed = of(found, found_there(job), experiment)
    result = analysed.work.result if analysed else None
    if result is not None:
        name = f"{share.file_name(experiment, found)}-travel"
        share.table_downloads("Other corpus", name, lambda: export.tables.travel(result), about)
