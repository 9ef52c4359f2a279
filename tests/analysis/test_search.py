import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import cosine_similarity
from support.searched import WIDTH, N, found_of, lengths, noise, random_words, with_length

from clsviz import analysis
from clsviz.analysis.search import Similarity
from clsviz.errors import SettingError, UndefinedFitError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Vectors
from clsviz.settings import Pooling
from clsviz.sources.models import Weights
from clsviz.statistics.erasure import Remedy

VIEW = View(length_cutoff=80)


@pytest.fixture(scope="module")
def found(tiny_weights: Weights) -> Found:
    return found_of(tiny_weights, with_length(1.5), mean=noise(seed=5))


@pytest.fixture(scope="module")
def steps(found: Found) -> list[Similarity]:
    return list(analysis.search.compare(found, VIEW))


def test_the_steps_end_with_remedies_and_other_poolings(found: Found, steps: list[Similarity]) -> None:
    *before, complete = steps
    assert len(steps) == analysis.search.n_steps(found, VIEW) == 7
    assert before[0].remedies == before[0].poolings == ()
    as_it_is, centred, _, erased = complete.remedies
    assert [way.remedy for way in complete.remedies] == [None, *Remedy]
    assert as_it_is.neighbour_correlation == complete.bias.neighbour_correlation > 0.7
    assert as_it_is.held_out == pytest.approx(as_it_is.neighbour_correlation, abs=0.06)
    assert as_it_is.kept is None
    assert erased.held_out < 0.2
    assert erased.neighbour_correlation < 0.2
    assert 0 < erased.kept < centred.kept <= 1
    (mean,) = complete.poolings  # these vectors have no pooler
    assert mean.pooling is Pooling.MEAN
    assert abs(mean.neighbour_correlation) < 0.2
    assert mean.kept == pytest.approx(10 / N, abs=0.02)  # by chance
    assert complete.by_words is not None


def test_a_remedy_is_judged_by_those_it_was_not_fitted_to(found: Found, steps: list[Similarity]) -> None:
    """LEACE written out, fitted to four fifths and searched by the fifth, five times."""
    kept = found.vectors.of(Pooling.CLS, None).astype(float)
    pairs = []
    for fifth in np.split(np.arange(N), 5):
        rest = np.setdiff1d(np.arange(N), fifth)
        centre, z = kept[rest].mean(axis=0), lengths()[rest] - lengths()[rest].mean()
        across = (kept[rest] - centre).T @ z
        weights = np.linalg.solve((kept[rest] - centre).T @ (kept[rest] - centre), across)
        mended = kept - np.outer((kept - centre) @ weights, across) / (weights @ across)
        nearest = np.argsort(-cosine_similarity(mended[fifth], mended[rest]), axis=1)[:, :10]
        pairs += zip(lengths()[fifth], lengths()[rest][nearest].mean(axis=1), strict=True)
    own, of_nearest = zip(*pairs, strict=True)
    assert steps[-1].remedies[-1].held_out == pytest.approx(stats.spearmanr(own, of_nearest).statistic, abs=1e-3)


def test_equal_sentences_and_long_ones_are_left_out(tiny_weights: Weights) -> None:
    sentences = random_words()
    one, other = np.flatnonzero(lengths() < 40)[:2]
    sentences[other] = f"  {sentences[one].upper()} "
    found = found_of(tiny_weights, with_length(1), sentences)
    first = next(analysis.search.compare(found, View(length_cutoff=40)))
    assert first.n_equal == 1
    assert one in first.index
    assert other not in first.index
    assert first.lengths.max() < 40
    np.testing.assert_array_equal(first.lengths, lengths()[first.index])


def test_what_cannot_be_compared_says_why(tiny_weights: Weights) -> None:
    found = found_of(tiny_weights, with_length(1), ["?" * (n + 1) for n in range(N)])
    _, second = itertools.islice(analysis.search.compare(found, VIEW), 2)
    assert second.by_words is None
    assert "no words" in second.by_words_problem
    few = found_of(tiny_weights, with_length(1, 120)[:, :24], None)
    with pytest.raises(UndefinedFitError, match="At least 100"):
        next(analysis.search.compare(few, View(length_cutoff=20)))
    with pytest.raises(SettingError, match="no pooler"):
        next(analysis.search.compare(found, View(pooling=Pooling.POOLER)))
    with pytest.raises(SettingError, match="layers 0 to 1"):
        next(analysis.search.compare(found, View(layer=2)))


class Summing:
    """A model whose vector of a text is the sum of those of its sentences: then every cosine has a formula."""

    def __init__(self, found: Found, most_tokens: int) -> None:
        self.of = dict(zip(found.sentences, found.vectors.of(Pooling.CLS, None), strict=True))
        self.most_tokens = most_tokens
        self.asked: list[int] = []

    def __call__(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(len(texts))
        vectors = np.array([self.vector(text) for text in texts], np.float32)
        n_tokens = np.array([len(text.split()) for text in texts], np.int32)
        return Vectors.pack(n_tokens, n_tokens > self.most_tokens, np.tile(vectors, (3, 2, 1, 1)))

    def vector(self, text: str) -> np.ndarray:
        total = np.zeros(WIDTH)
        while text:
            sentence = max((s for s in self.of if text.startswith(s)), key=len)
            total, text = total + self.of[sentence], text[len(sentence) + 1 :]
        return total


def test_joined_sentences_are_compared_with_their_own_and_with_others(tiny_weights: Weights) -> None:
    found = found_of(tiny_weights, noise())
    model = Summing(found, most_tokens=300)
    *_, rows = analysis.search.join(found, VIEW, model)
    assert [row.n_sentences for row in rows] == [1, 2, 4, 8]
    of_eight = lengths().reshape(75, 8).sum(axis=1)
    assert {row.n for row in rows} == {np.count_nonzero(of_eight <= 300)}
    assert 10 < rows[0].n < 75
    assert model.asked == [75, 75, 75]
    assert rows[0].to_own == pytest.approx(1)
    for row in rows:
        assert row.to_own == pytest.approx(row.n_sentences**-0.5, abs=0.05)  # directions at right angles
        assert abs(row.to_text) < 0.02
        assert row.length == pytest.approx(row.n_sentences * lengths().mean(), rel=0.2)
    assert rows[-1].words_to_text > 2 * rows[0].words_to_text > 0


def test_texts_that_no_model_reads_whole_are_left_out(tiny_weights: Weights) -> None:
    found = found_of(tiny_weights, noise())
    *_, rows = analysis.search.join(found, VIEW, Summing(found, most_tokens=120))
    assert [row.n_sentences for row in rows] == [1, 2, 4]
    with pytest.raises(UndefinedFitError, match=r"10 pairs that the model can read whole\. Lower the length cutoff"):
        next(analysis.search.join(found, VIEW, Summing(found, most_tokens=2)))


def test_too_few_sentences_to_join_are_explained(tiny_weights: Weights) -> None:
    found = found_of(tiny_weights, noise(79))
    with pytest.raises(UndefinedFitError, match=r"at least 80 different sentences\. The corpus has no more"):
        next(analysis.search.join(found, VIEW, lambda texts: Vectors.none()))
