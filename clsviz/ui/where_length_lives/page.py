"""The page “Where length lives”: after which layer, and from what of the vector, length can be predicted."""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import export, figures, words
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Found, MeasuringJob
from clsviz.measurements import Kind
from clsviz.settings import Pooling, Unit
from clsviz.sources import models
from clsviz.statistics.probes import Readout
from clsviz.ui import sidebar, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, colouring, layout, plot, preview, redrawn, selection, share
from clsviz.ui.state import server, session, url, watching
from clsviz.ui.where_length_lives import cards

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.random_weights import RandomWeights
    from clsviz.statistics.probes import Profile

PAGE = "where-length-lives"

_POOLINGS = list(Pooling)

_PATIENCE_SECONDS = 1.0

_N_TABLES = 5
"""That can be downloaded of what the page opens with."""

_HEIGHT_OF_LINES, _HEIGHT_OF_SPREAD = 440, 280


def page() -> None:
    """Draw the page; while anything is being computed what is below the notes redraws itself, as there is more."""
    _, (job, *others) = watching.begin(PAGE, Kind.VECTORS, others=cards.other_corpus, suffices=cards.is_kept)
    there = others[0] if others else None
    sidebar.show(job, of_vectors=True)

    def chosen() -> object:
        needs_vectors = watching.lacks_vectors(job, lambda found: cards.is_kept(found, session.experiment()))
        return session.measured(), st.session_state.travel_to, needs_vectors

    def is_active() -> bool:
        is_measuring = job.state.is_active or (there is not None and there.state.is_active)
        return is_measuring or any(analysis.state.is_active for analysis in analyses())

    def news() -> object:
        found = view.covered(job, session.experiment())
        of_job = (job.state, found.key) if found else watching.news(job)
        return of_job, there and watching.news(there), watching.news_of(analyses())

    def analyses() -> list[Analysis[Any]]:
        experiment = session.experiment()
        found = view.covered(job, experiment)
        return list(cards.analyses(found, job, there, experiment).values()) if found else []

    redrawn.show(lambda: _show(job, there), chosen, is_active, news)
    preview.explain(job)


def _show(job: MeasuringJob, there: MeasuringJob | None) -> None:
    """The answer, R² by layer with its controls, and the cards; there: the job of the corpus that probes travel to."""
    experiment = view.fit(job.work.found, _POOLINGS)
    chart.follow(experiment)
    query = url.write(
        experiment,
        PAGE,
        heat="probe" if st.session_state.heat else "",
        erase="yes" if st.session_state.erase else "",
        project="yes" if st.session_state.project else "",
        travel_to=st.session_state.travel_to,
        origin=str(st.session_state.origin or ""),
        random_weights="yes" if st.session_state.random_weights else "",
    )
    sidebar.show_notes_of_view()
    found = view.covered(job, experiment)
    analyses = cards.analyses(found, job, there, experiment) if found else {}
    profile: Profile | None = None
    answer, numbers = words.waiting.for_points(job, server.jobs().n_ahead(job)), ""
    if of_profile := analyses.get("profile"):
        _wait_for_norms(of_profile)
        profile = of_profile.work.result
        answer = str(of_profile.error or words.headline.answer(profile, experiment))
        numbers = words.headline.in_numbers(profile, experiment)
    terms = words.glossary.of_page(words.glossary.WHERE_LENGTH_LIVES, experiment)
    layout.head(words.question_of_layers(experiment), answer, numbers, terms=terms)
    if words.is_imported(experiment):
        _show_readouts(profile, experiment)
    else:
        of_random = analyses.get("random_weights")
        _show_layers(profile, experiment, of_random.work.result if of_random else None)
    with view.strip(3):
        view.controls(job.work.found, _POOLINGS)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        _show_controls(experiment)
        if found is not None and profile is not None:
            with st.container(horizontal=True, horizontal_alignment="right", width="content"):
                share.copy_link(experiment, found, query)
                _downloads(experiment, found, profile, analyses)
    label = "In full: the best and the last layer, norm or direction, other vectors, what to keep in mind"
    label = "In full: norm or direction" if words.is_imported(experiment) else label
    paragraphs = words.profile.in_full(profile, experiment) if profile else []
    layout.box(label, "in_full", lambda: st.markdown("\n".join(f"- {escape(text)}" for text in paragraphs)))
    if found is None or profile is None:
        return
    if not profile.is_of_one_vector:
        of_random = analyses.get("random_weights")
        if not models.Name.parse(experiment.model).untrained and not job.state.is_active:
            cards.show_random_weights(found, experiment, profile, of_random)
        cards.show_learning_curve(profile, of_random.work.result if of_random else None)
        _show_cells(profile, experiment)
    shown = chart.view_of(found, experiment)
    st.subheader(words.axis_title(experiment), anchor=False)
    st.markdown(escape(words.result(shown, experiment, len(found.measurements))))
    selected = chart.show(experiment, found, shown)
    colouring.show_legend(found, shown, experiment)
    selection.show(experiment, found, shown, selected, share.file_name(experiment, found))
    if not words.is_imported(experiment):
        _show_spread(profile)
    if "sentlen" in analyses:  # asked for once the vectors are measured, which may have been since
        cards.show(found, there, experiment, profile, analyses)

    def how_it_was_measured() -> None:
        settings = words.probe_settings(experiment, found, profile.n, shown.n_truncated)
        share.provenance(settings, experiment, found, "probe")

    share.explain(words.HOW_TO_READ_LAYERS, how_it_was_measured)


def _wait_for_norms(of_profile: "Analysis[Profile]") -> None:
    """Wait a moment for the readings that take no time: without them all of the page would collapse."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while of_profile.state.is_active and time.monotonic() < deadline:
        profile = of_profile.work.result
        if profile is not None:
            norms = [step for step in profile.steps if step[2] is Readout.NORM]
            if len(profile.readings) >= len(norms):
                return
        time.sleep(0.02)


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines that were drawn last: the model and the sentences, R² by layer, its unit, and the last layer."""

    key: object
    table: "pd.DataFrame"
    unit: Unit
    n_layers: int


def _show_layers(profile: "Profile | None", experiment: Experiment, random: "RandomWeights | None") -> None:
    """R² by layer. Until there is a profile, its place is kept, with the lines of the settings before if there are any.

    These are drawn faintly, and only of the same model and sentences. random: what untrained models give away.
    """
    key = (experiment.model, experiment.selection, experiment.seed)
    before: _Lines | None = st.session_state.get("lines_before")
    if profile is None and before is not None and before.key == key:
        lines, note = before, words.waiting.SETTINGS_BEFORE
    else:
        table = server.cache().get_or_compute(
            ("R² by layer", profile), lambda: export.tables.r_squared_by_layer(profile)
        )
        lines, note = _Lines(key, table, experiment.unit, profile.n_layers if profile else 1), ""
        if profile is not None and profile.is_complete:
            st.session_state.lines_before = lines

    def draw() -> Any:
        band = random.band() if random and random.is_complete and not note else None
        return figures.layer_lines(
            lines.table, chart.palette(), unit=lines.unit, n_layers=lines.n_layers, faded=note, random=band
        )

    figure = draw() if note else plot.once(("lines", profile, lines.unit, random), draw)
    alt = "R² for length after every layer: from the norm, the direction and the whole vector."
    plot.show(figure, key="lines", alt=f"{alt} {note}".strip(), height=_HEIGHT_OF_LINES)


def _show_readouts(profile: "Profile | None", experiment: Experiment) -> None:
    """The same of a single vector, from no known layer."""
    r_squared = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(
        export.tables.readouts(profile, experiment.unit),
        hide_index=True,
        column_config={
            "From": st.column_config.TextColumn(width="medium"),
            "R²": st.column_config.ProgressColumn(format="%.3f", min_value=0, max_value=1),
            "Lowest fold": r_squared,
            "Highest fold": r_squared,
            f"Off by ({experiment.unit})": st.column_config.NumberColumn(format="%.1f"),
        },
        placeholder="–",
        alt="R² for length from the whole vector, from its direction, and from its norm.",
    )


def _show_controls(experiment: Experiment) -> None:
    """One click each; a second click takes it back."""
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        view.toggle_shuffled_lengths(experiment)
        if not words.is_imported(experiment):
            name = models.Name.parse(experiment.model)
            view.toggle(
                "Untrained model",
                {"model": str(replace(name, untrained=not name.untrained, seed=0))},
                "The same architecture with random weights: what such a network gives away before any training. It has "
                "to be measured first.",
                is_on=name.untrained,
            )
        otherwise = words.cutoff_unit(experiment)
        for unit, about in (
            (Unit.WORDS, "Counts length in words, separated by white space, which does not depend on a tokenizer."),
            (Unit.CHARACTERS, "Counts length in characters."),
        ):
            is_on = experiment.unit is unit
            if unit is not otherwise:
                view.toggle(f"In {unit}", {"unit": otherwise if is_on else unit}, about, is_on=is_on)


def _downloads(experiment: Experiment, found: Found, profile: "Profile", analyses: "dict[str, Analysis[Any]]") -> None:
    name = share.file_name(experiment, found)

    def draw() -> None:
        tables = {
            "Layers": ("layers", profile.table),
            "Norms": ("norms", lambda: export.table(found.sentences, found.measurements)),
            **cards.tables(analyses),
        }
        for label, (ending, table) in tables.items():
            share.table_downloads(label, f"{name}-{ending}", table, lambda: share.about(experiment, found))

    share.menu(draw, _N_TABLES)


def _show_cells(profile: "Profile", experiment: Experiment) -> None:
    """R² by layer and pooling, one cell each; a click on a cell makes it the view."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.subheader("R² by vector", anchor=False)
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
        "Click a cell to open the scatter of that vector’s norm. Where a cell is empty there is nothing to predict "
        "from, or nothing to predict: the vector, its norm or the length is the same for all sentences."
    )


def choose_vector(pooling: Pooling, layer: int, n_layers: int) -> None:
    """Make a vector the view."""
    is_last = pooling is Pooling.POOLER or layer == n_layers
    st.session_state.pooling = pooling
    st.session_state.layer = session.LAST if is_last else layer


def _show_spread(profile: "Profile") -> None:
    st.subheader("How much the norm of [CLS] varies", anchor=False)

    def draw() -> Any:
        return figures.norm_spread(export.tables.norm_spread(profile), chart.palette())

    figure = plot.once(("spread", profile), draw)
    alt = "Standard deviation of the norm of [CLS] as a share of its mean, after every layer."
    plot.show(figure, key="spread", alt=alt, height=_HEIGHT_OF_SPREAD)
