"""What else is known of the vectors, in cards whose titles are their findings; some are asked for by opening them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Found, MeasuringJob
from clsviz.settings import Pooling
from clsviz.sources import models
from clsviz.statistics.probes import Readout
from clsviz.ui import sidebar, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, layout, plot, selection, share
from clsviz.ui.state import session
from clsviz.ui.where_length_lives import extra, jobs

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis import ViewData
    from clsviz.analysis.layers import NormBreakdown, Projected, SentLen
    from clsviz.analysis.random_weights import RandomWeights
    from clsviz.statistics.erasure import Erasure
    from clsviz.statistics.probes import Profile

_HEIGHTS = {
    "projection": 460,
    "erasure": 320,
    "shares": 300,
    "curves": 360,
    "spread": 280,
}


def show(
    found: Found,
    there: MeasuringJob | None,
    experiment: Experiment,
    profile: "Profile",
    shown: "ViewData",
    analyses: jobs.Analyses,
) -> None:
    """Draw them all, one below the other."""
    state, said, unit, is_imported = st.session_state, words.layer_cards, experiment.unit, profile.is_of_one_vector

    def title(name: str, finding: Callable[[Any], str]) -> str:
        """What is found, or where it stands."""
        job = analyses.get(name)
        if job is not None and not job.state.is_active and not job.error and job.work.result is not None:
            return finding(job.work.result)
        why = said.NOT_ASKED if job is None else said.IMPOSSIBLE if job.error else said.BEING_COMPUTED
        return f"{said.NAMES[f'{name}_box']}: {why}"

    _card(said.direction(profile, unit), "in_full", partial(_in_full, profile, experiment))
    if not is_imported:
        of_random = analyses.get("random_weights")
        random: RandomWeights | None = of_random.work.result if of_random else None
        of_cls = "" if experiment.pooling is Pooling.CLS else "[CLS]"
        if not found.weights.untrained:
            _card(
                words.random_weights.title(random, unit, is_asked=of_random is not None, vector=of_cls),
                "random_weights_box",
                partial(extra.show_random_weights, found, experiment, profile, of_random),
                chosen=lambda: state.random_weights,
            )
        curve_title = words.random_weights.curve_title(profile, experiment.pooling)
        curves = export.tables.learning_curves(profile, random)
        _card(curve_title, "learning_curve_box", partial(_curves, curve_title, curves))
        _card(
            said.norms(profile, unit),
            "vectors_box",
            partial(_cells, profile, experiment),
            chosen=lambda: (session.experiment().view, state.heat),
        )
    _card(
        said.norm(words.axis_title(experiment), words.answer(shown, experiment)),
        "scatter_box",
        partial(_scatter, found, experiment, shown),
        chosen=lambda: (state.selected, state.colour),
    )
    _card(title("breakdown", said.breakdown), "breakdown_box", partial(_breakdown, analyses["breakdown"], profile))
    whole = profile.get(experiment.pooling, experiment.layer, Readout.VECTOR)
    _card(
        title("project", lambda result: said.projected(result.projection, whole, profile.n_different)),
        "project_box",
        partial(_projection, found, experiment, profile, analyses.get("project")),
        chosen=lambda: state.project,
    )
    if not is_imported:
        _card(
            title("origin", said.origin),
            "origin_box",
            partial(extra.show_origin, found, experiment, analyses.get("origin")),
            chosen=lambda: state.origin,
        )
        _card(
            title("travel", lambda travel: said.travelled(travel, sidebar.label_of_corpus(state.travel_to), unit)),
            "travel_box",
            partial(extra.show_travel, found, there, experiment, analyses.get("travel")),
            chosen=lambda: state.travel_to,
        )
    _card(
        title("erase", said.erased),
        "erase_box",
        partial(_erasure, found, experiment, analyses.get("erase")),
        chosen=lambda: state.erase,
    )
    _card(title("sentlen", said.sentlen), "sentlen_box", partial(_sentlen, analyses["sentlen"]))
    if is_imported:
        st.caption(words.imported.NO_OTHERS)


def show_waiting(experiment: Experiment) -> None:
    """The same while vectors are measured or read: findings of a part of them would change."""
    said = words.layer_cards
    of_one = {"in_full", "scatter_box", "breakdown_box", "project_box", "erase_box", "sentlen_box"}
    asked_for = {"random_weights_box", "project_box", "origin_box", "travel_box", "erase_box"}
    is_untrained = models.Name.parse(experiment.model).untrained
    for key, name in said.NAMES.items():
        if (key in of_one or not words.is_imported(experiment)) and not (is_untrained and key == "random_weights_box"):
            why = said.NOT_ASKED if key in asked_for else said.BEING_COMPUTED
            _card(f"{name}: {why}", key, lambda: st.caption(said.WAITS))


def open_what_a_link_asks_for() -> None:
    """Open the cards whose content a link asks for, when the page opens."""
    state = st.session_state
    for key in ("erase", "project", "random_weights", "origin", "travel_to", "heat"):
        if state[key]:
            state.setdefault({"travel_to": "travel_box", "heat": "vectors_box"}.get(key, f"{key}_box"), True)


def _card(title: str, key: str, draw: Callable[[], object], **how: Any) -> None:
    layout.box(escape(title), key, draw, **how)


def _ask(name: str, label: str, found: Found, experiment: Experiment) -> None:
    """A button that asks for what a card shows, with what it takes if the vectors did not come with clsviz."""
    n = len(found.measurements) if found.is_outline else 0
    cost = f" · about {words.duration(jobs.seconds(found, experiment, n))}" if n else ""
    st.button(
        f"{label}{cost}",
        icon=":material/science:",
        key=f"{name}-start",
        on_click=st.session_state.update,
        args=[{name: True}],
    )
    if n:
        st.caption(words.projection.NEEDS_VECTORS)


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


def _scatter(found: Found, experiment: Experiment, shown: "ViewData") -> None:
    """The norm of the view's vector against length."""
    st.markdown(escape(words.result(shown, experiment, len(found.measurements))))
    selected = chart.show(experiment, found, shown)
    colouring.show_legend(found, shown, experiment)
    selection.show(experiment, found, shown, selected, share.file_name(experiment, found))


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
        return figures.heat_map(
            export.tables.r_squared_by_vector(profile, poolings, readout),
            [words.POOLINGS[pooling].short for pooling in poolings],
            [str(layer) for layer in range(profile.n_layers + 1)],
            chart.palette(),
            marked=marked,
        )

    def choose() -> None:
        place = plot.told("cells", "clicked")
        if isinstance(place, list) and [type(part) for part in place] == [int, int]:
            row, layer = place
            if 0 <= row < len(words.POOLINGS) and 0 <= layer <= profile.n_layers:  # or else the message is forged
                choose_vector(list(words.POOLINGS)[row], layer, profile.n_layers)

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


def choose_vector(pooling: Pooling, layer: int, n_layers: int) -> None:
    """Make a vector the view."""
    is_last = pooling is Pooling.POOLER or layer == n_layers
    st.session_state.pooling = pooling
    st.session_state.layer = session.LAST if is_last else layer


def tables(analyses: jobs.Analyses) -> "dict[str, tuple[str, Callable[[], pd.DataFrame]]]":
    """The tables that can be downloaded, by label, each with what its file's name ends in."""
    results = {name: one.work.result for name, one in analyses.items() if one.work.result is not None}
    made: dict[str, tuple[str, Callable[[], pd.DataFrame]]] = {}
    if origin := results.get("origin"):
        made["Altered sentences"] = "origin", partial(export.tables.origin, origin)
    if travel := results.get("travel"):
        made["Other corpus"] = "travel", partial(export.tables.travel, travel)
    if (erasure := results.get("erase")) and erasure.n_done:
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
    """The view's vectors projected onto two dimensions and coloured by length."""
    if job is None:
        _ask("project", words.projection.ASK, found, experiment)
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
        st.container(height=_HEIGHTS["projection"], border=False)
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
        height=_HEIGHTS["projection"],
        key="projection",
        tools=True,
        alt=f"The vectors on two principal components, coloured by length. {findings}",
    )
    st.caption(words.projection.ABOUT)


def _curves(title: str, table: "pd.DataFrame") -> None:
    """What probes of the last layer find with fewer sentences."""
    if table["n"].nunique() > 1:
        figure = figures.learning_curves(table, chart.palette())
        plot.show(figure, key="learning_curves", alt=title, height=_HEIGHTS["curves"])
    st.caption(words.random_weights.ABOUT_CURVE)


def _erasure(found: Found, experiment: Experiment, job: "Analysis[Erasure] | None") -> None:
    """The length erased from the view's vectors, and what is left for probes and among neighbours."""
    if job is None:
        _ask("erase", words.probing.ASK_TO_ERASE, found, experiment)
        return
    if job.error:
        st.info(escape(job.error))
        return
    result = job.work.result
    findings = words.probing.erased(result)
    st.markdown(escape(findings))
    if result is None or not result.n_done:
        st.container(height=_HEIGHTS["erasure"], border=False)
        return
    figure = figures.erasure(export.tables.erasure(result), chart.palette())
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
            _layer_norm(result)
    if not profile.is_of_one_vector:
        st.markdown("**How much the norm of [CLS] varies**")
        figure = plot.once(
            ("spread", profile), lambda: figures.norm_spread(export.tables.norm_spread(profile), chart.palette())
        )
        alt = "Standard deviation of the norm of [CLS] as a share of its mean, after every layer."
        plot.show(figure, key="spread", alt=alt, height=_HEIGHTS["spread"])


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
        height=_HEIGHTS["shares"],
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
