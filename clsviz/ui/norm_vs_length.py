"""The main page: norm of [CLS] against length, and the line through them."""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Found, MeasuringJob
from clsviz.measurements import MAX_LENGTH, Kind, Measurements
from clsviz.settings import Overlay, Pooling
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.lengths import lengths_in, slices
from clsviz.ui import first_steps, sidebar, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, layout, own, plot, preview, redrawn, selection, share
from clsviz.ui.state import server, session, url, watching

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis import ViewData
    from clsviz.encoder import AnyEncoder
    from clsviz.statistics.shape import Shape

PAGE = "norm-vs-length"

_LOOK_SECONDS = 0.3
"""How often to look for what the answer lacks, which takes about as long."""

_PATIENCE_SECONDS = 0.25
"""The shape of few sentences takes a moment: then the answer is written once."""

_HEIGHT_OF_CUTOFFS = 360

_MOST_IN_FULL, _MOST_CHARACTERS = 3, 500
"""More of the visitor's sentences are listed in a table; of each at most so much is shown."""


def page() -> None:
    """Draw the page; a change of the view draws the picture, and nothing else, anew."""
    _, (job,) = watching.begin(PAGE, Kind.NORMS)
    sidebar.show(job, has_presets=True)
    redrawn.show(
        lambda: _picture(job),
        session.measured,
        lambda: job.state.is_active or colouring.is_coming(job.work.found, session.experiment()),
        lambda: (watching.news_of_points(job), colouring.news(job.work.found, session.experiment())),
    )
    preview.explain(job)
    first_steps.show_examples()


def _picture(job: MeasuringJob) -> None:
    """The answer, the picture with its controls, and what can be done with it."""
    experiment = view.fit(job.work.found)
    is_imported = words.is_imported(experiment)
    chart.follow(experiment)
    query = url.write(experiment, PAGE, **chart.link())
    sidebar.show_notes_of_view()
    found = watching.found(job, experiment)
    shown = chart.view_of(found, experiment) if found else None

    def is_more_to_come() -> bool:
        return _is_more_to_come(job, experiment)

    def show_answer() -> None:
        seconds = 1.0 if shown is None else _LOOK_SECONDS
        with answer_place:
            redrawn.show(lambda: _answer(job, experiment, found, shown), lambda: None, is_more_to_come, seconds=seconds)

    answer_place = st.container()
    is_worth_waiting = shown is not None and not job.state.is_active and is_more_to_come()
    if not is_worth_waiting:
        show_answer()
    picture_place = st.container(key="picture", height=chart.HEIGHT, border=False)
    with view.strip():
        view.controls(job.work.found)
        if is_imported:
            st.caption(words.imported.NO_SENTENCE)
        else:
            own.line()
    if found is None or shown is None:
        with picture_place:
            chart.show_empty(experiment, "No points yet.")
        return
    tools_place = st.container()
    typed = _measure_typed(found, experiment)  # before the picture, which marks them
    points = None
    if typed is not None:
        points = figures.Points(figures.labels_of(typed.sentences), typed.lengths, typed.norms)
    with picture_place:
        selected = chart.show(experiment, found, shown, points, st.session_state.overlays)
    with tools_place:
        _tools(experiment, found, shown, points, query)
        selection.show_search(found, shown, experiment)
        selection.show(experiment, found, shown, selected, share.file_name(experiment, found))
    if typed is not None:
        _show_typed(typed, experiment, shown)
    label = "Every cutoff" if is_imported else "Every layer, every cutoff"
    with st.expander(label, key="every_layer", on_change="rerun") as place:
        if place.open:
            _cutoffs(job, experiment)
            if not is_imported:
                _every_layer(found, experiment)
    label = "How to read this picture, and how it was measured"
    with st.expander(label, key="how_measured", on_change="rerun") as place:
        if place.open:
            by_norm = slices(shown.lengths, shown.norms)
            st.markdown(f"{words.HOW_TO_READ}\n\n{words.lengths_at_norms(by_norm, shown.lengths, experiment.unit)}")
            numbers = words.key_numbers(
                shown, experiment.unit, chart.flat(found, experiment, shown), _shape(job, experiment)
            )
            share.facts(numbers | words.settings(experiment, found, shown))
            share.command(words.command(experiment, found))
    if is_worth_waiting:  # last, as the browser draws meanwhile
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while is_more_to_come() and time.monotonic() < deadline:
            time.sleep(0.01)
        show_answer()


def _answer(job: MeasuringJob, experiment: Experiment, found: Found | None, shown: "ViewData | None") -> None:
    """The question, and its answer as far as it is known, or where the job stands while there are no points."""
    is_imported = words.is_imported(experiment)
    terms = words.glossary.of_page(words.glossary.NORM_VS_LENGTH, experiment)
    beside = None if is_imported else first_steps.tour_button
    question = words.question(experiment)
    if found is None or shown is None:
        waiting = words.waiting.for_points(job, server.jobs().n_ahead(job))
        layout.head(question, waiting, terms=terms, beside=beside)
        return
    shape, n_measured = _shape(job, experiment), found.n_measured
    is_pending = (
        shape is None
        and shown.fit is not None
        and shown.fit.n_clusters >= FEW_SENTENCES
        and shown.fit.r_squared_interval[0] > 0  # else the answer says so itself
        and _is_more_to_come(job, experiment)
    )
    layout.head(
        question,
        words.answer(shown, experiment, shape),
        words.in_numbers(shown, experiment, n_measured, shape),
        " ".join(words.caveats(shown, experiment, n_measured)),
        pending=words.PENDING if is_pending else "",
        terms=terms,
        beside=beside,
    )
    if not is_imported:
        first_steps.show_tour()


def _is_more_to_come(job: MeasuringJob, experiment: Experiment) -> bool:
    """True while points, the shape or what an open box needs is still being computed."""
    found = watching.found(job, experiment)
    if job.state.is_active:
        if found and not analysis.clusters_ready(found, experiment.view):  # in time for the end of the measurement
            key = "alike", found.key
            server.jobs().analyse(
                key, lambda: iter([analysis.near_duplicates(found, experiment.view)]), visitor=server.visitor()
            )
        return True
    if found is None:
        return False
    shape = server.analyse("shapes", analysis.shapes, found, experiment.view)
    needs_all = st.session_state.get("how_measured") or shape.work.result is None  # its first step is for the answer
    return (needs_all and shape.state.is_active) or (
        bool(st.session_state.get("every_layer")) and _of_cutoffs(found, experiment).state.is_active
    )


def _shape(job: MeasuringJob, experiment: Experiment) -> "Shape | None":
    """The shape as far as it is known; it is looked at once all is measured."""
    found = watching.found(job, experiment)
    if found is None or job.state.is_active:
        return None
    return server.analyse("shapes", analysis.shapes, found, experiment.view).work.result


def _of_cutoffs(found: Found, experiment: Experiment) -> "Analysis[pd.DataFrame]":
    return server.compute("by_cutoff", analysis.by_cutoff, found, replace(experiment.view, length_cutoff=MAX_LENGTH))


def _tools(
    experiment: Experiment, found: Found, shown: "ViewData", points: "figures.Points | None", query: dict[str, str]
) -> None:
    """What is drawn over the sentences, the control of shuffled lengths, the link and the files."""
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
            view.toggle_shuffled_lengths(experiment)
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            link = {name: text for name, text in (query | chart.link()).items() if text}
            share.copy_link(experiment, found, link, chart.axes_of(experiment, shown).longest)
            seen = chart.seen(found, experiment, shown, points, overlays)
            share.cite_and_export(experiment, found, shown, seen, link)


def _cutoffs(job: MeasuringJob, experiment: Experiment) -> None:
    """R² and slope by cutoff."""
    found = watching.found(job, experiment)
    table = None if found is None or job.state.is_active else _of_cutoffs(found, experiment).work.result
    if table is None:
        st.caption("Computed once all sentences are measured.")
        return
    cutoff_unit = words.cutoff_unit(experiment)
    st.markdown(escape(words.by_cutoff(table, cutoff_unit)))
    if table.empty:
        return
    plot.show(
        figures.cutoff_lines(
            table, experiment.length_cutoff, chart.palette(), unit=experiment.unit.singular, cutoff_unit=cutoff_unit
        ),
        height=_HEIGHT_OF_CUTOFFS,
        key="cutoffs",
        alt="R² and slope of the line by length cutoff.",
    )


def _every_layer(found: Found, experiment: Experiment) -> None:
    """Norm against length after every layer: a picture that plays through them, and a small one for each."""
    layers = analysis.layers
    of_cls = replace(experiment.view, pooling=Pooling.CLS, layer=None)  # which play no part
    every = server.cache().get_or_compute(("every layer", found.key, of_cls), lambda: layers.every_layer(found, of_cls))
    selected = chart.selected_sentences(found, experiment)
    every = layers.with_others(every, found, of_cls, selected)
    drawn = np.flatnonzero(np.isin(every.index, selected))
    labels = figures.labels_of([found.sentences[at] for at in every.index])
    findings = words.every_layer.said(every)
    st.markdown(escape(findings))
    plot.show(
        figures.played_layers(every, labels, chart.palette(), experiment.unit, drawn),
        height=figures.PLAYED_HEIGHT,
        key="played_layers",
        alt=f"Norm of [CLS] against length, layer by layer. {findings}",
    )
    st.caption(words.every_layer.ABOUT_PLAYING)
    with st.grid(4, min_column_width=150):
        for at, after in enumerate(every.layers):
            r_squared = after.problem if after.r_squared is None else f"R² {after.r_squared:.3f}"
            plot.show(
                figures.layer_panel(every, at, labels, chart.palette(), experiment.unit, drawn),
                height=figures.PANEL_HEIGHT,
                key=f"layer_panel_{after.layer}",
                alt=f"Norm of [CLS] against length, layer {after.layer}: {r_squared}.",
            )
    st.caption(escape(words.every_layer.about_panels(every, experiment.unit)))


@dataclass(frozen=True, eq=False)
class _Typed:
    """n sentences of the visitor: tokens, measurements, lengths int32 (n,) in the view's unit, norms float32 (n,)."""

    sentences: list[str]
    tokens: list[list[str]]
    measurements: Measurements
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]


def _measure_typed(found: Found, experiment: Experiment) -> _Typed | None:
    """Measure what the visitor typed; None if that is nothing, or is not measured yet, which this place then says."""
    sentences = [] if found.weights.imported else own.typed()
    if not sentences:
        return None

    def work(encoder: "AnyEncoder") -> tuple[list[list[str]], Measurements]:
        return [encoder.tokens(sentence) for sentence in sentences], encoder.measure(sentences)

    measured = own.try_sentences("measurements", found.weights, sentences, work, found.precision)
    if measured is None:
        return None
    tokens, measurements = measured
    lengths = lengths_in(experiment.unit, sentences, measurements.n_tokens)
    return _Typed(sentences, tokens, measurements, lengths, measurements.norms(experiment.pooling, experiment.layer))


def _show_typed(typed: _Typed, experiment: Experiment, shown: "ViewData") -> None:
    """The visitor's sentences beside what the line and the corpus have for the same length."""
    own.offer_for_link()
    if len(typed.sentences) > _MOST_IN_FULL:
        st.dataframe(
            export.tables.typed(typed.sentences, typed.tokens, typed.lengths, typed.norms, experiment.unit, shown),
            hide_index=True,
            column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("Norm", "Norm on the line")}
            | {"Percentile at this length": st.column_config.NumberColumn(format="%.0f")},
            alt="Your sentences with their tokens and norms",
        )
        return
    for index, sentence in enumerate(typed.sentences):
        with st.container(border=True):
            prefix = f"{index + 1}. " if len(typed.sentences) > 1 else ""
            is_long = len(sentence) > _MOST_CHARACTERS
            st.text(prefix + (f"{sentence[:_MOST_CHARACTERS]}…" if is_long else sentence))
            length, norm = int(typed.lengths[index]), float(typed.norms[index])
            is_truncated = bool(typed.measurements.truncated[index])
            st.markdown(words.typed.facts(length, norm, experiment.unit, shown, is_truncated=is_truncated))
            st.code(words.typed.tokens(typed.tokens[index]), language=None, wrap_lines=True)
