import numpy as np
import pytest
from scipy import stats

from clsviz.errors import Undefined
from clsviz.statistics.exposure import Evaluation, Ranking, states

N = 400
LENGTHS = np.arange(10, 10 + N, dtype=np.int32)
OWN = [np.array([place]) for place in range(N)]
EVALUATION = Evaluation.of(OWN, LENGTHS)


def tens_of(favour: float, seed: int = 0) -> np.ndarray:
    """What 400 searches find, each for a text of its own; the shortest fifth is favoured."""
    random = np.random.RandomState(seed)
    weights = np.where(np.arange(N) < N // 5, favour, 1.0)
    weights /= weights.sum()
    return np.array([random.choice(N, 10, replace=False, p=weights) for _ in range(N)])


def shortest(ranking: Ranking, *names: str) -> list:
    return ranking.quintiles.loc["shortest", list(names)].tolist()


def test_exposure_is_the_share_of_places_over_the_share_of_what_is_right() -> None:
    top_k = tens_of(favour=3.0)
    ranking = EVALUATION.rank(top_k)
    expected = [((top_k // 80) == place).mean() / 0.2 for place in range(5)]
    assert ranking.exposure == pytest.approx(expected)
    assert shortest(ranking, "from_tokens", "to_tokens", "state") == [10, 89, "over_exposed"]


def test_an_interval_is_that_of_searches_drawn_again() -> None:
    top_k = tens_of(favour=1.5)
    shares, random = (top_k < 80).mean(axis=1), np.random.RandomState(5)
    again = []
    for _ in range(4000):
        rows = random.randint(0, N, N)
        again.append(shares[rows].mean() / (rows < 80).mean())
    expected = np.quantile(again, [0.025, 0.975])
    assert EVALUATION.rank(top_k).intervals[0] == pytest.approx(expected, rel=0.03)


def test_a_fifth_that_no_search_finds_may_be_found_by_others() -> None:
    ranking = EVALUATION.rank(80 + tens_of(favour=1.0) % 320)
    most = stats.binomtest(0, N).proportion_ci(method="wilson").high / 0.2
    assert ranking.intervals[0] == pytest.approx((0, most))
    assert shortest(ranking, "exposure", "state") == [0, "under_exposed"]


def test_fifths_of_few_right_texts_have_no_interval() -> None:
    relevant = [np.array([place if place < 19 else 80 + place % 320]) for place in range(N)]
    ranking = Evaluation.of(relevant, LENGTHS).rank(tens_of(favour=1.0))
    assert [interval is None for interval in ranking.intervals] == [True, *[False] * 4]
    assert shortest(ranking, "state") == ["undecided"]


def test_equal_lengths_share_a_fifth() -> None:
    lengths = np.array([*[5] * 3, *range(6, 30)], np.int32)
    assert len(set(Evaluation.of(OWN[:27], lengths).quintiles[:3])) == 1


@pytest.mark.parametrize("lengths", [[7] * 100, [*[7] * 60, *range(40)], range(10)])
def test_lengths_without_five_fifths_are_undefined(lengths) -> None:
    with pytest.raises(Undefined):
        Evaluation.of(OWN[: len(lengths)], np.array(lengths, np.int32))


def test_a_few_texts_found_by_every_search_do_not_stand_out() -> None:
    top_k = tens_of(favour=1.0)
    top_k[:, :2] = [1, 2]
    low, state = shortest(EVALUATION.rank(top_k), "low", "state")
    assert low > 1.25
    assert state == "undecided"


@pytest.mark.parametrize(("favour", "is_beyond"), [(3.0, False), (1.0, True), (1.8, True)])
def test_a_fifth_stands_out_beyond_words_where_the_difference_is_clear(favour, is_beyond) -> None:
    words = EVALUATION.rank(tens_of(favour, seed=7))
    ranking = EVALUATION.rank(tens_of(favour=3.0), words)
    assert shortest(ranking, "is_beyond_words") == [is_beyond]


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.9, 1.1, "even"),
        (1.05, 1.2, "even"),
        (0.7, 1.1, "even"),
        (1.05, 1.3, "uneven"),
        (1.3, 3.0, "over_exposed"),
        (0.1, 0.7, "under_exposed"),
        (0.4, 1.1, "undecided"),
        (0.0, np.inf, "undecided"),
    ],
)
def test_an_interval_decides(low: float, high: float, state: str) -> None:
    assert states(low, high) == state
