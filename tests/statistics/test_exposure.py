"""Exposure, recall and nDCG of searches whose truth is known, and against another library."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from clsviz.errors import UndefinedFitError
from clsviz.settings import Fix
from clsviz.statistics.exposure import Outcome, Ranking, Relevance, fifths_of, ranking, resample
from clsviz.statistics.ranking import calibrate, fit_vectors, rank, rank_by_words, times_power
from clsviz.statistics.ridge import unit

N, WIDTH = 1000, 64
RNG = np.random.default_rng(0)
LENGTHS = RNG.permutation(np.arange(10, 10 + N)).astype(np.int32)
FIFTHS = fifths_of(LENGTHS)
OWN = Relevance.of([[place] for place in range(N)], N)  # query i is right for text i
TEXTS = unit(RNG.standard_normal((N, WIDTH)))


def searched(queries: np.ndarray, texts: np.ndarray, relevance: Relevance = OWN, **fix: np.ndarray) -> Ranking:
    outcome = Outcome.of(rank(queries, texts, **fix), relevance, FIFTHS)
    return ranking(outcome, relevance, LENGTHS, FIFTHS, resample(relevance.n_searches))


def test_a_perfect_search_is_fair() -> None:
    """Ten texts are right for each search, and those are found."""
    groups = [list(range(start, start + 10)) for start in range(0, N, 10)]
    centres = np.repeat(TEXTS[: N // 10], 10, axis=0)
    found = searched(TEXTS[: N // 10], centres, Relevance.of(groups, N))
    assert found.recall_at_10 == found.ndcg_at_10 == 1
    assert found.exposure == pytest.approx([1] * 5, abs=1e-12)
    assert all(fifth.is_fair and fifth.recall_at_10 == 1 for fifth in found.fifths)


def test_random_vectors_find_as_many_as_chance() -> None:
    found = searched(RNG.standard_normal((N, WIDTH)), TEXTS)
    low, high = found.recall_interval
    assert low < 10 / N < high
    assert not any(fifth.stands_out for fifth in found.fifths)


def test_norms_that_fall_with_length_favour_the_short_by_dot_product_alone() -> None:
    queries = unit(TEXTS + 0.14 * RNG.standard_normal((N, WIDTH)))
    common = np.ones(WIDTH) / np.sqrt(WIDTH)  # without it, half of all products would be negative
    by_cosine = searched(queries + common, unit(TEXTS + common))
    by_dot = searched(queries + common, unit(TEXTS + common) / LENGTHS[:, None])
    assert by_cosine.recall_at_10 > 0.7 > by_dot.recall_at_10
    assert not any(fifth.stands_out for fifth in by_cosine.fifths)
    assert [fifth.stands_out for fifth in by_dot.fifths] == [1, *[-1] * 4]
    assert by_dot.exposure[0] == pytest.approx(5, rel=0.02)  # all places
    repaired = searched(
        queries + common, unit(TEXTS + common) / LENGTHS[:, None], scale=times_power(Fix.TOKENS_POWER, 1, LENGTHS).scale
    )
    assert repaired.recall_at_10 == pytest.approx(by_cosine.recall_at_10, abs=1e-3)


def test_hubs_take_the_places_of_others() -> None:
    """A few texts of the longest fifth are near everything."""
    hubs = np.flatnonzero(FIFTHS == 4)[:5]
    queries = unit(TEXTS + 0.14 * RNG.standard_normal((N, WIDTH)))
    texts = TEXTS.copy()
    texts[hubs] = unit(queries.mean(axis=0, keepdims=True)) * 10
    found = searched(queries, texts)
    in_longest = Outcome.of(rank(queries, texts), OWN, FIFTHS).places[:, 4].mean()
    assert found.exposure[4] == pytest.approx(in_longest / 0.2)
    assert found.fifths[4].stands_out == 1


def test_recall_and_ndcg_are_those_of_other_definitions() -> None:
    """With one to twelve right texts; gains against scikit-learn."""
    right = [RNG.choice(N, size=n, replace=False).tolist() for n in RNG.integers(1, 13, size=60)]
    scores = np.stack([RNG.standard_normal(N) + 3 * np.isin(np.arange(N), of) for of in right])
    found = np.argsort(-scores, axis=1)[:, :10]
    relevance = Relevance.of(right, N)
    outcome = Outcome.of(found, relevance, FIFTHS)
    truth = np.stack([np.isin(np.arange(N), of) for of in right]).astype(float)
    assert outcome.ndcg.mean() == pytest.approx(ndcg_score(truth, scores, k=10))
    by_hand = [len({*of} & {*ten}) / min(10, len(of)) for of, ten in zip(right, found.tolist(), strict=True)]
    assert outcome.recall == pytest.approx(by_hand)
    assert outcome.gained.sum(axis=1) == pytest.approx(outcome.ndcg)  # the fifths' parts make up the whole
    shares = [np.bincount(FIFTHS[of], minlength=5) / len(of) for of in right]
    assert outcome.right == pytest.approx(np.stack(shares))


def test_intervals_hold_as_often_as_they_say() -> None:
    """Of 60 samples of searches, the interval of nearly 95% holds the exposure of all searches."""
    queries = TEXTS + 0.2 * RNG.standard_normal((N, WIDTH))
    found = rank(queries, TEXTS * LENGTHS[:, None] ** 0.3)
    whole = Outcome.of(found, OWN, FIFTHS)
    holds = []
    for seed in range(60):
        some = np.sort(np.random.default_rng(seed).choice(N, size=250, replace=False))
        few = Relevance.of([[place] for place in some], N)
        of = ranking(Outcome.of(found[some], few, FIFTHS), few, LENGTHS, FIFTHS, resample(250))
        low, high = of.fifths[0].exposure_interval or (np.nan, np.nan)
        holds.append(low <= whole.exposure[0] <= high)
    assert np.mean(holds) > 0.9


def test_few_right_texts_have_no_interval() -> None:
    some = [*np.flatnonzero(FIFTHS == 0)[:19], *np.flatnonzero(FIFTHS > 1)]
    relevance = Relevance.of([[place] for place in some], N)
    found = searched(TEXTS[some], TEXTS, relevance)
    assert [fifth.exposure_interval is None for fifth in found.fifths] == [True, True, False, False, False]
    assert found.fifths[1].exposure is None
    assert found.fifths[0].is_undecided


def test_texts_of_one_length_have_no_fifths() -> None:
    with pytest.raises(UndefinedFitError, match="same length"):
        fifths_of(np.full(100, 7, np.int32))


def test_bm25_is_its_formula() -> None:
    """Against the sum written out for each word: k1 1.2, b 0.75, IDF ln(1 + (N − n + ½) / (n + ½))."""
    words = ["ab", "cd", "ef", "gh", "ij"]
    texts = [" ".join(RNG.choice(words, size=n, p=[0.4, 0.3, 0.15, 0.1, 0.05])) for n in RNG.integers(1, 30, 40)]
    split = [text.split() for text in texts]
    mean = np.mean([*map(len, split)])

    def score(query: str, text: list[str]) -> float:
        total = 0.0
        for word in query.lower().split():
            n, tf = sum(word in other for other in split), text.count(word)
            idf = np.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(text) / mean))
        return total

    found = rank_by_words(["EF gh", "ab ij"], texts)
    for query, ten in zip(["EF gh", "ab ij"], found, strict=True):
        scores = np.array([score(query, text) for text in split])
        assert scores[ten] == pytest.approx(np.sort(scores)[::-1][:10], rel=1e-5)


def test_calibration_takes_away_what_length_gives() -> None:
    """Scores that rise with log length for every query are repaired by what other queries show."""
    logs = np.log(LENGTHS)
    raised = np.hstack([TEXTS, (0.2 * logs)[:, None]])
    queries = np.hstack([TEXTS + 0.15 * RNG.standard_normal((N, WIDTH)), np.ones((N, 1))])
    before = searched(queries, raised)
    fix = calibrate(queries[::2], raised, LENGTHS)
    after = searched(queries, raised, shift=fix.shift, scale=fix.scale)
    assert before.fifths[4].stands_out == 1
    assert after.recall_at_10 > before.recall_at_10
    assert not any(fifth.stands_out for fifth in after.fifths)
    c = fix.coefficients
    assert fix.shift == pytest.approx(c["m0"] + c["m1"] * logs + c["m2"] * logs**2)
    scores = queries[::2] @ raised.T
    assert fix.shift == pytest.approx(np.polyval(np.polyfit(logs, scores.mean(axis=0), 2), logs))
    spread = np.sqrt(((scores - fix.shift) ** 2).mean(axis=0))
    fitted = np.polyval(np.polyfit(logs, spread, 2), logs)
    assert 1 / fix.scale == pytest.approx(np.maximum(fitted, np.percentile(fitted, 1)))


def test_whitening_takes_ten_texts_a_dimension() -> None:
    with pytest.raises(UndefinedFitError, match="at least 640 texts"):
        fit_vectors(Fix.WHITENED, TEXTS[:639], LENGTHS[:639])
    white = fit_vectors(Fix.WHITENED, TEXTS, LENGTHS).apply(TEXTS)
    assert np.cov(white.T) == pytest.approx(np.eye(WIDTH), abs=1e-6)
