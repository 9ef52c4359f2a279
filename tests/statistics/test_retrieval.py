"""How far neighbours and cosines follow the length, against a look at each pair; shared words."""

import itertools

import numpy as np
import pytest
from scipy import stats
from support.searched import N, lengths, with_length

from clsviz.errors import UndefinedFitError
from clsviz.statistics.similarity import (
    Chance,
    LengthBias,
    chance,
    check_lengths,
    directions_of,
    first_of_each,
    length_bias,
    length_groups,
    random_apart,
    share_kept,
    tf_idf,
)


def bias_of(vectors: np.ndarray) -> tuple[LengthBias, Chance]:
    directions = directions_of(vectors)
    bias = length_bias(directions, lengths(len(vectors)))
    return bias, chance(directions, lengths(len(vectors)), bias.neighbours)


def test_a_direction_of_the_length_bends_both() -> None:
    bias, control = bias_of(with_length(2))
    assert bias.length_share > 0.3 > 10 * control.length_share_limit
    assert bias.neighbour_correlation > 0.8
    assert abs(control.neighbour_correlation) < 0.02 < control.neighbour_correlation_limit < 0.15
    assert bias.lengths_apart < 0.6 * random_apart(lengths())
    cells = bias.cosine_by_length
    assert cells[0, 0] > 0.5 > 0 > cells[0, 9]
    assert np.ptp(control.cosine_by_length) < 0.1 * np.ptp(cells)
    assert control.cosine_by_length.shape == (10, 10)


def test_the_correlation_is_spearmans_of_the_mean_length_of_the_ten() -> None:
    bias, _ = bias_of(with_length(0.5))
    means = [lengths()[near].mean() for near in bias.neighbours]
    assert bias.neighbour_correlation == pytest.approx(stats.spearmanr(lengths(), means).statistic)
    apart = np.mean(
        [np.abs(lengths()[near] - own).mean() for own, near in zip(lengths(), bias.neighbours, strict=True)]
    )
    assert bias.lengths_apart == pytest.approx(apart)
    groups, _ = length_groups(lengths())
    times = np.array([np.sum(bias.neighbours == place) for place in range(N)])
    np.testing.assert_allclose(bias.times_found, [times[groups == group].mean() for group in range(10)])


def test_groups_are_tenths_by_length() -> None:
    groups, ranges = length_groups(lengths())
    assert np.bincount(groups).tolist() == [60] * 10
    assert ranges[0][0] == lengths().min()
    assert ranges[-1][1] == lengths().max()
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ranges))
    assert np.corrcoef(groups, lengths())[0, 1] > 0.99


def test_the_difference_of_random_lengths_is_that_of_all_pairs() -> None:
    apart = np.abs(lengths()[:, None] - lengths()[None])
    assert random_apart(lengths()) == pytest.approx(apart.sum() / (N * (N - 1)))


def test_what_is_kept_is_a_share_of_the_ten() -> None:
    before = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    assert share_kept(before, np.array([[4, 3, 9, 10], [5, 6, 7, 8]])) == 0.75


def test_the_first_of_equal_sentences_stays() -> None:
    assert first_of_each(["A cat.", "a  cat.", "Dogs", "á cat."]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("of", "why"), [(np.arange(99), "At least 100"), (np.full(200, 7), "the same length"), (np.arange(0), "only 0")]
)
def test_what_cannot_be_said_is_explained(of: np.ndarray, why: str) -> None:
    with pytest.raises(UndefinedFitError, match=why):
        check_lengths(of)


def test_weights_are_those_of_the_formula() -> None:
    """Term frequency times 1 + ln((1 + n) / (1 + df)), divided by the norm."""
    weights = tf_idf(["a cat sat", "A cat, a cat", "dogs ran"]).toarray()
    rare, common = 1 + np.log(4 / 2), 1 + np.log(4 / 3)
    first = np.array([common, common, rare])
    second = np.array([2 * common, 2 * common])
    cosine = (first[:2] @ second) / (np.linalg.norm(first) * np.linalg.norm(second))
    assert weights[0] @ weights[1] == pytest.approx(cosine)
    assert weights[0] @ weights[2] == 0
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1)


def test_without_words_there_is_no_baseline() -> None:
    with pytest.raises(UndefinedFitError, match="no words"):
        tf_idf(["?!", "…"])
