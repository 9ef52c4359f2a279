"""Cards for which the model measures more: untrained models, altered sentences, another corpus."""

from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.errors import Subject
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Found, MeasuringJob, State
from clsviz.settings import ALTERED_DEFAULT, ALTERED_SIZES, N_ALTERED, Alteration
from clsviz.sources import catalogue
from clsviz.ui import sidebar, status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot
from clsviz.ui.state import server, visitor
from clsviz.ui.where_length_lives import jobs

if TYPE_CHECKING:
    from clsviz.analysis.probes import Origin
    from clsviz.analysis.random_weights import RandomWeights
    from clsviz.statistics.probes import Profile, Travel

_HEIGHT_OF_ORIGIN, _HEIGHT_OF_TRAVEL = 230, 340

_FORMATS = {"linear_share": "percent", "linear_over_mean": "scientific"}

_ALTERED_SIZES = (250, 500, 1000, 2000, 5000, 10_000, 20_000)


def show_random_weights(
    found: Found, experiment: Experiment, profile: "Profile", job: "Analysis[RandomWeights] | None"
) -> None:
    """What untrained models give away, once it is known; a button, as this takes the model."""
    result = job.work.result if job is not None else None

    def ask(is_wanted: bool) -> None:
        st.session_state.random_weights = is_wanted
        if job is not None and job.state.is_active:
            job.cancel()

    if job is None:
        label = words.random_weights.cost(jobs.seconds(found, experiment, len(found.measurements) * jobs.N_UNTRAINED))
        st.button(label, icon=":material/science:", key="random-start", on_click=ask, args=[True])
    elif job.state.is_active:
        st.button("Stop", icon=":material/stop:", key="random-stop", on_click=ask, args=[False])
        n_done, n_steps = (result.n_done, result.n_steps) if result else (0, 1)
        stage = words.waiting.in_queue(server.jobs().n_ahead(job)) if job.state is State.QUEUED else job.stage
        st.progress(n_done / n_steps, escape(stage or "Fitting probes"))
    if job is not None and job.error:
        st.info(escape(job.error))
    if result is not None and result.is_complete:
        st.markdown(escape(words.random_weights.said(result, profile, experiment.unit)))
        table = analysis.random_weights.table(result, profile)
        st.dataframe(
            table.rename(columns=words.random_weights.COLUMNS),
            hide_index=True,
            column_config={
                label: st.column_config.NumberColumn(format=_FORMATS.get(name.removeprefix("random_"), "%.1f"))
                for name, label in words.random_weights.COLUMNS.items()
                if name != "layer"
            },
            placeholder="–",
            alt="Errors of probes and shares of variance by layer, of the trained model and of untrained ones",
        )
    st.caption(words.random_weights.ABOUT)


def show_origin(found: Found, experiment: Experiment, job: "Analysis[Origin] | None") -> None:
    """Where a probe may get the length from: the same sentences altered; a button, as this takes the model."""
    state, n_measured = st.session_state, len(found.measurements)
    sizes = [n for n in _ALTERED_SIZES if ALTERED_SIZES[0] <= n <= n_measured] or [n_measured]
    chosen = state.origin or state.get("origin_size") or ALTERED_DEFAULT
    chosen = max((n for n in sizes if n <= chosen), default=sizes[0])

    def resize() -> None:
        if state.origin:
            state.origin = state.origin_size

    def ask(n: int) -> None:
        state.origin = n
        if job is not None and job.state.is_active:  # ends at once, for all who look at it; what was measured is kept
            job.cancel()

    with st.container(horizontal=True, vertical_alignment="bottom"):
        n = st.selectbox(
            "Sentences",
            sizes,
            index=sizes.index(chosen),
            format_func="the first {:,}".format,
            key="origin_size",
            on_change=resize,
            width=180,
        )
        if job is None:
            label = words.origin.cost(jobs.seconds(found, experiment, n * N_ALTERED))
            st.button(label, icon=":material/science:", key="origin-start", on_click=ask, args=[n])
        elif job.state.is_active:
            st.button("Stop", icon=":material/stop:", key="origin-stop", on_click=ask, args=[0])
        else:
            st.button("Close", icon=":material/close:", key="origin-close", on_click=ask, args=[0])
    if job is None:
        st.caption(words.origin.ABOUT)
        return
    result = job.work.result
    if job.state.is_active:
        n_done = result.n_done if result else 0
        done = n_done + (job.done / job.total if result and job.total > job.done else 0)
        stage = f"Reading {min(n_done + 1, N_ALTERED)} of {N_ALTERED}"
        if job.state is State.QUEUED:
            stage = words.waiting.in_queue(server.jobs().n_ahead(job))
        elif job.total:
            stage += f": {job.stage or 'fitting probes'}, {job.done:,} of {job.total:,}"
        st.progress(min(done / N_ALTERED, 1.0), escape(stage))
    if job.error:
        st.info(escape(job.error))
        return
    st.markdown(escape(words.origin.answer(result)))
    if result is None:
        return
    with st.grid(3, min_column_width=260):
        for alteration in Alteration:
            kind = words.origin.LABELS[alteration]
            with st.container():
                st.markdown(f"**{escape(kind.title)}**")
                if problem := result.problems.get(alteration):
                    st.info(escape(problem))
                    continue
                lines = export.tables.origin_lines(result, alteration)
                figure = figures.layer_lines(lines, chart.palette(), n_layers=result.n_layers)
                alt = f"R² by layer of natural sentences, and with {kind.clause}."
                plot.show(figure, key=f"origin-{alteration}", alt=alt, height=_HEIGHT_OF_ORIGIN)
                st.caption(escape(kind.catches))
    st.caption(f"{escape(words.origin.note(result))} {words.origin.ABOUT}")


def show_travel(
    found: Found, job: MeasuringJob | None, experiment: Experiment, analysed: "Analysis[Travel] | None"
) -> None:
    """The probes of this corpus, read on another one that the visitor chooses."""
    state = st.session_state
    offered = [name for name in [*catalogue.CORPORA, *state.get("uploads", [])] if name != experiment.corpus]
    names = view.including(state.travel_to, ["", *offered])

    def choose() -> None:
        problem = visitor.corpus_problem(str(state.travel_to)) if state.travel_to else ""
        state.travel_to_message = problem
        if problem:
            state.travel_to = ""

    st.selectbox(
        "Read the probes on",
        names,
        index=names.index(state.travel_to),
        format_func=lambda name: sidebar.label_of_corpus(name) if name else "no other corpus",
        key="travel_to",
        persist_state="session",
        on_change=choose,
        accept_new_options=not server.limits().is_public,
        help="Its sentences are measured first, as many as of this corpus. You can also type any dataset of the "
        "Hugging Face Hub or, if clsviz runs on your machine, the path of a file.",
    )
    sidebar.show_message("travel_to")
    if job is None:
        st.caption(words.probing.ABOUT_TRAVELLING)
        return
    there = jobs.whole(job)
    if there is None or analysed is None:
        status.show_error(job.error, Subject.CORPUS)
        status.draw(job, "-travel")
        return
    if analysed.error:
        st.info(escape(analysed.error))
        return
    result = analysed.work.result
    findings = words.probing.travelled(result, found.corpus.label, there.corpus.label, experiment.unit)
    st.markdown(escape(findings))
    lines, n_layers = export.tables.travel_lines(result), found.vectors.n_layers
    figure = figures.error_lines(lines, chart.palette(), unit=experiment.unit, n_layers=n_layers)
    plot.show(figure, key="travel", alt=findings, height=_HEIGHT_OF_TRAVEL)
    st.caption(words.probing.ABOUT_TRAVELLING)
