"""What each page asks, and its answer where that is known already."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clsviz import analysis, words
from clsviz.analysis import Kept
from clsviz.experiment import Experiment, View
from clsviz.measurements import Kind
from clsviz.measuring import Found


@dataclass(frozen=True)
class Page:
    """A page as a link to it is previewed.

    question: of an experiment. answer: what the page says of what is stored, or "" where that is still to be computed.
    kind: what the page rests on.
    """

    question: Callable[[Experiment], str]
    answer: Callable[[Found, Experiment, Kept], str] = lambda *_: ""
    kind: Kind = Kind.NORMS


def _norm_vs_length(found: Found, experiment: Experiment, kept: Kept) -> str:
    if found.n_missing or not analysis.is_kept(found, experiment.view, kept):
        return ""
    shown = analysis.select(found, experiment.view, wait=False, kept=kept)
    shape = _kept(kept, analysis.shapes, found, experiment.view)
    return words.answer(shown, experiment.unit, shape) if shown.fit else shown.problem


def _where_length_lives(found: Found, experiment: Experiment, kept: Kept) -> str:
    profile = _kept(kept, analysis.layers.profiles, found, experiment.view.of_all_vectors)
    return words.headline.answer(profile, experiment) if profile else ""


def _length_and_search(found: Found, experiment: Experiment, kept: Kept) -> str:
    similarity = _kept(kept, analysis.search.compare, found, experiment.view)
    return words.similarity.answer(similarity, experiment) if similarity else ""


def _kept(kept: Kept, work: Callable[..., object], found: Found, view: View) -> Any:
    return kept.get(analysis.question(work, found, view=view))


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
