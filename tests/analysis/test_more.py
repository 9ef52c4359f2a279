from dataclasses import replace

import numpy as np
import pytest
from support.measured import measurements

from clsviz.analysis import select, shapes
from clsviz.analysis.view import More, advised, more_than
from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.experiment import Selection, View
from clsviz.jobs import Found
from clsviz.measurements import Measurements
from clsviz.settings import ALL, Pooling
from clsviz.sources.catalogue import Corpus
from clsviz.sources.sampling import Sample
from clsviz.statistics.summary import Census

N = 40
"""Sentences, of 0 to 39 tokens, all of which the model reads whole."""


def found(of: Measurements | None = None, n_sentences: int | None = N, **others: object) -> Found:
    of = measurements(N) if of is None else of
    corpus = Corpus(Selection("x.txt"), "x", "f" * 64, n_sentences, "x.txt")
    return Found(None, Sample(corpus, [f"sentence {i}" for i in range(N)], ""), measurements=of, **others)


@pytest.mark.parametrize(
    ("of", "cutoff", "more", "advice"),
    [
        (found(), 512, More(by_sample=False), "The corpus has no more: choose a larger one."),
        (found(), 40, More(by_sample=False), "The corpus has no more: choose a larger one."),
        (found(), 39, More(by_cutoff=True, by_sample=False), "Raise the length cutoff."),
        (found(n_sentences=N + 1), 40, More(), "Take more."),
        (found(n_sentences=N + 1), 39, More(by_cutoff=True), "Raise the length cutoff, or take more."),
        (found(n_sentences=None), 40, More(), "Take more."),
        (found(n_sentences=None, n_asked=N), 40, More(), "Take more."),
        (found(n_sentences=None, n_asked=N + 1), 40, More(by_sample=False), "The corpus has no more: choose a la"),
        (found(n_sentences=None, n_asked=ALL), 40, More(by_sample=False), "The corpus has no more: choose a larger"),
        (found(measurements(30)), 40, More(by_sample=False, is_to_come=True), "Not all of the sample is measured yet."),
    ],
)
def test_advice_is_what_would_help(of: Found, cutoff: int, more: More, advice: str) -> None:
    assert more_than(of, View(length_cutoff=cutoff)) == more
    assert more.advice.startswith(advice)


def test_a_higher_cutoff_is_no_help_against_what_the_model_does_not_read_whole() -> None:
    of = measurements(N)
    cut = replace(of, truncated=of.n_tokens >= 20)
    assert not more_than(found(cut), View(length_cutoff=20)).by_cutoff
    assert more_than(found(cut), View(length_cutoff=19)).by_cutoff
    longest = replace(of, n_tokens=np.full(N, 512, np.int32))
    assert not more_than(found(longest), View(length_cutoff=512)).by_cutoff  # there is none higher


class Counted:
    """What is counted of a whole corpus, with one sentence of 90 tokens that is not in the sample."""

    n = N + 1

    def vector(self, pooling: Pooling, layer: int | None) -> Census:
        of = measurements(N)
        return Census.of(np.append(of.n_tokens, 90), np.append(of.norms(pooling, layer), 1.0))

    def n_truncated(self, _: int) -> int:
        return 0


def test_of_a_whole_corpus_all_sentences_count() -> None:
    of = found(n_asked=ALL, census=Counted())
    assert more_than(of, View(length_cutoff=80)) == More(by_cutoff=True, by_sample=False)
    assert more_than(of, View(length_cutoff=91)) == More(by_sample=False)
    few = select(of, View(length_cutoff=2))
    assert few.n == 2
    assert few.problem.endswith("at least 3 are needed. Raise the length cutoff.")


def test_where_there_are_too_few_the_view_and_the_sample_decide_what_is_advised() -> None:
    with pytest.raises(UndefinedFitError, match=r"there are 40\. The corpus has no more: choose a larger one\.$"):
        next(shapes(found(), View(length_cutoff=60)))
    with pytest.raises(UndefinedFitError, match=r"there are 3\. Raise the length cutoff, or take more\.$"):
        next(shapes(found(n_sentences=900), View(length_cutoff=3)))
    with pytest.raises(UndefinedFitError, match=r"^All alike\.$"), advised(found(), View()):
        raise UndefinedFitError("All alike.")
    with pytest.raises(UndefinedFitError, match=r"^Two\. The corpus"), advised(found(), View()):
        raise TooFewError("Two.")


def test_only_sentences_of_those_that_are_too_few_are_a_reason_to_raise_the_cutoff() -> None:
    of = found(n_sentences=N)
    assert more_than(of, View(length_cutoff=39), lambda text: text == "sentence 39").by_cutoff
    assert not more_than(of, View(length_cutoff=39), lambda text: text == "sentence 38").by_cutoff
