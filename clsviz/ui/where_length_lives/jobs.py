"""What the page computes of the vectors, and what it has the model measure for that."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis
from clsviz.experiment import Experiment, View
from clsviz.jobs import Analysis, Extraction, Found, MeasuringJob, measure_altered, measure_untrained
from clsviz.measurements import Kind, Vectors
from clsviz.progress import Progress
from clsviz.settings import DRAWS, N_ALTERED, Alteration, Lengths
from clsviz.store.results import ResultKey
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.analysis.probes import Origin
    from clsviz.analysis.random_weights import RandomWeights

Analyses = Mapping[str, Analysis[Any]]

N_UNTRAINED = DRAWS + 1
"""Untrained models that are measured."""


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
    """The page's analyses, running or done, by name; those that nobody asked for are left out, unless they are stored.

    They go on for as long as they are asked for. there: the job of the corpus that the probes travel to, if any.
    """
    layers, probes, state, view = analysis.layers, analysis.probes, st.session_state, experiment.view
    of_all, of_layers = view.of_all_vectors, view.of_all_layers
    known: dict[str, Analysis[Any]] = {"profile": server.analyse("profiles", layers.profiles, found, of_all)}
    if job.state.is_active:  # the others would use only a fraction of the vectors that they need
        return known

    def has(name: str, of_view: View = view, *, asked: bool = False, takes_vectors: bool = False) -> bool:
        return (asked and not (takes_vectors and found.is_outline)) or server.is_stored(name, found, of_view)

    known["sentlen"] = server.analyse("classifications", layers.classifications, found, view)
    known["breakdown"] = server.compute("norm_breakdown", layers.norm_breakdown, found, view)
    if has("erasures", asked=state.erase):
        known["erase"] = server.analyse("erasures", probes.erasures, found, view)
    if has("project", asked=state.project, takes_vectors=True):
        known["project"] = server.compute("project", layers.project, found, view)
    if view.lengths is Lengths.SHUFFLED and has("shuffles", of_layers, asked=True, takes_vectors=True):
        known["shuffles"] = server.analyse("shuffles", analysis.random_weights.shuffles, found, of_layers)
    is_model = not (found.weights.imported or found.weights.untrained)
    if is_model and (state.random_weights or _random_weights_key(found, of_all) in server.cache()):
        known["random_weights"] = _untrained(found, experiment)
    if n := min(state.origin, len(found.measurements)):
        known["origin"] = _alter(found, experiment, n)
    if other := whole(there):
        known["travel"] = server.analyse_pair("travels", probes.travels, found, other, of_layers)
    return known


def whole(job: MeasuringJob | None) -> Found | None:
    """The other corpus, once it is measured as a whole."""
    if job is None or job.state.is_active or job.work.found is None or job.work.found.n_missing:
        return None
    return job.work.found


def _alter(found: Found, experiment: Experiment, n: int) -> "Analysis[Origin]":
    """The job that alters the first n sentences, and measures and probes them again."""
    jobs, of_view = server.jobs(), experiment.view.of_all_vectors

    def steps(progress: Progress) -> "Iterator[Origin]":
        def measure(alteration: Alteration, draw: int) -> Vectors:
            return measure_altered(n, alteration, experiment, found, jobs.store, jobs.encoders, progress, draw)

        return analysis.probes.origins(found, of_view, n, measure)

    key = "origin", found.key, of_view, n
    return jobs.measure_more(key, steps, server.visitor(), lambda: seconds(found, experiment, n * N_ALTERED))


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

    n = len(found.measurements) * N_UNTRAINED
    cost = lambda: seconds(found, experiment, n)  # noqa: E731
    return jobs.measure_more((key, found.key), steps, server.visitor(), cost, kept=lambda: server.cache().get(key))


def seconds(found: Found, experiment: Experiment, n: int) -> float:
    """About how long it takes to measure n more sentences like those that were found."""
    jobs = server.jobs()
    extraction = Extraction(experiment, jobs.store, jobs.encoders, machine=jobs.machine, kind=Kind.VECTORS)
    return extraction.seconds(found, n)
