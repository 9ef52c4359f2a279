"""The page itself: the answer, its numbers, the controls, and what each section of the page shows below."""

import time
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis, export, models, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found, MeasuringJob
from clsviz.settings import Pooling, Unit
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, redrawn, share, toggle
from clsviz.ui.parts.covered import covered
from clsviz.ui.state import server, session
from clsviz.ui.where_length_lives import (
    cells,
    elsewhere,
    layers,
    norm_breakdown,
    origin,
    removal,
    sentlen,
    sentlen_file,
)

if TYPE_CHECKING:
    from clsviz.statistics import Profile, Readout

_PATIENCE_SECONDS = 1.0


def show(job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment, query: dict[str, str]) -> None:
    """Draw it all; while anything is being computed it redraws itself, as there is more to show.

    there: the job of the corpus that the probes travel to, if one is chosen.
    """
    redrawn.show(
        lambda: _show(job, there, experiment, query), _chosen, lambda: not _is_analysed(job, there, experiment)
    )


def _chosen() -> tuple[object, ...]:
    names = "heat", "erase", "travel_to", "origin", "sentlen_file"
    return session.experiment(), sentlen_file.asked(), *(st.session_state[name] for name in names)


def _profile(found: Found, experiment: Experiment) -> "Analysis[Profile]":
    return server.analyse(analysis.vectors.profiles, found, experiment.view.of_all_vectors)


def _is_analysed(job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment) -> bool:
    if job.state.is_active or (there is not None and there.state.is_active):
        return False
    found = covered(job, experiment)
    if found is None:
        return True
    analyses: list[Analysis[Any] | None] = [
        _profile(found, experiment),
        sentlen.of(found, experiment),
        norm_breakdown.of(found, experiment),
        removal.of(found, experiment),
        origin.of(found, experiment),
        sentlen_file.of(found, experiment),
        elsewhere.of(found, elsewhere.found_there(there), experiment),
    ]
    return not any(analysis is not None and analysis.state.is_active for analysis in analyses)


def _show(job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment, query: dict[str, str]) -> None:
    st.title(escape(f"Where does {models.label(experiment.model)} write the length of a sentence?"), anchor=False)
    found = covered(job, experiment)
    of_profile = _profile(found, experiment) if found else None
    if of_profile:
        _wait_for_norms(of_profile)
    profile = of_profile.work.result if of_profile else None
    if of_profile is None:
        st.markdown(escape(words.waiting.for_points(job)))
    else:
        st.markdown(escape(of_profile.error or words.profile.answer(profile, experiment)))
    _numbers(profile)
    _controls(experiment)
    layers.show(profile, experiment)
    _details(profile, experiment)
    if found is None or profile is None:
        return
    aside: dict[str, Any] = {"horizontal": True, "horizontal_alignment": "right"}
    with st.container(**aside), st.container(**aside, width="content"):
        share.copy_link(experiment, found, query)
        _downloads(experiment, found, profile, job, there)
    cells.show(profile, found, experiment)
    if not job.state.is_active:  # before that, they would use only a fraction of the vectors they need
        origin.show(found, experiment)
        elsewhere.show(found, there, experiment)
        removal.show(found, experiment)
        sentlen.show(found, experiment)
        sentlen_file.show(found, experiment)
        norm_breakdown.show(found, experiment)
    _explain(found, experiment, profile)


def _wait_for_norms(of_profile: "Analysis[Profile]") -> None:
    """Wait a moment for the readings that take no time: without them all of the page would collapse."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while of_profile.state.is_active and time.monotonic() < deadline:
        profile = of_profile.work.result
        if profile is not None:
            norms = [
                step
                for step in statistics.steps(profile.n_layers, profile.has_pooler)
                if step[2] is statistics.Readout.NORM
            ]
            if len(profile.readings) >= len(norms):
                return
        time.sleep(0.02)


def _numbers(profile: "Profile | None") -> None:
    def r_squared(layer: int | None, readout: "Readout") -> str:
        reading = profile.get(Pooling.CLS, layer, readout) if profile else None
        return "–" if reading is None or reading.r_squared is None else f"{reading.r_squared:.3f}".replace("-", "−")

    best = profile.best if profile else None
    last = f"layer {profile.n_layers}" if profile else "–"
    quiet: dict[str, Any] = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    with st.grid(4, min_column_width=140):
        st.metric(
            "Best layer",
            r_squared(best.layer, statistics.Readout.VECTOR) if best else "–",
            f"layer {best.layer}" if best else "–",
            help="R² of a linear probe that predicts length from the whole [CLS] vector, after the layer where it is "
            "highest.",
            **quiet,
        )
        st.metric(
            "Last layer",
            r_squared(None, statistics.Readout.VECTOR),
            last,
            help="R² of the same probe after the last layer.",
            **quiet,
        )
        st.metric(
            "Last layer’s norm",
            r_squared(None, statistics.Readout.NORM),
            last,
            help="R² of the norm of [CLS] alone after the last layer, as on the main page.",
            **quiet,
        )
        st.metric(
            "Sentences",
            f"{profile.n:,}" if profile else "–",
            "under the cutoff",
            help="How many of the sentences with measured vectors are under the length cutoff.",
            **quiet,
        )


def _controls(experiment: Experiment) -> None:
    """The controls, one click each; a second click takes it back."""
    untrained = models.Name.parse(experiment.model).untrained
    base = experiment.model.removeprefix(models.UNTRAINED)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Controls:", width="content")
        toggle.shuffled_lengths(experiment)
        toggle.show(
            "Untrained model",
            {"model": base if untrained else models.UNTRAINED + base},
            "The same architecture with random weights: shows what is there without training. It has to be measured "
            "first.",
            is_on=untrained,
        )
        for unit, about in (
            (Unit.WORDS, "Counts length in words, separated by white space, which does not depend on a tokenizer."),
            (Unit.CHARACTERS, "Counts length in characters."),
        ):
            is_on = experiment.unit is unit
            toggle.show(f"In {unit}", {"unit": Unit.TOKENS if is_on else unit}, about, is_on=is_on)


def _details(profile: "Profile | None", experiment: Experiment) -> None:
    with st.expander("Norm or direction, other vectors, and what to keep in mind"):
        for paragraph in words.profile.details(profile, experiment.unit) if profile else []:
            st.markdown(f"- {escape(paragraph)}")


def _downloads(
    experiment: Experiment, found: Found, profile: "Profile", job: MeasuringJob, there: MeasuringJob | None
) -> None:
    name = share.file_name(experiment, found)

    def about() -> dict[str, object]:
        return export.about(experiment, found)

    with st.popover("Download", icon=":material/download:"):
        share.table_downloads("Layers", f"{name}-layers", profile.table, about)
        share.table_downloads(
            "Norms", f"{name}-norms", lambda: export.table(found.sentences, found.measurements), about
        )
        if not job.state.is_active:
            origin.downloads(experiment, found, about)
            elsewhere.downloads(experiment, found, there, about)
            removal.downloads(experiment, found, about)
            sentlen.downloads(experiment, found, about)
            sentlen_file.downloads(experiment, found, about)
            norm_breakdown.downloads(experiment, found, about)


def _explain(found: Found, experiment: Experiment, profile: "Profile") -> None:
    shown = chart.view_of(found, experiment)
    with st.expander("How to read this page"):
        st.markdown(words.HOW_TO_READ_LAYERS)
    rows = words.probe_settings(experiment, found, profile.n, shown.n_truncated)
    share.how_it_was_measured(rows, words.command(experiment, found, "probe"))
