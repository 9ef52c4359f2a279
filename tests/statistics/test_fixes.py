import numpy as np
import pytest

from clsviz.errors import Undefined
from clsviz.statistics import fixes
from clsviz.statistics.exposure import Outcome, fifths_of
from clsviz.statistics.fixes import Trial, advise, calibrate, folds_of
from clsviz.statistics.ranking import Relevance, rank

N = 200
LENGTHS = np.arange(5, 5 + N, dtype=np.int32)
FIFTHS = fifths_of(LENGTHS)


@pytest.fixture(scope="module")
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """Queries and their texts, whose norms fall with length, about a point that is not 0."""
    random = np.random.RandomState(0)
    meanings = random.normal(size=(N, 12)) + 1
    texts = (meanings + 0.5 * random.normal(size=(N, 12))) / LENGTHS[:, None] ** 0.5
    return meanings.astype(np.float32), texts.astype(np.float32)


@pytest.fixture
def trial(vectors) -> Trial:
    own = Relevance.of([np.array([place]) for place in range(N)], N)
    return Trial(*vectors, LENGTHS, own, is_cosine=False, length_power=0.5)


def test_calibration_is_that_of_all_scores(vectors) -> None:
    queries, texts = (some.astype(float) for some in vectors)
    scores, logs = queries @ texts.T, np.log(LENGTHS)
    mean = np.polyval(np.polyfit(logs, scores.mean(axis=0), 2), logs)
    distances = np.sqrt(((scores - mean) ** 2).mean(axis=0))
    spread = np.polyval(np.polyfit(logs, distances, 2), logs)
    fitted = calibrate(queries, texts, LENGTHS)
    assert fitted.shift == pytest.approx(mean)
    assert 1 / fitted.scale == pytest.approx(np.maximum(spread, np.percentile(spread, 1)))


def test_a_fix_does_not_see_the_searches_that_test_it(trial: Trial, vectors) -> None:
    folds = folds_of(N)
    queries = vectors[0].copy()
    queries[folds == 0] *= -3
    other = Trial(queries, *vectors[1:], LENGTHS, trial.relevance, is_cosine=False)
    for name in ("calibrated", "centred"):
        is_fitting = folds == 1
        first, second = (some.fit(name, is_fitting) for some in (trial, other))
        assert np.array_equal(first.centre, second.centre)
        assert np.array_equal(first.shift, second.shift) or name == "centred"


def test_a_fix_ranks_each_half_by_the_other(trial: Trial, vectors) -> None:
    folds = folds_of(N)
    tens = trial.rank("centred", folds)
    for fold in (0, 1):
        centre = vectors[1][folds != fold].mean(axis=0)
        scores = (vectors[0][folds == fold] - centre) @ (vectors[1] - centre).T
        assert (tens[folds == fold] == np.argsort(-scores, axis=1)[:, :10]).mean() > 0.999


def test_a_power_multiplies_scores(trial: Trial, vectors) -> None:
    scores = vectors[0] @ vectors[1].T * LENGTHS**0.5
    assert (
        trial.rank("tokens^p", folds_of(N)) == np.argsort(-scores, axis=1)[:, :10]
    ).mean() > 0.99


def test_too_few_texts_have_no_centre(vectors) -> None:
    everything = Relevance.of([np.arange(N)] * N, N)
    with pytest.raises(Undefined):
        Trial(*vectors, LENGTHS, everything, is_cosine=True).rank("centred", folds_of(N))


def outcome(recall: float, is_fair: bool = True, seed: int = 0) -> Outcome:
    """Searches that find their text with this probability, and short texts if it is unfair."""
    random = np.random.RandomState(seed)
    longest = N if is_fair else N // 4
    tens = random.randint(0, longest, (N, 10))
    hits = np.random.RandomState(9).random_sample(N) < recall
    tens[hits, 0] = np.arange(N)[hits]
    relevance = Relevance.of([np.array([place]) for place in range(N)], N)
    return Outcome.of(tens, relevance, FIFTHS)


ADVICE = {
    "a clear gain": (outcome(0.2), {"a": outcome(0.8, seed=1)}, False, ("a", False)),
    "the largest gain": (
        outcome(0.2),
        {"a": outcome(0.5, seed=1), "b": outcome(0.9, seed=2)},
        False,
        ("b", False),
    ),
    "no gain": (outcome(0.5), {"a": outcome(0.5)}, False, None),
    "a loss": (outcome(0.8), {"a": outcome(0.2, seed=1)}, False, None),
    "fair at a cost": (outcome(0.8, is_fair=False), {"a": outcome(0.3, seed=1)}, True, ("a", True)),
    "unfair at a cost": (
        outcome(0.8, is_fair=False),
        {"a": outcome(0.3, is_fair=False, seed=1)},
        True,
        None,
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_the_fix_that_helps_is_advised(name: str) -> None:
    own, fixed, bends, expected = ADVICE[name]
    advice = advise(own, fixed, folds_of(N), bends)
    assert (None if advice is None else (advice.fix, advice.is_at_a_cost)) == expected


def test_the_gain_is_that_of_the_half_that_did_not_choose() -> None:
    own, fixed, folds = outcome(0.2), outcome(0.8, seed=1), folds_of(N)
    advice = advise(own, {"a": fixed}, folds, bends=False)
    assert (advice.before, advice.after) == (
        own.recall[folds == 1].mean(),
        fixed.recall[folds == 1].mean(),
    )
    assert advice.interval[0] < advice.after - advice.before < advice.interval[1]


def test_formulas_name_every_coefficient(trial: Trial) -> None:
    everything = np.ones(N, bool)
    for name in trial.names:
        for coefficient in trial.fit(name, everything).coefficients:
            assert coefficient in fixes.FORMULAS[name]


def test_unfixed_dot_products_favour_the_short(vectors) -> None:
    relevance = Relevance.of([np.array([place]) for place in range(N)], N)
    exposure = Outcome.of(rank(*vectors), relevance, FIFTHS).exposure
    assert exposure[0] > 2 > exposure[4]
