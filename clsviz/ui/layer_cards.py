"""What else is known of the vectors, in cards whose titles are their findings; for some the model measures more."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.errors import Subject
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Extraction, Found, MeasuringJob, State
from clsviz.measurements import Kind
from clsviz.settings import ALTERED_DEFAULT, ALTERED_SIZES, DRAWS, N_ALTERED, Alteration, Pooling
from clsviz.sources import catalogue
from clsviz.statistics.probes import Readout
from clsviz.ui import sidebar, status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, layout, plot, selection, share
from clsviz.ui.state import server, session, visitor

if TYPE_CHECKING:
    from clsviz.analysis import ViewData
    from clsviz.analysis.layers import NormBreakdown, Projected, SentLen
    from clsviz.analysis.probes import Origin
    from clsviz.analysis.random_weights import RandomWeights
    from clsviz.statistics.erasure import Erasure
    from clsviz.statistics.probes import Profile, Travel

Analyses = Mapping[str, Analysis[Any]]

N_UNTRAINED = DRAWS + 1
"""Untrained models that are measured."""

_HEIGHTS = {
    "projection": 460,
    "erasure": 320,
    "shares": 300,
    "curves": 360,
    "spread": 280,
    "origin": 230,
    "travel": 340,
}

_FORMATS = {"linear_share": "percent", "linear_over_mean": "scientific"}

_ALTERED_SIZES = (250, 500, 1000, 2000, 5000, 10_000, 20_000)


def show(
    found: Found,
    there: MeasuringJob | None,
    experiment: Experiment,
    profile: "Profile",
    shown: "ViewData",
    analyses: Analyses,
) -> None:
    """Draw them all, one below the other."""
    state, said, unit, is_imported = st.session_state, words.layer_cards, experiment.unit, profile.is_of_one_vector

    def card(name: str, finding: Callable[[Any], str], draw: Callable[[Any], object], setting: str = "") -> None:
        """One of an analysis; its title is what is found, or where it stands. setting: which asks for it."""
        job = analyses.get(name)
        if job is not None and not job.state.is_active and not job.error and job.work.result is not None:
            title = finding(job.work.result)
        else:
            why = said.NOT_ASKED if job is None else said.IMPOSSIBLE if job.error else said.BEING_COMPUTED
            title = f"{said.NAMES[f'{name}_box']}: {why}"
        layout.box(title, f"{name}_box", lambda: draw(job), chosen=lambda: state[setting] if setting else None)

    layout.box(said.direction(profile, unit), "in_full", partial(_in_full, profile, experiment))
    if not is_imported:
        of_random = analyses.get("random_weights")
        random: RandomWeights | None = of_random.work.result if of_random else None
        of_cls = "" if experiment.pooling is Pooling.CLS else "[CLS]"
        if not found.weights.untrained:
            layout.box(
                words.random_weights.title(random, unit, is_asked=of_random is not None, vector=of_cls),
                "random_weights_box",
                partial(_random_weights, found, experiment, profile, of_random),
                chosen=lambda: state.random_weights,
            )
        curve_title = words.random_weights.curve_title(profile, experiment.pooling)
        curves = export.tables.learning_curves(profile, random)

        def show_curves() -> None:
            if curves["n"].nunique() > 1:
                figure = figures.learning_curves(curves, figures.Palette())
                plot.show(figure, key="learning_curves", alt=curve_title, height=_HEIGHTS["curves"])
            st.caption(words.random_weights.ABOUT_CURVE)

        layout.box(curve_title, "learning_curve_box", show_curves)
        cells = partial(_cells, profile, experiment)
        layout.box(
            said.norms(profile, unit), "vectors_box", cells, chosen=lambda: (session.experiment().view, state.heat)
        )

    def show_scatter() -> None:
        st.markdown(escape(words.result(shown, experiment, len(found.measurements))))
        selected = chart.show(experiment, found, shown)
        colouring.show_legend(found, shown, experiment)
        selection.show(experiment, found, shown, selected, share.file_name(experiment, found))

    of_norm = said.norm(words.axis_title(experiment), words.answer(shown, experiment))
    layout.box(of_norm, "scatter_box", show_scatter, chosen=lambda: (state.selected, state.colour))
    card("breakdown", said.breakdown, lambda job: _breakdown(job, profile))
    whole = profile.get(experiment.pooling, experiment.layer, Readout.VECTOR)
    card(
        "project",
        lambda result: said.projected(result.projection, whole, profile.n_different),
        lambda job: _projection(found, experiment, profile, job),
        "project",
    )
    if not is_imported:
        card("origin", said.origin, lambda job: _origin(found, experiment, job), "origin")
        card(
            "travel",
            lambda travel: said.travelled(travel, sidebar.label_of_corpus(state.travel_to), unit),
            lambda job: _travel(found, there, experiment, job),
            "travel_to",
        )
    card("erase", said.erased, lambda job: _erasure(found, experiment, job), "erase")
    card("sentlen", said.sentlen, _sentlen)
    if is_imported:
        st.caption(words.waiting.NO_OTHERS)


def _is_begun(
    job: Analysis[Any] | None, name: str, label: str, found: Found, experiment: Experiment
) -> TypeGuard[Analysis[Any]]:
    """True if a card has something to show, or will; if not, a button asks for it, or this place says why it cannot.

    The button has what it takes, if the vectors did not come with clsviz.
    """
    if job is not None:
        if job.error:
            st.info(escape(job.error))
        return not job.error
    n = len(found.measurements) if found.is_outline else 0
    cost = f" · about {words.duration(seconds(found, experiment, n))}" if n else ""
    st.button(
        f"{label}{cost}",
        icon=":material/science:",
        key=f"{name}-start",
        on_click=st.session_state.update,
        args=[{name: True}],
    )
    if n:
        st.caption(words.probing.NEEDS_VECTORS)
    return False


def _in_full(profile: "Profile", experiment: Experiment) -> None:
    """The answer in full; of the only vector that there is, also its numbers."""
    st.markdown("\n".join(f"- {escape(text)}" for text in words.profile.in_full(profile, experiment)))
    if profile.is_of_one_vector:
        number = st.column_config.NumberColumn(format="%.3f")
        st.dataframe(
            export.tables.readouts(profile, experiment.unit),
            hide_index=True,
            column_config={
                "From": st.column_config.TextColumn(width="medium"),
                **dict.fromkeys(("R²", "Lowest fold", "Highest fold"), number),
                f"Off by ({experiment.unit})": st.column_config.NumberColumn(format="%.1f"),
            },
            placeholder="–",
            alt="R² for length from the whole vector, from its direction, and from its norm.",
        )


def _cells(profile: "Profile", experiment: Experiment) -> None:
    """R² by layer and pooling, one cell each; a click on a cell makes it the view."""
    view.choice(
        "Predict length from",
        "heat",
        [False, True],
        {False: "The norm alone", True: "The whole vector"}.__getitem__,
        label_visibility="collapsed",
    )
    readout = Readout.VECTOR if st.session_state.heat else Readout.NORM
    poolings = [pooling for pooling in words.POOLINGS if profile.has_pooler or pooling is not Pooling.POOLER]
    layer = profile.n_layers if experiment.layer is None or experiment.pooling is Pooling.POOLER else experiment.layer
    marked = poolings.index(experiment.pooling), layer

    def draw() -> Any:
        table = export.tables.r_squared_by_vector(profile, poolings, readout)
        names, layers = [words.POOLINGS[one].short for one in poolings], [*map(str, range(profile.n_layers + 1))]
        return figures.heat_map(table, names, layers, figures.Palette(), marked=marked)

    def choose() -> None:
        place = plot.told("cells", "clicked")
        if isinstance(place, list) and [type(part) for part in place] == [int, int]:
            row, layer = place
            if 0 <= row < len(words.POOLINGS) and 0 <= layer <= profile.n_layers:  # or else the message is forged
                view.choose_vector(list(words.POOLINGS)[row], layer, profile.n_layers)

    plot.show(
        plot.once(("cells", profile, readout, marked), draw),
        key="cells",
        on_click=choose,
        alt=f"R² for length by layer and pooling, from the {readout}.",
    )
    st.caption(
        "Click a cell to choose its vector. Where a cell is empty there is nothing to predict from, or nothing to "
        "predict: the vector, its norm or the length is the same for all sentences."
    )


def _projection(found: Found, experiment: Experiment, profile: "Profile", job: "Analysis[Projected] | None") -> None:
    """The view's vectors projected onto two dimensions and coloured by length."""
    if not _is_begun(job, "project", words.probing.ASK_TO_PROJECT, found, experiment):
        return
    result: Projected | None = job.work.result
    whole = profile.get(experiment.pooling, experiment.layer, Readout.VECTOR)
    findings = words.probing.projected(
        result.projection if result else None,
        words.vector_name(experiment, "the"),
        whole.r_squared if whole else None,
        profile.n_different,
    )
    st.markdown(escape(findings))
    if result is None:
        st.container(height=_HEIGHTS["projection"], border=False)
        return
    plot.show(
        figures.projection(
            result.projection.coordinates,
            result.lengths,
            figures.labels_of([found.sentences[at] for at in result.index]),
            figures.Palette(),
            shares=result.projection.shares,
            unit=experiment.unit,
            selected=np.flatnonzero(np.isin(result.index, chart.selected_sentences(found, experiment))),
        ),
        height=_HEIGHTS["projection"],
        key="projection",
        tools=True,
        alt=f"The vectors on two principal components, coloured by length. {findings}",
    )
    st.caption(words.probing.ABOUT_PROJECTING)


def _erasure(found: Found, experiment: Experiment, job: "Analysis[Erasure] | None") -> None:
    """The length erased from the view's vectors, and what is left for probes and among neighbours."""
    if not _is_begun(job, "erase", words.probing.ASK_TO_ERASE, found, experiment):
        return
    result: Erasure | None = job.work.result
    findings = words.probing.erased(result)
    st.markdown(escape(findings))
    if result is None or not result.n_done:
        st.container(height=_HEIGHTS["erasure"], border=False)
        return
    figure = figures.erasure(export.tables.erasure(result), figures.Palette())
    plot.show(figure, key="erasure", alt=findings, height=_HEIGHTS["erasure"])
    st.caption(words.probing.ABOUT_ERASING)


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


def _breakdown(job: "Analysis[NormBreakdown]", profile: "Profile") -> None:
    """Dimensions and LayerNorm of the view's vector, and how far the norm of [CLS] varies."""
    result = job.work.result
    if job.error:
        st.info(escape(job.error))
    elif result is None:
        st.caption("Computing…")
    elif profile.is_of_one_vector:
        _dimensions(result)
    else:
        left, right = st.columns(2)
        with left:
            _dimensions(result)
        with right:
            st.markdown("**Gain and bias of the LayerNorm**")
            if (layer_norm := result.layer_norm) is None:
                st.info(escape(result.layer_norm_problem))
            else:
                st.dataframe(
                    export.tables.layer_norm(layer_norm),
                    hide_index=True,
                    column_config=dict.fromkeys(("Mean", "SD", "R²"), st.column_config.NumberColumn(format="%.4g")),
                    placeholder="–",
                    alt="The norm with the LayerNorm's gain and bias, and without them",
                )
                st.markdown(escape(words.layer_cards.layer_norm_sentence(layer_norm)))
    if not profile.is_of_one_vector:
        st.markdown("**How much the norm of [CLS] varies**")
        figure = plot.once(
            ("spread", profile), lambda: figures.norm_spread(export.tables.norm_spread(profile), figures.Palette())
        )
        alt = "Standard deviation of the norm of [CLS] as a share of its mean, after every layer."
        plot.show(figure, key="spread", alt=alt, height=_HEIGHTS["spread"])


def _dimensions(breakdown: "NormBreakdown") -> None:
    st.markdown("**Dimensions with the largest shares of the squared norm**")
    if (shares := breakdown.by_dimension) is None:
        st.info(escape(breakdown.by_dimension_problem))
        return
    figure = plot.once(
        ("dimensions", breakdown), lambda: figures.dimension_shares(shares.shares, shares.order, figures.Palette())
    )
    alt = "The dimensions with the largest shares of the squared norm."
    plot.show(figure, key="dimensions", alt=alt, height=_HEIGHTS["shares"])
    st.markdown(escape(words.layer_cards.dimensions_sentence(shares)))


def _random_weights(
    found: Found, experiment: Experiment, profile: "Profile", job: "Analysis[RandomWeights] | None"
) -> None:
    """What untrained models give away, once it is known; a button, as this takes the model."""
    result = job.work.result if job is not None else None

    def ask(is_wanted: bool) -> None:
        st.session_state.random_weights = is_wanted
        if job is not None and job.state.is_active:
            job.cancel()

    if job is None:
        label = words.random_weights.cost(seconds(found, experiment, len(found.measurements) * N_UNTRAINED))
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
            label = words.probing.origin_cost(seconds(found, experiment, n * N_ALTERED))
            st.button(label, icon=":material/science:", key="origin-start", on_click=ask, args=[n])
        elif job.state.is_active:
            st.button("Stop", icon=":material/stop:", key="origin-stop", on_click=ask, args=[0])
        else:
            st.button("Close", icon=":material/close:", key="origin-close", on_click=ask, args=[0])
    if job is None:
        st.caption(words.probing.ABOUT_ORIGIN)
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
    st.markdown(escape(words.probing.origin(result)))
    if result is None:
        return
    with st.grid(3, min_column_width=260):
        for alteration in Alteration:
            kind = words.probing.ALTERATIONS[alteration]
            with st.container():
                st.markdown(f"**{escape(kind.title)}**")
                if problem := result.problems.get(alteration):
                    st.info(escape(problem))
                    continue
                lines = export.tables.origin_lines(result, alteration)
                figure = figures.layer_lines(lines, figures.Palette(), n_layers=result.n_layers)
                alt = f"R² by layer of natural sentences, and with {kind.clause}."
                plot.show(figure, key=f"origin-{alteration}", alt=alt, height=_HEIGHTS["origin"])
                st.caption(escape(kind.catches))
    st.caption(f"{escape(words.probing.origin_note(result))} {words.probing.ABOUT_ORIGIN}")


def _travel(
    found: Found, job: MeasuringJob | None, experiment: Experiment, analysed: "Analysis[Travel] | None"
) -> None:
    """The probes of this corpus, read on another one that the visitor chooses."""
    state = st.session_state
    offered = [name for name in [*catalogue.CORPORA, *state.get("uploads", [])] if name != experiment.corpus]

    def choose() -> None:
        problem = visitor.corpus_problem(str(state.travel_to)) if state.travel_to else ""
        state.travel_to_message = problem
        if problem:
            state.travel_to = ""

    view.select(
        "Read the probes on",
        "travel_to",
        ["", *offered],
        lambda name: sidebar.label_of_corpus(name) if name else "no other corpus",
        on_change=choose,
        accept_new_options=not server.limits().is_public,
        help="Its sentences are measured first, as many as of this corpus. You can also type any dataset of the "
        "Hugging Face Hub or, if clsviz runs on your machine, the path of a file.",
    )
    sidebar.show_message("travel_to")
    if job is None:
        st.caption(words.probing.ABOUT_TRAVELLING)
        return
    there = job.work.found
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
    figure = figures.error_lines(lines, figures.Palette(), unit=experiment.unit, n_layers=n_layers)
    plot.show(figure, key="travel", alt=findings, height=_HEIGHTS["travel"])
    st.caption(words.probing.ABOUT_TRAVELLING)


def seconds(found: Found, experiment: Experiment, n: int) -> float:
    """About how long it takes to measure n more sentences like those that were found."""
    jobs = server.jobs()
    extraction = Extraction(experiment, jobs.store, jobs.encoders, machine=jobs.machine, kind=Kind.VECTORS)
    return extraction.seconds(found, n)
