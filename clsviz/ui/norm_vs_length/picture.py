"""The answer, the strip of controls, the picture, and what can be done with it."""

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Overlay
from clsviz.ui.controls import notes, view
from clsviz.ui.norm_vs_length import beyond, every_layer, tour, typed
from clsviz.ui.parts import chart, colouring, head, own, redrawn, selection, share, strip, toggle
from clsviz.ui.state import server, session, url, watching

if TYPE_CHECKING:
    from clsviz.analysis import ViewData

_LOOK_SECONDS = 0.3
"""How often to look for what the answer lacks, which takes about as long."""


def is_active(job: MeasuringJob) -> bool:
    """Whether more points are to come, or their colours."""
    return job.state.is_active or colouring.is_coming(job.work.found, session.experiment())


def news(job: MeasuringJob) -> Hashable:
    """Changes when there is more to see of either."""
    return watching.news_of_points(job), colouring.news(job.work.found, session.experiment())


def show(job: MeasuringJob, page: str) -> None:
    """Draw it all; a change of the view draws this, and nothing else of the page, anew."""
    view.fit(job.work.found)
    experiment = session.experiment()  # the view may have been brought back to what the model has
    chart.follow(experiment)
    query = url.write(experiment, page, **chart.link())
    notes.show_of_view()
    found = watching.found(job, experiment)
    shown = chart.view_of(found, experiment) if found else None
    answer = partial(_wait, job, experiment)
    if found is not None and shown is not None:
        answer = partial(_answer, job, experiment, found, shown)
    is_waiting = partial(beyond.is_active, job, experiment) if shown is not None else lambda: job.state.is_active
    seconds = _LOOK_SECONDS if shown is not None else 1.0
    show_answer = partial(redrawn.show, answer, lambda: None, is_waiting, seconds=seconds)
    answer_place = st.container()
    is_worth_waiting = shown is not None and not job.state.is_active and beyond.is_active(job, experiment)
    if not is_worth_waiting:
        with answer_place:
            show_answer()
    picture_place = st.container(key="picture", height=chart.HEIGHT, border=False)
    with strip.place():
        strip.show_view(job.work.found)
        if words.is_imported(experiment):
            st.caption(words.imported.NO_SENTENCE)
        else:
            own.line()
    if found is None or shown is None:
        with picture_place:
            chart.show_empty(experiment, "No points yet.")
        return
    tools_place = st.container()
    sentences = typed.measure(found, experiment)  # before the picture, which marks them
    points = sentences.points() if sentences else None
    with picture_place:
        selected = chart.show(experiment, found, shown, points, st.session_state.overlays)
    with tools_place:
        _tools(experiment, found, shown, points, query)
        selection.show_search(found, shown, experiment)
        selection.show(experiment, found, shown, selected, share.file_name(experiment, found))
    typed.show(sentences, shown)
    _explain(job, experiment, found, shown)
    if is_worth_waiting:  # last, as the browser draws meanwhile
        beyond.wait_a_moment(is_waiting)
        with answer_place:
            show_answer()


def _wait(job: MeasuringJob, experiment: Experiment) -> None:
    """Where the job stands, as long as there are no points."""
    _head(experiment, words.waiting.for_points(job, server.jobs().place_of(job)))


def _answer(job: MeasuringJob, experiment: Experiment, found: Found, shown: "ViewData") -> None:
    shape = beyond.shape(job, experiment)
    n_measured = found.n_measured
    is_pending = (
        shape is None
        and shown.fit is not None
        and shown.fit.n_clusters >= statistics.FEW_SENTENCES
        and beyond.is_active(job, experiment)
    )
    _head(
        experiment,
        words.answer(shown, experiment.unit, shape) if shown.fit else shown.problem,
        words.in_numbers(shown, experiment, n_measured),
        " ".join(words.caveats(shown, experiment, n_measured)),
        pending=words.PENDING if is_pending else "",
    )
    if not words.is_imported(experiment):
        tour.show()


def _head(experiment: Experiment, answer: str, numbers: str = "", caveats: str = "", pending: str = "") -> None:
    terms = words.glossary.of_page(words.glossary.NORM_VS_LENGTH, experiment)
    beside = None if words.is_imported(experiment) else tour.button
    head.show(words.question(experiment), answer, numbers, caveats, pending=pending, terms=terms, beside=beside)


def _tools(
    experiment: Experiment, found: Found, shown: "ViewData", own_points: "figures.Points | None", query: dict[str, str]
) -> None:
    """What is drawn over the sentences, the control of shuffled lengths, and what can be taken along."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            overlays = st.pills(
                "Overlays",
                list(Overlay),
                selection_mode="multi",
                default=st.session_state.overlays,
                format_func=words.OVERLAYS.__getitem__,
                key="overlays",
                persist_state="session",
                label_visibility="collapsed",
            )
            toggle.shuffled_lengths(experiment)
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            seen = chart.seen(found, experiment, shown, own_points, overlays)
            longest = chart.axes_of(experiment, shown).longest
            link = {name: text for name, text in (query | chart.link()).items() if text}
            share.copy_link(experiment, found, link, longest)
            has_legend = figures.is_dense(len(shown.index), len(found.measurements))
            frame = partial(share.copy_frame, experiment, found, link, longest, has_legend=has_legend)
            share.downloads(experiment, found, shown, seen, frame)


def _explain(job: MeasuringJob, experiment: Experiment, found: Found, shown: "ViewData") -> None:
    """What the picture is after every layer and at every cutoff, how to read it, and how it came about."""
    is_imported = words.is_imported(experiment)
    label = "Every cutoff" if is_imported else "Every layer, every cutoff"
    with st.expander(label, key="every_layer", on_change="rerun") as place:
        if place.open:
            beyond.cutoffs(job, experiment)
            if not is_imported:
                every_layer.show(found, experiment)
    with st.expander(
        "How to read this picture, and how it was measured", key="how_measured", on_change="rerun"
    ) as place:
        if place.open:
            _tell_how(job, experiment, found, shown)


def _tell_how(job: MeasuringJob, experiment: Experiment, found: Found, shown: "ViewData") -> None:
    slices = statistics.slices(shown.lengths, shown.norms)
    st.markdown(f"{words.HOW_TO_READ}\n\n{words.lengths_at_norms(slices, shown.lengths, experiment.unit)}")
    flat = chart.flat(found, experiment, shown)
    rows = words.key_numbers(shown, experiment.unit, flat, beyond.shape(job, experiment))
    share.facts(rows | words.settings(experiment, found, shown), words.command(experiment, found))
