import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import ndcg_score

from benchmarks.searches import WORLDS
from clsviz.errors import Undefined
from clsviz.statistics.exposure import SIGNIFICANT, Evaluation, Ranking, states

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


def margin(top_k: np.ndarray, relevant: np.ndarray, families: np.ndarray) -> float:
    """That of the shortest fifth of 400 texts, where each search has one right text."""
    places = {(n, text): 0.1 for n, ten in enumerate(top_k) for text in ten}
    cells = {*places, *enumerate(relevant)}
    table = [(n, families[t], t < 80, places.get((n, t), 0), relevant[n] == t) for n, t in cells]
    search, family, is_short, place, right = np.array(table, float).T

    def variance(cluster: np.ndarray) -> tuple[float, float]:
        logs = []
        for number in np.unique(cluster):
            some = cluster != number
            shares = (x[some & (is_short > 0)].sum() / x[some].sum() for x in (place, right))
            logs.append(np.log(next(shares) / next(shares)))
        squares = (logs - np.mean(logs)) ** 2
        n, total = len(logs), squares.sum()
        degrees = 2 * total**2 / ((squares**2).sum() - total**2 / n)
        return total * (n - 1) / n, min(degrees, n - 2)

    of_searches, of_families, of_both = map(variance, (search, family, 1000 * search + family))
    total = max(of_searches[0], of_families[0], of_searches[0] + of_families[0] - of_both[0])
    return stats.t.ppf(0.975, min(of_searches[1], of_families[1])) * np.sqrt(total)


@pytest.mark.parametrize("size", [1, 2])
def test_an_interval_leaves_out_searches_families_and_both(size: int) -> None:
    families, relevant = np.arange(N) // size, np.random.RandomState(1).permutation(N)[:150]
    top_k = tens_of(favour=1.5)[:150]
    own = [np.array([text]) for text in relevant]
    exposure, low, high = shortest(
        Evaluation.of(own, LENGTHS, 0, families * 7).rank(top_k), "exposure", "low", "high"
    )
    expected = margin(top_k, relevant, families)
    assert np.log([high / exposure, exposure / low]) == pytest.approx(expected)


def test_lengths_are_shuffled_among_families() -> None:
    families = np.r_[np.zeros(40, int), 1 + np.arange(360)]
    evaluation, top_k = Evaluation.of(OWN, LENGTHS, 0, families), tens_of(favour=3.0)
    again, random = [], np.random.RandomState(5)
    for _ in range(2000):
        places = random.permutation(361)
        order = np.argsort(places[families], kind="stable")
        fifth = np.empty(N, int)
        fifth[order] = np.arange(N) // 80
        again.append([(fifth[top_k] == k).mean() / 0.2 for k in range(5)])
    ends = [np.quantile(draws, [0.1, 0.9], axis=0) for draws in (again, evaluation.shuffled(top_k))]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)


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


def test_grades_are_the_gains_of_ndcg() -> None:
    random = np.random.RandomState(1)
    relevant = [np.sort(random.choice(40, n % 15 + 1, replace=False)) for n in range(40)]
    grades = [random.randint(1, 4, len(places)) * 0.5 for places in relevant]
    top_k = np.array([random.choice(40, 10, replace=False) for _ in range(40)])
    gains, scores = np.zeros((2, 40, 40))
    for row, (places, some) in enumerate(zip(relevant, grades, strict=True)):
        gains[row, places] = some
    np.put_along_axis(scores, top_k, np.arange(10, 0, -1)[None], axis=1)
    ranking = Evaluation.of(relevant, LENGTHS[:40], grades=grades).rank(top_k)
    assert ranking.ndcg == pytest.approx(ndcg_score(gains, scores, k=10))


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
    exposure, low, state = shortest(EVALUATION.rank(top_k), "exposure", "low", "state")
    assert exposure > 1.5
    assert low < 1
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
        (0.7, 1.1, "open"),
        (1.05, 1.3, "uneven"),
        (1.05, 2.3, "uneven"),
        (1.3, 3.0, "over_exposed"),
        (0.1, 0.7, "under_exposed"),
        (0.4, 1.1, "undecided"),
        (0.0, np.inf, "undecided"),
    ],
)
def test_an_interval_decides(low: float, high: float, state: str) -> None:
    assert states(low, high) == state
    by_chance = {"uneven": "undecided" if high > 2 else "open", "even": "even", "open": "open"}
    assert states(low, high, is_by_chance=True) == by_chance.get(state, "undecided")


def test_families_and_hubs_are_no_effect_of_length() -> None:
    for name in ("300, 10 families of 15", "300, norms .6"):
        tables = [WORLDS[name].ranking(seed)[1].quintiles for seed in range(16)]
        holds = [(table["low"] <= 1) & (table["high"] >= 1) for table in tables]
        assert np.mean(holds) >= 0.93
        assert sum(table["state"].isin(SIGNIFICANT).any() for table in tables) <= 2


def test_a_half_more_than_its_share_is_seen_in_a_thousand_searches() -> None:
    tables = [WORLDS["1,000, pull 0.26, 1000 searches"].ranking(n)[1].quintiles for n in range(8)]
    states = [table["state"]["shortest"] for table in tables]
    assert states.count("over_exposed") >= 6
    assert set(states) <= {"over_exposed", "uneven"}


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_matches_are_quantiles_of_all_pairs(shift: float) -> None:
    random, n = np.random.default_rng(0), 500
    lengths = random.permutation(n).astype(np.int32)
    texts, queries = (random.normal(size=(n, 30)) for _ in range(2))
    is_short = lengths < 100
    texts[:, 0], queries[:, 0] = is_short * shift * 5, 1.0
    queries[:, 1:] += texts[:, 1:]
    evaluation = Evaluation.of([np.array([text]) for text in range(n)], lengths, 0)
    table = evaluation.matches(queries, texts)
    scores = queries @ texts.T
    right = np.diag(scores)[is_short]
    unrelated = scores[:, is_short][~np.eye(n, dtype=bool)[:, is_short]]
    least, level = np.quantile(unrelated, 0.99), np.quantile(scores[~np.eye(n, dtype=bool)], 0.99)
    assert table[0, :2] == pytest.approx([least, np.median(right)])
    assert table[0, 2:4] == pytest.approx([np.mean(right > least), np.mean(unrelated > level)])
    assert table[0, 4] <= table[0, 3] <= table[0, 5]
    assert (table[:, 4].max() > 0.02) == (shift > 0)
