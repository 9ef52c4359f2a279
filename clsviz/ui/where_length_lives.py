"""The page “Where length lives”: after which layer, and from what of the vector, length can be predicted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment, View
from clsviz.jobs import Analysis, Extraction, Found, MeasuringJob, measure_altered, measure_untrained
from clsviz.measurements import Kind, Vectors
from clsviz.progress import Progress
from clsviz.settings import N_ALTERED, Alteration, Lengths, Pooling, Unit
from clsviz.sources import models
from clsviz.statistics.probes import Readout
from clsviz.store.results import ResultKey
from clsviz.ui import layer_cards as cards
from clsviz.ui import sidebar, view
from clsviz.ui.parts import chart, layout, plot, preview, redrawn, share
from clsviz.ui.state import server, session, url, watching

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.analysis.probes import Origin
    from clsviz.analysis.random_weights import Draws, RandomWeights
    from clsviz.statistics.probes import Profile

PAGE = "where-length-lives"

_PATIENCE_SECONDS = 1.0

_N_TABLES = 6
"""That can be downloaded of what the page opens with, and the picture."""


def page() -> None:
    """Draw the page; while anything is being computed what is below the notes redraws itself, as there is more."""
    _, (job, *others) = watching.begin(PAGE, Kind.VECTORS, others=_other_corpus, suffices=_is_kept)
    there = others[0] if others else None
    sidebar.show(job, of_vectors=True)

    def chosen() -> object:
        needs_vectors = watching.lacks_vectors(job, lambda found: _is_kept(found, session.experiment()))
        return session.measured(), st.session_state.travel_to, needs_vectors

    def is_active() -> bool:
        is_measuring = job.state.is_active or (there is not None and there.state.is_active)
        return is_measuring or any(one.state.is_active for one in analyses())

    def news() -> object:
        found = view.covered(job, session.experiment())
        of_job = (job.state, found.key) if found else watching.news(job)
        return of_job, there and watching.news(there), watching.news_of(analyses())

    def analyses() -> list[Analysis[Any]]:
        experiment = session.experiment()
        found = view.covered(job, experiment)
        return list(_analyses(found, job, there, experiment).values()) if found else []

    redrawn.show(lambda: _show(job, there), chosen, is_active, news)
    preview.explain(job)


def _show(job: MeasuringJob, there: MeasuringJob | None) -> None:
    """The answer, the errors by layer with their controls, and the cards; there: the job of the other corpus."""
    experiment, state = view.fit(job.work.found), st.session_state
    chart.follow(experiment)
    _open_what_a_link_asks_for()
    query = url.write(
        experiment,
        PAGE,
        heat="probe" if state.heat else "",
        erase="yes" if state.erase else "",
        project="yes" if state.project else "",
        travel_to=state.travel_to,
        origin=str(state.origin or ""),
        random_weights="yes" if state.random_weights else "",
    )
    sidebar.show_notes_of_view()
    found = view.covered(job, experiment)
    analyses = _analyses(found, job, there, experiment) if found else {}
    profile: Profile | None = None
    answer, numbers, is_whole = words.waiting.for_points(job, server.jobs().n_ahead(job)), "", False
    if found is not None and (of_profile := analyses.get("profile")):
        _wait_for_norms(of_profile)
        profile = of_profile.work.result
        is_growing = job.state.is_active and not found.is_outline
        is_whole = profile is not None and profile.is_read(experiment.pooling) and not is_growing
        answer = str(of_profile.error or words.profile.headline(profile if is_whole else None, experiment))
        numbers = words.profile.in_numbers(profile, experiment) if is_whole else ""
    draws, before = _draws(experiment, analyses), state.get("layers_seen")
    if is_whole:
        picture = state.layers_seen = _Seen(experiment, answer, numbers, *_drawn(profile, experiment, draws))
    elif before is not None and (before.answer or profile is None):
        picture = before
        if (
            before.answer
            and before.experiment == experiment
            and not (job.error or any(one.error for one in analyses.values()))
        ):
            answer, numbers = before.answer, before.numbers  # no answer is taken back while its vectors are measured
    elif profile is not None:
        drawing, _ = _drawn(profile, experiment, None)
        picture = state.layers_seen = _Seen(experiment, "", "", drawing, words.layer_cards.so_far(profile.n))
    else:
        picture = _example() or _Seen(experiment, "", "", _drawn(None, experiment, None)[0], "")
    terms = words.glossary.of_page(words.glossary.WHERE_LENGTH_LIVES, experiment)
    layout.head(words.question_of_layers(experiment), answer, numbers, terms=terms)
    is_before = picture.experiment != experiment
    about = words.waiting.SETTINGS_BEFORE if is_before and picture is before else picture.about
    with st.container(key="dimmed" if is_before else "undimmed"):
        plot.show(picture.drawing, key="lines", alt=f"{words.layer_cards.ALT} {about if is_before else answer}")
        st.caption(about)
    with view.strip(3):
        view.controls(job.work.found)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        _show_controls(experiment)
        if found is not None and profile is not None:
            with st.container(horizontal=True, horizontal_alignment="right", width="content"):
                share.copy_link(experiment, found, query)
                _downloads(experiment, found, profile, draws, analyses)
    with st.container(key="more", gap="xxsmall"):
        if found is not None and profile is not None and is_whole and "sentlen" in analyses:
            _show_more(found, there, experiment, profile, analyses)
        elif found is not None or job.state.is_active:  # “sentlen” is asked for once the vectors are measured
            _show_waiting(experiment)


def _show_waiting(experiment: Experiment) -> None:
    """The cards while vectors are measured or read: findings of a part of them would change."""
    said = words.layer_cards
    of_one = {"in_full", "scatter_box", "breakdown_box", "project_box", "erase_box", "sentlen_box"}
    asked_for = {"random_weights_box", "project_box", "origin_box", "travel_box", "erase_box"}
    is_untrained = models.Name.parse(experiment.model).untrained
    for key, name in said.NAMES.items():
        if (key in of_one or not words.is_imported(experiment)) and not (is_untrained and key == "random_weights_box"):
            why = said.NOT_ASKED if key in asked_for else said.BEING_COMPUTED
            layout.box(f"{name}: {why}", key, lambda: st.caption(said.WAITS))


def _open_what_a_link_asks_for() -> None:
    """Open the cards whose content a link asks for, when the page opens."""
    state = st.session_state
    for key in ("erase", "project", "random_weights", "origin", "travel_to", "heat"):
        if state[key]:
            state.setdefault({"travel_to": "travel_box", "heat": "vectors_box"}.get(key, f"{key}_box"), True)


def _show_more(
    found: Found, there: MeasuringJob | None, experiment: Experiment, profile: "Profile", analyses: cards.Analyses
) -> None:
    """The cards, and how to read the page."""
    shown = chart.view_of(found, experiment)
    cards.show(found, there, experiment, profile, shown, analyses)

    def how_it_was_measured() -> None:
        settings = words.probe_settings(experiment, found, profile.n, shown.n_truncated)
        share.provenance(settings, experiment, found, "probe")

    share.explain(words.HOW_TO_READ_LAYERS, how_it_was_measured)


@dataclass(frozen=True, eq=False)
class _Seen:
    """The last picture, of what it is, and what stands below it; answer: "" while there is no verdict."""

    experiment: Experiment
    answer: str
    numbers: str
    drawing: plot.Drawing
    about: str


def _drawn(profile: "Profile | None", experiment: Experiment, draws: "Draws | None") -> tuple[plot.Drawing, str]:
    """The errors by layer, and what is said below them."""
    of = "errors", profile, experiment.pooling, experiment.unit, experiment.lengths, draws
    drawing = plot.once(of, lambda: export.errors(profile, experiment, draws))
    return drawing, words.layer_cards.picture(experiment.lengths if draws else None)


@st.cache_resource(max_entries=1, show_spinner=False)
def _example() -> _Seen | None:
    """What the page shows where nothing is chosen, for those who wait for their first result; None if it is lost."""
    experiment, queue, cache = Experiment(), server.jobs(), server.cache()
    extraction = Extraction(experiment, queue.store, queue.encoders, kind=Kind.VECTORS, outlines=True)
    try:
        found = extraction.find_stored(Progress())
    except ClsvizError:  # of a damaged installation
        return None
    if found is None:
        return None
    keys = [analysis.result_key(name, found, view=experiment.view) for name in ("profiles", "random_weights")]
    profile, random = (cache.get(replace(key, is_bundled=True)) for key in keys)  # also where they are measured here
    drawing, _ = _drawn(profile, experiment, random)
    return _Seen(experiment, "", "", drawing, words.layer_cards.EXAMPLE) if profile else None


def _wait_for_norms(of_profile: "Analysis[Profile]") -> None:
    """Wait a moment for the readings that take no time: without them all of the page would collapse."""

    def lacks_norms() -> bool:
        profile = of_profile.work.result
        n_made, steps = (len(profile.readings), profile.steps) if profile else (-1, [])
        return of_profile.state.is_active and n_made < sum(readout is Readout.NORM for _, _, readout in steps)

    server.wait_while(lacks_norms, _PATIENCE_SECONDS)


def _draws(experiment: Experiment, analyses: cards.Analyses) -> "Draws | None":
    """What the band of the picture is of: shuffled lengths, or else untrained models, of which only [CLS] is read."""
    name = "shuffles" if experiment.lengths is Lengths.SHUFFLED else "random_weights"
    job = analyses.get(name)
    draws: Draws | None = job.work.result if job is not None else None
    is_of_vector = name == "shuffles" or experiment.pooling is Pooling.CLS
    return draws if draws is not None and draws.is_complete and is_of_vector else None


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


def _downloads(
    experiment: Experiment, found: Found, profile: "Profile", draws: "Draws | None", analyses: cards.Analyses
) -> None:
    name = share.file_name(experiment, found)

    def image(kind: str) -> bytes:
        answer = words.profile.headline(profile, experiment)
        drawn = export.errors_for_image(profile, experiment, draws)
        return figures.static.image(drawn, words.question_of_layers(experiment), answer, words.sharing.SITE, kind=kind)

    def draw() -> None:
        share.picture_downloads(f"{name}-layers", image)
        tables = {
            "Layers": ("layers", profile.table),
            "Norms": ("norms", lambda: export.table(found.sentences, found.measurements)),
            **_tables(analyses),
        }
        for label, (ending, table) in tables.items():
            share.table_downloads(label, f"{name}-{ending}", table, lambda: share.about(experiment, found))

    share.menu(draw, _N_TABLES)


def _tables(analyses: cards.Analyses) -> "dict[str, tuple[str, Callable[[], pd.DataFrame]]]":
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


def _other_corpus(experiment: Experiment) -> list[tuple[Experiment, Kind]]:
    """What is to be measured of the other corpus, if one is chosen."""
    name = st.session_state.travel_to
    return [(experiment.of_corpus(name), Kind.VECTORS)] if name else []


def _is_kept(found: Found, experiment: Experiment) -> bool:
    """True if all that the page shows is there without the vectors."""
    of_view, state = experiment.view, st.session_state
    names = ["classifications", "norm_breakdown", *["erasures"] * state.erase, *["project"] * state.project]
    works = {"profiles": of_view.of_all_vectors} | dict.fromkeys(names, of_view)
    return not (state.travel_to or state.origin) and all(
        server.is_stored(name, found, of_view) for name, of_view in works.items()
    )


def _analyses(
    found: Found, job: MeasuringJob, there: MeasuringJob | None, experiment: Experiment
) -> dict[str, Analysis[Any]]:
    """The page's analyses, running or done, by name; those that nobody asked for are left out, unless they are stored.

    They go on for as long as they are asked for. there: the job of the corpus that the probes travel to, if any.
    """
    layers, probes, state, of_view = analysis.layers, analysis.probes, st.session_state, experiment.view
    of_all, of_layers = of_view.of_all_vectors, of_view.of_all_layers
    known: dict[str, Analysis[Any]] = {"profile": server.analyse("profiles", layers.profiles, found, of_all)}
    if job.state.is_active:  # the others would use only a fraction of the vectors that they need
        return known

    def has(name: str, wanted: View = of_view, *, asked: bool, takes_vectors: bool = False) -> bool:
        return (asked and not (takes_vectors and found.is_outline)) or server.is_stored(name, found, wanted)

    known["sentlen"] = server.analyse("classifications", layers.classifications, found, of_view)
    known["breakdown"] = server.compute("norm_breakdown", layers.norm_breakdown, found, of_view)
    if has("erasures", asked=state.erase):
        known["erase"] = server.analyse("erasures", probes.erasures, found, of_view)
    if has("project", asked=state.project, takes_vectors=True):
        known["project"] = server.compute("project", layers.project, found, of_view)
    if of_view.lengths is Lengths.SHUFFLED and has("shuffles", of_layers, asked=True, takes_vectors=True):
        known["shuffles"] = server.analyse("shuffles", analysis.random_weights.shuffles, found, of_layers)
    is_model = not (found.weights.imported or found.weights.untrained)
    if is_model and (state.random_weights or _random_weights_key(found, of_all) in server.cache()):
        known["random_weights"] = _untrained(found, experiment)
    if n := min(state.origin, len(found.measurements)):
        known["origin"] = _alter(found, experiment, n)
    other = there.work.found if there is not None and not there.state.is_active else None
    if other is not None and not other.n_missing:  # the other corpus is measured as a whole
        key = "travels", found.key, other.key, of_layers
        travels = partial(probes.travels, found, other, of_layers)
        known["travel"] = server.jobs().analyse(key, travels, visitor=server.visitor())
    return known


def _alter(found: Found, experiment: Experiment, n: int) -> "Analysis[Origin]":
    """The job that alters the first n sentences, and measures and probes them again."""
    jobs, of_view = server.jobs(), experiment.view.of_all_vectors

    def steps(progress: Progress) -> "Iterator[Origin]":
        def measure(alteration: Alteration, draw: int) -> Vectors:
            return measure_altered(n, alteration, experiment, found, jobs.store, jobs.encoders, progress, draw)

        return analysis.probes.origins(found, of_view, n, measure)

    key = "origin", found.key, of_view, n
    return jobs.measure_more(key, steps, server.visitor(), lambda: cards.seconds(found, experiment, n * N_ALTERED))


def _random_weights_key(found: Found, view: View) -> ResultKey:
    """The key of what untrained models give away; what came with clsviz also holds where its vectors are measured here.

    It depends on the sentences alone, and not on the trained model’s vectors.
    """
    key = analysis.result_key("random_weights", found, view=view)
    bundled = replace(key, is_bundled=True)
    return bundled if bundled in server.cache() else key


def _untrained(found: Found, experiment: Experiment) -> "Analysis[RandomWeights]":
    """The job that measures and probes untrained models, unless that was done before."""
    jobs, of_view = server.jobs(), experiment.view.of_all_vectors
    key = _random_weights_key(found, of_view)

    def steps(progress: Progress) -> "Iterator[RandomWeights]":
        def measure(seed: int, alteration: Alteration | None) -> Vectors:
            return measure_untrained(
                seed, experiment, found, jobs.store, jobs.encoders, progress, alteration=alteration
            )

        result = None
        for result in analysis.random_weights.random_weights(found, of_view, measure):
            yield result
        server.cache().put(key, result)

    n = len(found.measurements) * cards.N_UNTRAINED
    cost, kept = partial(cards.seconds, found, experiment, n), partial(server.cache().get, key)
    return jobs.measure_more((key, found.key), steps, server.visitor(), cost, kept=kept)
