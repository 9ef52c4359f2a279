"""What else is known of the vectors, each with its own analysis: asked for with the page, or by the visitor."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.errors import Subject
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Extraction, Found, MeasuringJob, State, measure_altered, measure_untrained
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import ALTERED_DEFAULT, ALTERED_SIZES, DRAWS, N_ALTERED, Alteration, Pooling
from clsviz.sources import catalogue
from clsviz.statistics.probes import Readout
from clsviz.ui import sidebar, status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, layout, plot
from clsviz.ui.state import server, visitor
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.layers import NormBreakdown, Projected, SentLen
    from clsviz.analysis.probes import Origin
    from clsviz.analysis.random_weights import RandomWeights
    from clsviz.statistics.erasure import Erasure
    from clsviz.statistics.probes import Profile, Travel

_HEIGHT_OF_PROJECTION, _HEIGHT_OF_ORIGIN, _HEIGHT_OF_TRAVEL, _HEIGHT_OF_ERASURE, _HEIGHT_OF_SHARES = (
    *(460, 230, 340, 320, 300),
)

_HEIGHT_OF_CURVES = 360

_FORMATS = {"linear_share": "percent", "linear_over_mean": "scientific"}

_ALTERED_SIZES = (250, 500, 1000, 2000, 5000, 10_000, 20_000)

Analyses = Mapping[str, Analysis[Any]]


def other_corpus(experiment: Experiment) -> list[tuple[Experiment, Kind]]:
    """What is to be measured of the other corpus, if one is chosen."""
    name = st.session_state.travel_to
    return [(experiment.of_corpus(name), Kind.VECTORS)] if name else []


def is_kept(found: Found, experiment: Experiment) -> bool:
    """True if all that the page shows is there without the vectors."""
    view, state = experiment.view, st.session_state
    works: dict[str, Any] = {
        "profiles": view.of_all_vectors,
        "classifications": view,
        "norm_breakdown": view,
    }
    if state.erase:
        works["erasures"] = view
    if state.project:
        works["project"] = view
    return not (state.travel_to or state.origin) and all(
        server.is_stored(name, found, of_view) for name, of_view in works.items()
    )


def analyses(
    found: Found, job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment
) -> dict[str, Analysis[Any]]:
    """The page's analyses, running or done, by name; those that nobody asked for are left out.

    They go on for as long as they are asked for. there: the job of the corpus that the probes travel to, if any.
    """
    layers, probes, state, view = analysis.layers, analysis.probes, st.session_state, experiment.view
    known: dict[str, Analysis[Any]] = {
        "profile": server.analyse("profiles", layers.profiles, found, view.of_all_vectors)
    }
    if job.state.is_active:  # the others would use only a fraction of the vectors that they need
        return known
    known["sentlen"] = server.analyse("classifications", layers.classifications, found, view)
    known["breakdown"] = server.compute("norm_breakdown", layers.norm_breakdown, found, view)
    if state.erase:
        known["erasure"] = server.analyse("erasures", probes.erasures, found, view)
    if state.project and (not found.is_outline or server.is_stored("project", found, view)):
        known["projection"] = server.compute("project", layers.project, found, view)
    of_all = view.of_all_vectors
    is_model = not (found.weights.imported or found.weights.untrained)
    if is_model and (state.random_weights or server.is_stored("random_weights", found, of_all)):
        known["random_weights"] = _untrained(found, experiment)
    if n := min(state.origin, len(found.measurements)):
        known["origin"] = _alter(found, experiment, n)
    if other := _whole(there):
        known["travel"] = server.analyse_pair("travels", probes.travels, found, other, view.of_all_layers)
    return known


def show(
    found: Found, there: MeasuringJob | None, experiment: Experiment, profile: "Profile", analyses: Analyses
) -> None:
    """Draw them all, one below the other."""
    vector = words.vector_name(experiment, "the")
    is_imported = words.is_imported(experiment)
    st.subheader(f"Can length be seen in {vector}?", anchor=False)
    _projection(found, experiment, profile, analyses.get("projection"))
    if not is_imported:
        st.subheader(words.origin.QUESTION, anchor=False)
        _origin(found, experiment, analyses.get("origin"))
        st.subheader("Does the probe travel to another corpus?", anchor=False)
        _travel(found, there, experiment, analyses.get("travel"))
    st.subheader(f"Can it be removed from {vector}?", anchor=False)
    _erasure(analyses.get("erasure"))
    st.subheader(f"Six length bins, predicted from {vector}", anchor=False)
    _sentlen(analyses["sentlen"])
    st.subheader(f"What makes up the norm of {vector}", anchor=False)
    _breakdown(analyses["breakdown"], has_layer_norm=not is_imported)
    if is_imported:
        st.caption(words.imported.NO_OTHERS)


def tables(analyses: Analyses) -> "dict[str, tuple[str, Callable[[], pd.DataFrame]]]":
    """The tables that can be downloaded, by label, each with what its file's name ends in."""
    results = {name: one.work.result for name, one in analyses.items() if one.work.result is not None}
    made: dict[str, tuple[str, Callable[[], pd.DataFrame]]] = {}
    if origin := results.get("origin"):
        made["Altered sentences"] = "origin", partial(export.tables.origin, origin)
    if travel := results.get("travel"):
        made["Other corpus"] = "travel", partial(export.tables.travel, travel)
    if (erasure := results.get("erasure")) and erasure.n_done:
        made["Length erased"] = "erased", partial(export.tables.erasure, erasure)
    if (sentlen := results.get("sentlen")) and sentlen.vector:
        made["SentLen"] = "sentlen", partial(export.tables.sentlen, sentlen)
    if (random := results.get("random_weights")) and (profile := results.get("profile")):
        made["Random weights"] = "random-weights", partial(analysis.random_weights.table, random, profile)
        made["Learning curves"] = "learning-curves", partial(export.tables.learning_curves, profile, random)
    if breakdown := results.get("breakdown"):
        if breakdown.layer_norm:
            made["LayerNorm"] = "layernorm", partial(export.tables.layer_norm, breakdown.layer_norm)
        if breakdown.by_dimension:
            made["Dimensions"] = "dimensions", partial(export.tables.dimensions, breakdown.by_dimension)
    return made


def _projection(found: Found, experiment: Experiment, profile: "Profile", job: "Analysis[Projected] | None") -> None:
    """The view's vectors projected onto two dimensions and coloured by length, once the visitor asks for it."""
    st.toggle(
        "Project the vectors onto two dimensions",
        value=st.session_state.project,
        key="project",
        persist_state="session",
        help=words.projection.ABOUT,
    )
    if job is None:
        st.caption(words.projection.NEEDS_VECTORS if found.is_outline else "Takes a second or two.")
        return
    if job.error:
        st.info(escape(job.error))
        return
    layer = profile.n_layers if experiment.layer is None else experiment.layer
    step = experiment.pooling, None if experiment.pooling is Pooling.POOLER else layer, Readout.VECTOR
    whole = profile.readings.get(step)
    result = job.work.result
    findings = words.projection.said(
        result.projection if result else None,
        words.vector_name(experiment, "the"),
        whole.r_squared if whole else None,
        profile.n_different,
    )
    st.markdown(escape(findings))
    if result is None:
        st.container(height=_HEIGHT_OF_PROJECTION, border=False)
        return
    plot.show(
        figures.projection(
            result.projection.coordinates,
            result.lengths,
            figures.labels_of([found.sentences[at] for at in result.index]),
            chart.palette(),
            shares=result.projection.shares,
            unit=experiment.unit,
            selected=np.flatnonzero(np.isin(result.index, chart.selected_sentences(found, experiment))),
        ),
        height=_HEIGHT_OF_PROJECTION,
        key="projection",
        tools=True,
        alt=f"The vectors on two principal components, coloured by length. {findings}",
    )


def _alter(found: Found, experiment: Experiment, n: int) -> "Analysis[Origin]":
    """The job that alters the first n sentences, and measures and probes them again."""
    jobs, of_view = server.jobs(), experiment.view.of_all_vectors

    def steps(progress: Progress) -> "Iterator[Origin]":
        def measure(alteration: Alteration, draw: int) -> Vectors:
            return measure_altered(n, alteration, experiment, found, jobs.store, jobs.encoders, progress, draw)

        return analysis.probes.origins(found, of_view, n, measure)

    key = "origin", found.key, of_view, n
    return jobs.measure_more(key, steps, server.visitor(), lambda: _seconds_to_alter(found, experiment, n))


def _untrained(found: Found, experiment: Experiment) -> "Analysis[RandomWeights]":
    """The job that measures and probes untrained models, unless that was done before."""
    jobs, of_view = server.jobs(), experiment.view.of_all_vectors
    key = analysis.result_key("random_weights", found, view=of_view)

    def steps(progress: Progress) -> "Iterator[RandomWeights]":
        def measure(seed: int, alteration: Alteration | None) -> Vectors:
            return measure_untrained(
                seed, experiment, found, jobs.store, jobs.encoders, progress, alteration=alteration
            )

        result = None
        for result in analysis.random_weights.random_weights(found, of_view, measure):
            yield result
        server.cache().put(key, result)

    seconds = lambda: _seconds_untrained(found, experiment)  # noqa: E731
    return jobs.measure_more((key, found.key), steps, server.visitor(), seconds, kept=lambda: server.cache().get(key))


def _seconds_untrained(found: Found, experiment: Experiment) -> float:
    jobs = server.jobs()
    extraction = Extraction(experiment, jobs.store, jobs.encoders, machine=jobs.machine, kind=Kind.VECTORS)
    return extraction.seconds(found, len(found.measurements) * (DRAWS + 1))


def show_random_weights(
    found: Found, experiment: Experiment, profile: "Profile", job: "Analysis[RandomWeights] | None"
) -> None:
    """What untrained models give away, once it is known; a button, as this takes the model."""
    result = job.work.result if job is not None else None

    def ask(is_wanted: bool) -> None:
        st.session_state.random_weights = is_wanted
        if job is not None and job.state.is_active:
            job.cancel()

    def draw() -> None:
        if job is None:
            label = words.random_weights.cost(_seconds_untrained(found, experiment))
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

    label = words.random_weights.title(result, profile, experiment.unit)
    layout.box(label, "random_weights_box", draw)


def show_learning_curve(profile: "Profile", random: "RandomWeights | None") -> None:
    """What probes of the last layer find with fewer sentences."""
    table = export.tables.learning_curves(profile, random)
    if table["n"].nunique() < 2:
        return

    def draw() -> None:
        title = words.random_weights.curve_title(profile)
        figure = figures.learning_curves(table, chart.palette())
        plot.show(figure, key="learning_curves", alt=title, height=_HEIGHT_OF_CURVES)
        st.caption(words.random_weights.ABOUT_CURVE)

    layout.box(words.random_weights.curve_title(profile), "learning_curve_box", draw)


def _seconds_to_alter(found: Found, experiment: Experiment, n: int) -> float:
    jobs = server.jobs()
    extraction = Extraction(experiment, jobs.store, jobs.encoders, machine=jobs.machine, kind=Kind.VECTORS)
    return extraction.seconds(found, n * N_ALTERED)


def _origin(found: Found, experiment: Experiment, job: "Analysis[Origin] | None") -> None:
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
            label = words.origin.cost(_seconds_to_alter(found, experiment, n))
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


def _whole(job: MeasuringJob | None) -> Found | None:
    """The other corpus, once it is measured as a whole."""
    if job is None or job.state.is_active or job.work.found is None or job.work.found.n_missing:
        return None
    return job.work.found


def _travel(
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
    there = _whole(job)
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


def _erasure(job: "Analysis[Erasure] | None") -> None:
    """The length erased from the view's vectors, and what is left for probes and among neighbours."""
    st.toggle(
        "Erase the length with LEACE",
        value=st.session_state.erase,
        key="erase",
        persist_state="session",
        help=words.probing.ABOUT_ERASING,
    )
    if job is None:
        st.caption("Takes some seconds.")
        return
    if job.error:
        st.info(escape(job.error))
        return
    result = job.work.result
    findings = words.probing.erased(result)
    st.markdown(escape(findings))
    if result is None or not result.n_done:
        st.container(height=_HEIGHT_OF_ERASURE, border=False)
        return
    figure = figures.erasure(export.tables.erasure(result), chart.palette())
    plot.show(figure, key="erasure", alt=findings, height=_HEIGHT_OF_ERASURE)


def _sentlen(job: "Analysis[SentLen]") -> None:
    """The SentLen task: how well the bin of a sentence's length can be predicted from the view's vector."""
    st.markdown(words.sentlen.ABOUT)
    result = job.work.result
    if job.error or (result and result.vector is None):
        st.info(escape(job.error or (result.problem if result else "")))
        return
    if result is None:
        st.caption("Computing…")
        return
    st.markdown(escape(words.sentlen.verdict(result)))
    st.dataframe(
        export.tables.sentlen(result),
        hide_index=True,
        column_config={
            "From": st.column_config.TextColumn(width="medium"),
            "Accuracy": st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            "Lowest": st.column_config.NumberColumn("Lowest draw", format="percent"),
            "Highest": st.column_config.NumberColumn("Highest draw", format="percent"),
            "Bits": st.column_config.NumberColumn("Code, bits", format="%.0f"),
        },
        placeholder="–",
        alt="Accuracy of the SentLen task",
    )
    if caveat := words.sentlen.caveat(result):
        st.warning(caveat)
    if of_norm := words.sentlen.of_norm(result):
        st.caption(escape(of_norm))


def _breakdown(job: "Analysis[NormBreakdown]", *, has_layer_norm: bool) -> None:
    """What makes up the norm of the view's vector: its dimensions, and the gain and bias of its LayerNorm."""
    result = job.work.result
    if job.error:
        st.info(escape(job.error))
    elif result is None:
        st.caption("Computing…")
    elif has_layer_norm:
        left, right = st.columns(2)
        with left:
            _dimensions(result)
        with right:
            _layer_norm(result)
    else:
        _dimensions(result)


def _dimensions(breakdown: "NormBreakdown") -> None:
    st.markdown("**Dimensions with the largest shares of the squared norm**")
    if (shares := breakdown.by_dimension) is None:
        st.info(escape(breakdown.by_dimension_problem))
        return

    def draw() -> Any:
        return figures.dimension_shares(shares.shares, shares.order, chart.palette())

    figure = plot.once(("dimensions", breakdown), draw)
    plot.show(
        figure,
        key="dimensions",
        alt="The dimensions with the largest shares of the squared norm.",
        height=_HEIGHT_OF_SHARES,
    )
    st.markdown(escape(words.dimensions.dimensions_sentence(shares)))


def _layer_norm(breakdown: "NormBreakdown") -> None:
    st.markdown("**Gain and bias of the LayerNorm**")
    if breakdown.layer_norm is None:
        st.info(escape(breakdown.layer_norm_problem))
        return
    st.dataframe(
        export.tables.layer_norm(breakdown.layer_norm),
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in ("Mean", "SD", "R²")},
        placeholder="–",
        alt="The norm with the LayerNorm's gain and bias, and without them",
    )
    st.markdown(escape(words.dimensions.layer_norm_sentence(breakdown.layer_norm)))
