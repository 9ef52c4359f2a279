"""The main page: norm of [CLS] against length, and the line through them."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Extraction, Found, MeasuringJob, State, kind_of_norms, measurement_key
from clsviz.measurements import MAX_LENGTH, Kind, Means, Measurements, Vectors
from clsviz.settings import Lengths, Overlay, Pooling
from clsviz.sources import models
from clsviz.statistics import similarity
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.lengths import lengths_in, slices
from clsviz.store.parts import read_outline
from clsviz.ui import first_steps, sidebar, status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, layout, own, plot, preview, redrawn, selection, share, thumbnails
from clsviz.ui.state import server, session, url, watching

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData
    from clsviz.encoder import Encoder
    from clsviz.statistics.means import Averaging
    from clsviz.statistics.shape import Shape

PAGE = "norm-vs-length"

_LOOK_SECONDS = 0.3
"""How often to look for what the answer lacks, which takes about as long."""

_PATIENCE_SECONDS, _MOST_AT_ONCE = 0.25, 20_000
"""The shape of so few sentences takes a moment: then the answer is written once."""

_HEIGHT_OF_CUTOFFS = 360

_N_NEIGHBOURS = 10


def page() -> None:
    """Draw the page; a change of the view draws the picture, and nothing else, anew."""
    _, (job, *others) = watching.begin(PAGE, others=_wanted)
    vectors = next((other for other in others if other.work.kind is Kind.VECTORS), None)
    untrained = next((other for other in others if other is not vectors), None)
    sidebar.show(job, has_presets=True)

    def is_active() -> bool:
        is_measuring = any(one.state.is_active for one in (job, *others))
        return is_measuring or colouring.is_coming(job.work.found, session.experiment())

    def news() -> object:
        of_points = watching.news_of_points(job), [watching.news(other) for other in others]
        return of_points, colouring.news(job.work.found, session.experiment())

    redrawn.show(
        lambda: _picture(job, untrained, vectors),
        lambda: [measurement_key(*wanted) for wanted in _wanted(session.experiment())],
        is_active,
        news,
    )
    preview.explain(job)


def _wanted(experiment: Experiment) -> list[tuple[Experiment, Kind]]:
    """What is measured: the norms, and what the open boxes take: the untrained model's, and vectors for neighbours."""
    wanted = [(experiment, kind_of_norms(experiment))]
    name = models.Name.parse(experiment.model)
    if st.session_state.get("averaging") and experiment.pooling is Pooling.MEAN and not name.untrained:
        wanted.append((replace(experiment, model=str(replace(name, untrained=True))), Kind.MEANS))
    if st.session_state.get("neighbours"):
        wanted.append((experiment, Kind.VECTORS))
    return wanted


def _picture(job: MeasuringJob, untrained: MeasuringJob | None, vectors: MeasuringJob | None) -> None:
    """The answer, the picture with its controls, and what can be done with it.

    untrained, vectors: the jobs of the control of averaging, and of the neighbours of a sentence, if they are wanted.
    """
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
    is_worth_waiting = shown is not None and shown.n <= _MOST_AT_ONCE and not job.state.is_active and is_more_to_come()
    if not is_worth_waiting:
        show_answer()
    picture_place = st.container(key="picture", height=chart.HEIGHT, border=False)
    with view.strip():
        view.controls(job.work.found)
        if is_imported:
            st.caption(words.waiting.NO_SENTENCE)
        else:
            own.line()
    layers_place = st.container(key=None if is_imported else "thumbnails_place")  # holds its place while it is empty
    if found is None or shown is None:
        with picture_place:
            chart.show_empty(experiment, "No points yet.")
        return
    tools_place = st.container()
    typed = _measure_typed(found, experiment)  # before the picture, which marks them
    points = typed and typed[-1]
    with picture_place:
        selected = chart.show(experiment, found, shown, points, st.session_state.overlays)
    if not is_imported:
        with layers_place:
            _every_layer(found, experiment)
    with tools_place:
        _tools(experiment, found, shown, points, query)
        selection.show_search(found, shown, experiment)
        selection.show(experiment, found, shown, selected, share.file_name(experiment, found))
        if len(selected) == 1 and not is_imported:
            _neighbours(vectors, int(shown.index[selected[0]]), experiment)
    if typed is not None:
        sentences, tokens, is_truncated, points = typed
        own.offer_for_link()
        own.show_measured(sentences, tokens, points.lengths, points.norms, is_truncated, experiment.unit, shown)
    if experiment.pooling is Pooling.MEAN and experiment.lengths is Lengths.TRUE:
        _averaging(job, untrained, found, experiment)
    _cutoffs(job, experiment)
    label = "How to read this picture, and how it was measured"
    with st.expander(label, key="how_measured", on_change="rerun") as place:
        if place.open:
            by_norm = slices(shown.lengths, shown.norms)
            st.markdown(f"{words.HOW_TO_READ}\n\n{words.lengths_at_norms(by_norm, shown.lengths, experiment.unit)}")
            numbers = words.key_numbers(
                shown, experiment.unit, chart.flat(found, experiment, shown), _shape(job, experiment)
            )
            share.facts(numbers | words.settings(experiment, found, shown))
            preview.offer_other_cut(found)
            share.command(words.command(experiment, found))
    if is_worth_waiting:  # last, as the browser draws meanwhile
        server.wait_while(is_more_to_come, _PATIENCE_SECONDS)
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
    is_partial = job.state.is_active or found is not job.work.found  # of which the last has not been drawn yet
    is_pending = (
        not is_partial
        and shape is None
        and shown.fit is not None
        and shown.fit.n_clusters >= FEW_SENTENCES
        and shown.fit.r_squared_interval[0] > 0  # else the answer says so itself
        and _is_more_to_come(job, experiment)
    )
    layout.head(
        question,
        words.answer_so_far(shown) if is_partial else words.answer(shown, experiment, shape),
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
    if experiment.pooling is Pooling.MEAN and _of_averaging(found, experiment).state.is_active:
        return True
    return (needs_all and shape.state.is_active) or (
        bool(st.session_state.get("every_cutoff")) and _of_cutoffs(found, experiment).state.is_active
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


def _of_averaging(found: Found, experiment: Experiment) -> "Analysis[Averaging | None]":
    return server.compute("averaging", analysis.averaging, found, experiment.view.of_averaging)


def _averaging(job: MeasuringJob, untrained: MeasuringJob | None, found: Found, experiment: Experiment) -> None:
    """What averaging has to do with the norm of the mean: a box with its finding as its title."""
    result = None if job.state.is_active else _of_averaging(found, experiment).work.result
    if result is None:
        st.caption(words.averaging.PENDING)
        return
    title = words.averaging.title(result, untrained=found.weights.untrained)
    with st.expander(escape(title), key="averaging", on_change="rerun") as place:
        if not place.open:
            return
        control = None
        if untrained is not None and (of := untrained.work.found) is not None and not untrained.state.is_active:
            control = _of_averaging(of, experiment).work.result
        st.dataframe(
            export.tables.averaging(result, control),
            hide_index=True,
            alt="R² and slope of the norm of the mean on length: all tokens, tokens from anywhere, eight word tokens",
        )
        st.markdown(escape(words.averaging.accounts(result)))
        if control is not None:
            st.markdown(escape(f"{words.averaging.UNTRAINED} {words.averaging.accounts(control)}"))
        elif untrained is not None:
            st.markdown(escape(words.averaging.UNTRAINED))
            status.draw(untrained, "-untrained")
        st.caption(escape(words.averaging.ABOUT))


def _neighbours(job: MeasuringJob | None, sentence: int, experiment: Experiment) -> None:
    """The sentences that are nearest to one, by its number in the sample, in a box: they take the vectors of all."""
    with st.expander("Its nearest neighbours", key="neighbours", on_change="rerun") as place:
        if not place.open or job is None:
            return
        if job.state is not State.DONE:
            status.draw(job, "-neighbours")
        found = watching.found(job, experiment)
        if found is None or sentence >= len(found.measurements):
            st.caption(escape(words.selection.no_neighbours(experiment, is_active=job.state.is_active)))
            return
        vectors = found.vectors.of(experiment.pooling, experiment.layer)
        try:
            nearest = similarity.nearest(vectors[sentence], vectors, found.sentences, _N_NEIGHBOURS + 1)
        except SettingError as error:
            st.info(escape(error))
            return
        others = nearest.table[nearest.table["sentence"] != found.sentences[sentence]].head(_N_NEIGHBOURS)
        selection.show_nearest(others, "The sentences whose vectors are nearest to the selected one’s")
        st.caption(escape(words.selection.neighbours(nearest.n_compared, experiment.view)))


def _cutoffs(job: MeasuringJob, experiment: Experiment) -> None:
    """R² and slope by cutoff, in a box."""
    with st.expander("Every cutoff", key="every_cutoff", on_change="rerun") as place:
        if not place.open:
            return
        found = watching.found(job, experiment)
        table = None if found is None or job.state.is_active else _of_cutoffs(found, experiment).work.result
        if table is None:
            st.caption("Computed once all sentences are measured.")
            return
        unit, cutoff_unit = experiment.unit.singular, words.cutoff_unit(experiment)
        st.markdown(escape(words.by_cutoff(table, cutoff_unit)))
        if table.empty:
            return
        plot.show(
            figures.cutoff_lines(
                table, experiment.length_cutoff, figures.Palette(), unit=unit, cutoff_unit=cutoff_unit
            ),
            height=_HEIGHT_OF_CUTOFFS,
            key="cutoffs",
            alt="R² and slope of the line by length cutoff.",
        )


def _every_layer(found: Found, experiment: Experiment) -> None:
    """Norm against length after every layer, and mean-pooled, in small: a click shows it large."""
    of_cls = replace(experiment.view, pooling=Pooling.CLS, layer=None)  # which play no part
    selected = chart.selected_sentences(found, experiment)
    # The norms of mean-pooled vectors of the same sentences, where they are measured or came with clsviz.
    pooled = found.measurements if isinstance(found.measurements, Vectors | Means) else None
    store, encoders = server.jobs().store, server.jobs().encoders
    if pooled is None and found.n_shipped and store.shipped is not None:
        key = Extraction(experiment, store, encoders, kind=Kind.VECTORS).key_of(found)
        pooled = read_outline(store.shipped, key)

    of = "every layer", found.key, of_cls, pooled is None
    every = server.cache().get_or_compute(of, lambda: analysis.layers.every_layer(found, of_cls, pooled))

    def draw() -> list[dict[str, str]]:
        drawn = analysis.layers.with_selected(every, found, of_cls, pooled, selected) if len(selected) else every
        marked = np.flatnonzero(np.isin(drawn.index, selected))
        return [figures.thumbnail(drawn, at, marked) for at in range(len(drawn.layers))]

    paths = server.cache().get_or_compute((*of, selected.tobytes()), draw)
    n_layers = found.measurements.n_layers
    chosen = experiment.pooling, n_layers if experiment.layer is None else experiment.layer
    drawn = [at for at, after in enumerate(every.layers) if after.layer or after.r_squared is not None]
    pictures = [
        {
            "name": words.layer_name(after),
            "result": words.layer_result(after),
            "paths": paths[at],
            "is_chosen": (after.pooling, after.layer) == chosen,
        }
        for at in drawn
        for after in [every.layers[at]]
    ]

    def choose(at: int) -> None:
        after = every.layers[drawn[at]]
        view.choose_vector(after.pooling, after.layer, n_layers)

    thumbnails.show(pictures, words.every_layer(every), "thumbnails", choose)


def _measure_typed(
    found: Found, experiment: Experiment
) -> "tuple[list[str], list[list[str]], NDArray[np.bool_], figures.Points] | None":
    """The visitor's sentences, the tokens of each, whether it is cut off, and where it lies.

    None if there are none, or they are not measured yet, which this place then says.
    """
    sentences, kind = [] if found.weights.imported else own.typed(), kind_of_norms(experiment)
    if not sentences:
        return None

    def work(encoder: "Encoder") -> tuple[list[list[str]], Measurements]:
        measure = encoder.means if kind is Kind.MEANS else encoder.measure
        return [encoder.tokens(sentence) for sentence in sentences], measure(sentences)

    measured = own.try_sentences(f"measurements of {kind}", found.weights, sentences, work, found.precision)
    if measured is None:
        return None
    tokens, measurements = measured
    lengths = lengths_in(experiment.unit, sentences, measurements.n_tokens)
    norms = measurements.norms(experiment.pooling, experiment.layer)
    return sentences, tokens, measurements.truncated, figures.Points(figures.labels_of(sentences), lengths, norms)
