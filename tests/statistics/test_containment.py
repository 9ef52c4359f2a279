import numpy as np
import pytest

from clsviz.statistics import containment
from clsviz.statistics.containment import Recall


@pytest.mark.parametrize("n_places", [1, 10])
def test_at_equal_competition_recall_is_that_of_drawn_pieces(n_places: int) -> None:
    ranks, random = np.array([1, 2, 5, 40, 280], np.int32), np.random.default_rng(0)
    rivals = np.array([random.choice(299, 199, replace=False) for _ in range(1000)])
    shares = [((rivals < rank - 1).sum(axis=1) < n_places).mean() for rank in ranks]
    assert containment.expected(ranks, 300, 200, n_places) == pytest.approx(shares, abs=0.04)
    assert containment.expected(ranks, 300, 300, n_places).tolist() == list(ranks <= n_places)


def test_three_quarters_are_crossed_between_two_lengths() -> None:
    random, shares = np.random.RandomState(0), np.array([[0.95], [0.8], [0.7], [0.3]])
    hits = (random.random((4, 500)) < shares).astype(float)
    length, (low, high) = containment.crossing(hits, (10, 100, 200, 400), 0.75, 0)
    (_, first, second, _) = hits.mean(axis=1)
    assert length == pytest.approx(100 * 2 ** ((first - 0.75) / (first - second)))
    again = []
    for _ in range(2000):
        recalls = hits[:, random.randint(0, 500, 500)].mean(axis=1)
        n = np.flatnonzero(recalls >= 0.75)[-1]
        again.append(np.exp(np.interp(-0.75, -recalls[n:], np.log((10, 100, 200, 400))[n:])))
    assert (low, high) == pytest.approx(tuple(np.quantile(again, [0.025, 0.975])), rel=0.05)


@pytest.mark.parametrize(("share", "expected"), [(0.9, np.inf), (0.5, 0.0)])
def test_lengths_that_all_keep_or_all_lose_have_no_crossing(share: float, expected: float) -> None:
    hits = (np.arange(400) < 400 * np.array([[share], [share]])).astype(float)
    assert containment.crossing(hits, (10, 20), 0.75, 0) == (expected, (expected, expected))


def test_between_two_lengths_shares_are_on_a_line_in_log_tokens() -> None:
    shares = np.array([[1.0, 1.0], [0.8, 0.6], [0.2, 0.0]])
    for length, expected, used in (
        (20, [0.8, 0.6], 20),
        (40, [0.5, 0.3], 40),
        (5, [1.0, 1.0], 10),
        (900, [0.2, 0.0], 80),
    ):
        there, tokens = containment.between(shares, (10, 20, 80), length)
        assert there == pytest.approx(expected)
        assert tokens == pytest.approx(used)


def test_recall_is_counted_by_place_and_by_third() -> None:
    ranks = np.array([1, 1, 1, 2, 10, 11], np.int32)
    recall = Recall.of(ranks, np.array([1, 1, 3, 3, 5, 5]) / 6, 3, 500, 200, 0)
    assert (recall.recall_at_1, recall.recall_at_10) == (0.5, pytest.approx(5 / 6))
    assert recall.thirds == (1.0, 0.5, 0.0)
    assert Recall.of(ranks, np.full(6, 0.5), 2, 500, 200, 0).thirds is None


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
