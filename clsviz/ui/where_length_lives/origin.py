"""Where a probe may get the length from: the same sentences altered, measured and probed again."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Analysis, Extraction, Found, State, measure_altered
from clsviz.progress import Progress
from clsviz.settings import ALTERED_DEFAULT, ALTERED_SIZES, Alteration
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot, share
from clsviz.ui.state import server
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    from clsviz.analysis.probes import Origin

_HEIGHT = 230

_SIZES = (250, 500, 1000, 2000, 5000, 10_000, 20_000)


def of(found: Found, experiment: Experiment) -> "Analysis[Origin] | None":
    """The job that measures and probes, running or done; None while nobody asked for it."""
    n = min(st.session_state.origin, len(found.measurements))
    if not n:
        return None
    jobs = server.jobs()
    view = experiment.view.of_all_vectors

    def steps(progress: Progress) -> "Iterator[Origin]":
        def measure(alteration: Alteration) -> Vectors:
            return measure_altered(n, alteration, experiment, found, jobs.store, jobs.encoders, progress)

        return analysis.probes.origins(found, view, n, measure)

    seconds = partial(_seconds, found, experiment, n)
    return jobs.measure_more(("origin", found.key, view, n), steps, server.visitor(), seconds)


def show(found: Found, experiment: Experiment) -> None:
    """The button, as this takes the model; and a picture for each alteration."""
    st.subheader(words.origin.QUESTION, anchor=False)
    job = of(found, experiment)
    _controls(found, experiment, job)
    if job is None:
        st.caption(words.origin.ABOUT)
        return
    if job.error:
        st.info(escape(job.error))
        return
    result = job.work.result
    st.markdown(escape(words.origin.answer(result)))
    if result is None:
        return
    with st.grid(3, min_column_width=260):
        for alteration in Alteration:
            with st.container():
                _picture(result, alteration)
    st.caption(f"{escape(words.origin.note(result))} {words.origin.ABOUT}")


def _controls(found: Found, experiment: Experiment, job: "Analysis[Origin] | None") -> None:
    """How many sentences, and the button that starts or stops it."""
    sizes = [n for n in _SIZES if ALTERED_SIZES[0] <= n <= len(found.measurements)] or [len(found.measurements)]
    chosen = st.session_state.origin or st.session_state.get("origin_size") or ALTERED_DEFAULT
    chosen = max((n for n in sizes if n <= chosen), default=sizes[0])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        n = st.selectbox(
            "Sentences",
            sizes,
            index=sizes.index(chosen),
            format_func="the first {:,}".format,
            key="origin_size",
            on_change=_resize,
            width=180,
        )
        if job is None:
            seconds = _seconds(found, experiment, n)
            st.button(
                words.origin.cost(seconds), icon=":material/science:", key="origin-start", on_click=_ask, args=[n]
            )
        elif job.state.is_active:
            st.button("Stop", icon=":material/stop:", key="origin-stop", on_click=_stop, args=[job])
        else:
            st.button("Close", icon=":material/close:", key="origin-close", on_click=_ask, args=[0])
    if job is not None and job.state.is_active:
        st.progress(_share_done(job), escape(_stage(job)))


def _ask(n: int) -> None:
    st.session_state.origin = n


def _resize() -> None:
    if st.session_state.origin:
        st.session_state.origin = st.session_state.origin_size


def _stop(job: "Analysis[Origin]") -> None:
    """End it at once, for whoever looks at it; what was measured is kept."""
    job.cancel()
    _ask(0)


def _seconds(found: Found, experiment: Experiment, n: int) -> float:
    jobs = server.jobs()
    extraction = Extraction(experiment, jobs.store, jobs.encoders, machine=jobs.machine, kind=Kind.VECTORS)
    return extraction.seconds(found, n * len(Alteration))


def _stage(job: "Analysis[Origin]") -> str:
    if job.state is State.QUEUED:
        return words.waiting.in_queue(server.jobs().place_of(job))
    n_done = len(job.work.result.altered) + len(job.work.result.problems) if job.work.result else 0
    place = f"Change {min(n_done + 1, len(Alteration))} of {len(Alteration)}"
    return f"{place}: {job.stage or 'fitting probes'}, {job.done:,} of {job.total:,}" if job.total else place


def _share_done(job: "Analysis[Origin]") -> float:
    """The share of the alterations that are measured, with that of the one that is being measured."""
    result = job.work.result
    if result is None:
        return 0.0
    n_done = len(result.altered) + len(result.problems)
    is_measuring = job.total > job.done
    return min((n_done + (job.done / job.total if is_measuring else 0)) / len(Alteration), 1.0)


def _picture(result: "Origin", alteration: Alteration) -> None:
    label = words.origin.LABELS[alteration]
    st.markdown(f"**{escape(label.title)}**")
    if problem := result.problems.get(alteration):
        st.info(escape(problem))
        return
    plot.show(
        figures.layer_lines(export.tables.origin_lines(result, alteration), chart.palette(), n_layers=result.n_layers),
        height=_HEIGHT,
        key=f"origin-{alteration}",
        alt=f"R² by layer of natural sentences, and with {label.clause}.",
    )
    st.caption(escape(label.catches))


def downloads(experiment: Experiment, found: Found, about: Callable[[], Mapping[str, object]]) -> None:
    """The readings of natural and of altered sentences as a table, if there are any."""
    job = of(found, experiment)
    result = job.work.result if job else None
    if result is not None:
        name = f"{share.file_name(experiment, found)}-origin"
        share.table_downloads("Altered sentences", name, lambda: export.tables.origin(result), about)
