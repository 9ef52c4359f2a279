"""The page itself: the answer, its numbers, the controls, and what each section of the page shows below."""

import time
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis, export, models, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found, MeasuringJob
from clsviz.settings import Pooling, Unit
from clsviz.ui import controls
from clsviz.ui.controls import folded
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, head, redrawn, share, strip, toggle
from clsviz.ui.parts.covered import covered
from clsviz.ui.state import server, session, url, watching
from clsviz.ui.where_length_lives import (
    cells,
    elsewhere,
    layers,
    norm_breakdown,
    origin,
    projection,
    removal,
    sentlen,
)

if TYPE_CHECKING:
    from clsviz.statistics import Profile

_PATIENCE_SECONDS = 1.0

_N_TABLES = 5
"""That can be downloaded of what the page opens with."""


def show(job: MeasuringJob, there: MeasuringJob | None, page: str) -> None:
    """Draw it all; while anything is being computed it redraws itself, as there is more to show.

    there: the job of the corpus that the probes travel to, if one is chosen.
    """
    redrawn.show(
        lambda: _show(job, there, page),
        lambda: (session.measured(), st.session_state.travel_to, _needs_vectors(job)),
        lambda: not _is_analysed(job, there, session.experiment()),
        lambda: _news(job, there, session.experiment()),
    )


def _profile(found: Found, experiment: Experiment) -> "Analysis[Profile]":
    return server.analyse(analysis.layers.profiles, found, experiment.view.of_all_vectors)


def is_kept(found: Found, experiment: Experiment) -> bool:
    """Whether all that the page shows is there without the vectors."""
    vectors, view = analysis.layers, experiment.view
    return (
        not (st.session_state.travel_to or st.session_state.origin)
        and server.is_stored(vectors.profiles, found, view.of_all_vectors)
        and server.is_stored(vectors.classifications, found, view)
        and server.is_stored(vectors.norm_breakdown, found, view)
        and (not st.session_state.erase or server.is_stored(analysis.probes.erasures, found, view))
        and (not st.session_state.project or projection.is_kept(found, experiment))
    )


def _needs_vectors(job: MeasuringJob) -> bool:
    """Whether what came with clsviz no longer suffices."""
    return watching.lacks_vectors(job, lambda found: is_kept(found, session.experiment()))


def _is_analysed(job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment) -> bool:
    if job.state.is_active or (there is not None and there.state.is_active):
        return False
    return not any(analysis.state.is_active for analysis in _analyses(job, there, experiment))


def _news(job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment) -> Hashable:
    """Changes when there is more to show."""
    found = covered(job, experiment)
    of_job = (job.state, found.key) if found else watching.news(job)
    return of_job, there and watching.news(there), watching.news_of(_analyses(job, there, experiment))


def _analyses(job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment) -> list[Analysis[Any]]:
    """All that the page shows; they go on for as long as they are asked for."""
    found = covered(job, experiment)
    if found is None:
        return []
    analyses: list[Analysis[Any] | None] = [
        _profile(found, experiment),
        sentlen.of(found, experiment),
        norm_breakdown.of(found, experiment),
        removal.of(found, experiment),
        projection.of(found, experiment),
        origin.of(found, experiment),
        elsewhere.of(found, elsewhere.found_there(there), experiment),
    ]
    return [analysis for analysis in analyses if analysis is not None]


def _show(job: MeasuringJob, there: MeasuringJob | None, page: str) -> None:
    controls.view.fit(job.work.found, list(Pooling))
    experiment = session.experiment()  # the view may have been brought back to what the model has
    chart.follow(experiment)
    query = url.write(experiment, page, **_links())
    controls.notes.show_of_view()
    found = covered(job, experiment)
    of_profile = _profile(found, experiment) if found else None
    if of_profile:
        _wait_for_norms(of_profile)
    profile = of_profile.work.result if of_profile else None
    if of_profile is None:
        answer, numbers = words.waiting.for_points(job, server.jobs().place_of(job)), ""
    else:
        answer = str(of_profile.error or words.headline.answer(profile, experiment))
        numbers = words.headline.in_numbers(profile, experiment)
    terms = words.glossary.of_page(words.glossary.WHERE_LENGTH_LIVES, experiment)
    head.show(words.question_of_layers(experiment), answer, numbers, terms=terms)
    layers.show_r_squared(profile, experiment)
    with strip.place(3):
        strip.show_view(job.work.found, list(Pooling))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        _controls(experiment)
        if found is not None and profile is not None:
            with st.container(horizontal=True, horizontal_alignment="right", width="content"):
                share.copy_link(experiment, found, query)
                _downloads(experiment, found, profile, job, there)
    _details(profile, experiment)
    if found is None or profile is None:
        return
    is_imported = words.is_imported(experiment)
    cells.show(profile, found, experiment)
    if not is_imported:
        layers.show_spread(profile)
    if not job.state.is_active:  # before that, they would use only a fraction of the vectors they need
        projection.show(found, experiment, profile)
        if not is_imported:
            origin.show(found, experiment)
            elsewhere.show(found, there, experiment)
        removal.show(found, experiment)
        sentlen.show(found, experiment)
        norm_breakdown.show(found, experiment)
        if is_imported:
            st.caption(words.imported.NO_OTHERS)
    _explain(found, experiment, profile)


def _links() -> dict[str, str]:
    """The page's own settings as URL parameters; "" for those that have their defaults."""
    return {
        "heat": "probe" if st.session_state.heat else "",
        "erase": "yes" if st.session_state.erase else "",
        "project": "yes" if st.session_state.project else "",
        "travel_to": st.session_state.travel_to,
        "origin": str(st.session_state.origin or ""),
    }


def _wait_for_norms(of_profile: "Analysis[Profile]") -> None:
    """Wait a moment for the readings that take no time: without them all of the page would collapse."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while of_profile.state.is_active and time.monotonic() < deadline:
        profile = of_profile.work.result
        if profile is not None:
            norms = [step for step in profile.steps if step[2] is statistics.Readout.NORM]
            if len(profile.readings) >= len(norms):
                return
        with server.turns().left():
            time.sleep(0.02)


def _controls(experiment: Experiment) -> None:
    """The controls, one click each; a second click takes it back."""
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        toggle.shuffled_lengths(experiment)
        if not words.is_imported(experiment):
            _untrained(experiment)
        for unit, about in (
            (Unit.WORDS, "Counts length in words, separated by white space, which does not depend on a tokenizer."),
            (Unit.CHARACTERS, "Counts length in characters."),
        ):
            is_on, otherwise = experiment.unit is unit, words.cutoff_unit(experiment)
            if unit is not otherwise:
                toggle.show(f"In {unit}", {"unit": otherwise if is_on else unit}, about, is_on=is_on)


def _untrained(experiment: Experiment) -> None:
    untrained = models.Name.parse(experiment.model).untrained
    base = experiment.model.removeprefix(models.UNTRAINED)
    toggle.show(
        "Untrained model",
        {"model": base if untrained else models.UNTRAINED + base},
        "The same architecture with random weights: shows what is there without training. It has to be measured first.",
        is_on=untrained,
    )


def _details(profile: "Profile | None", experiment: Experiment) -> None:
    label = "In full: the best and the last layer, norm or direction, other vectors, what to keep in mind"

    def draw() -> None:
        for paragraph in words.profile.in_full(profile, experiment) if profile else []:
            st.markdown(f"- {escape(paragraph)}")

    label = "In full: norm or direction" if words.is_imported(experiment) else label
    folded.show(folded.Box(label, "in_full", draw))


def _downloads(
    experiment: Experiment, found: Found, profile: "Profile", job: MeasuringJob, there: MeasuringJob | None
) -> None:
    name = share.file_name(experiment, found)

    def about() -> dict[str, object]:
        return share.about(experiment, found)

    def draw() -> None:
        share.table_downloads("Layers", f"{name}-layers", profile.table, about)
        share.table_downloads(
            "Norms", f"{name}-norms", lambda: export.table(found.sentences, found.measurements), about
        )
        if not job.state.is_active:
            origin.downloads(experiment, found, about)
            elsewhere.downloads(experiment, found, there, about)
            removal.downloads(experiment, found, about)
            sentlen.downloads(experiment, found, about)
            norm_breakdown.downloads(experiment, found, about)

    share.menu(draw, _N_TABLES)


def _explain(found: Found, experiment: Experiment, profile: "Profile") -> None:
    def how_it_was_measured() -> None:
        n_truncated = chart.view_of(found, experiment).n_truncated
        share.provenance(words.probe_settings(experiment, found, profile.n, n_truncated), experiment, found, "probe")

    share.explain(words.HOW_TO_READ_LAYERS, how_it_was_measured)
