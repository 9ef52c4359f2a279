"""What each page asks, and its answer where that is known already."""

from collections.abc import Callable
from dataclasses import dataclass

from clsviz import analysis, words
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Found
from clsviz.store.results import ResultCache


@dataclass(frozen=True)
class Page:
    """A page as a link to it is previewed.

    question: of an experiment. answer: what the page says of what is stored, or "" where that is still to be computed.
    kind: what the page rests on.
    """

    question: Callable[[Experiment], str]
    answer: Callable[[Found, Experiment, ResultCache], str] = lambda *_: ""
    kind: Kind = Kind.NORMS


def _norm_vs_length(found: Found, experiment: Experiment, cache: ResultCache) -> str:
    if found.n_missing or not analysis.is_stored(found, experiment.view, cache):
        return ""
    shown = analysis.select(found, experiment.view, wait=False, cache=cache)
    shape = cache.get(analysis.result_key("shapes", found, view=experiment.view))
    return words.answer(shown, experiment.unit, shape) if shown.fit else shown.problem


def _where_length_lives(found: Found, experiment: Experiment, cache: ResultCache) -> str:
    profile = cache.get(analysis.result_key("profiles", found, view=experiment.view.of_all_vectors))
    return words.headline.answer(profile, experiment) if profile else ""


def _length_and_search(found: Found, experiment: Experiment, cache: ResultCache) -> str:
    similarity = cache.get(analysis.result_key("compare", found, view=experiment.view))
    return words.similarity.answer(similarity, experiment) if similarity else ""


PAGES = {
    "": Page(lambda experiment: words.question(experiment), _norm_vs_length),
    "where_length_lives": Page(
        lambda experiment: words.question_of_layers(experiment), _where_length_lives, Kind.VECTORS
    ),
    "length_and_search": Page(lambda _: words.similarity.QUESTION, _length_and_search, Kind.VECTORS),
    "try_a_sentence": Page(lambda experiment: words.question_of_sentence(experiment)),
    "compare_models": Page(lambda experiment: words.question_of_models(experiment)),
    "inside_the_model": Page(lambda experiment: words.question_of_parts(experiment)),
}
"""By the path of each."""
