import numpy as np
import pytest

from clsviz.statistics import containment
from clsviz.statistics.containment import Recall


def test_at_equal_competition_recall_is_that_of_drawn_pieces() -> None:
    ranks, random = np.array([1, 2, 5, 40, 280], np.int32), np.random.default_rng(0)
    firsts = [
        [not (random.choice(299, 199, replace=False) < rank - 1).any() for _ in range(1000)]
        for rank in ranks
    ]
    assert containment.expected_first(ranks, 300) == pytest.approx(np.mean(firsts), abs=0.01)


@pytest.mark.parametrize(("n_chunks", "expected"), [(199, None), (200, 0.5)])
def test_fewer_pieces_have_no_equal_competition(n_chunks: int, expected: float | None) -> None:
    ranks, positions = np.array([1, 2], np.int32), np.array([0.1, 0.9])
    assert Recall.of(ranks, positions, 3, n_chunks, 0).recall_at_1_of_200 == expected


def test_recall_is_counted_by_place_and_by_third() -> None:
    ranks = np.array([1, 1, 1, 2, 10, 11], np.int32)
    recall = Recall.of(ranks, np.array([1, 1, 3, 3, 5, 5]) / 6, 3, 500, 0)
    assert (recall.recall_at_1, recall.recall_at_10) == (0.5, pytest.approx(5 / 6))
    assert recall.thirds == (1.0, 0.5, 0.0)
    assert Recall.of(ranks, np.full(6, 0.5), 2, 500, 0).thirds is None


def test_the_interval_of_a_mean_is_that_of_its_standard_error() -> None:
    values = np.random.RandomState(0).random(400) < 0.3
    low, high = containment.interval_of_mean(values, 0)
    assert (high - low) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.1)
    wide = containment.interval_of_mean(values, 0, n_tested=5)
    assert (wide[1] - wide[0]) / (high - low) == pytest.approx(2.576 / 1.96, rel=0.1)


def test_the_interval_of_a_share_near_one_holds_it() -> None:
    samples = np.random.RandomState(0).random_sample((60, 100)) < 0.99  # every third is all hits
    intervals = [containment.interval_of_mean(sample, 0, least=0) for sample in samples]
    assert sum(low <= 0.99 <= high for low, high in intervals) >= 55


@pytest.mark.parametrize(("slope", "is_sure"), [(0.0, False), (-0.4, True), (0.4, True)])
def test_an_effect_of_the_position_is_that_between_thirds(slope: float, is_sure: bool) -> None:
    random = np.random.RandomState(3)
    positions = random.random((2, 2000)).astype(np.float32)
    ranks = 1 + (random.random((2, 2000)) > 0.5 + slope * (positions - 0.5)).astype(np.int32)
    effect, (low, high) = containment.position_effect(ranks, positions, (3, 5), 0)
    assert effect == pytest.approx(slope * 2 / 3, abs=0.04)  # of thirds around 1/6 and 5/6
    assert (low > 0 or high < 0) == is_sure


@pytest.mark.parametrize(("size", "n_late"), [(2, 50), (3, 19)])
def test_small_pieces_and_few_searches_tell_nothing_of_the_position(size: int, n_late: int) -> None:
    positions = np.where(np.arange(100) < n_late, 0.9, 0.1)[None]
    ranks = np.where(positions > 0.5, 9, 1)
    assert np.isnan(containment.position_effect(ranks, positions, (size,), 0)[0])
