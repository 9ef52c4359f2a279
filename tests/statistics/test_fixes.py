import numpy as np
import pytest

from clsviz.errors import Undefined
from clsviz.statistics import fixes
from clsviz.statistics.exposure import Evaluation, Ranking
from clsviz.statistics.fixes import Effect, Trial, advise, calibrate, folds_of
from clsviz.statistics.ranking import Qrels

N = 200
LENGTHS = np.arange(5, 5 + N, dtype=np.int32)
EVALUATION = Evaluation.of([np.array([place]) for place in range(N)], LENGTHS)
FOLDS = folds_of(N)


@pytest.fixture(scope="module")
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """Queries and their texts, whose norms fall with length, about a point that is not 0."""
    random = np.random.RandomState(0)
    meanings = random.normal(size=(N, 12)) + 1
    texts = (meanings + 0.5 * random.normal(size=(N, 12))) / LENGTHS[:, None] ** 0.5
    return meanings.astype(np.float32), texts.astype(np.float32)


@pytest.fixture
def trial(vectors) -> Trial:
    return Trial(*vectors, LENGTHS, EVALUATION.qrels, is_cosine=False, length_power=0.5)


def test_calibration_is_that_of_all_scores(vectors) -> None:
    queries, texts = (some.astype(float) for some in vectors)
    scores, logs = queries @ texts.T, np.log(LENGTHS)
    mean = np.polyval(np.polyfit(logs, scores.mean(axis=0), 2), logs)
    distances = np.sqrt(((scores - mean) ** 2).mean(axis=0))
    spread = np.polyval(np.polyfit(logs, distances, 2), logs)
    fitted = calibrate(queries, texts, LENGTHS)
    assert fitted.shift == pytest.approx(mean)
    assert 1 / fitted.scale == pytest.approx(np.maximum(spread, np.percentile(spread, 1)))


@pytest.mark.filterwarnings("error")
def test_calibration_by_two_lengths_warns_of_nothing(vectors) -> None:
    fitted = calibrate(*vectors, np.where(LENGTHS < 50, 3, 9))
    assert len(np.unique(fitted.shift.round(9))) == 2


def test_a_fix_does_not_see_the_searches_that_test_it(trial: Trial, vectors) -> None:
    queries = np.where(FOLDS[:, None] == 0, -3 * vectors[0], vectors[0])
    other = Trial(queries, vectors[1], LENGTHS, trial.qrels, is_cosine=False)
    for name in ("calibrated", "centred"):
        first, second = (some.fit(name, FOLDS == 1) for some in (trial, other))
        assert np.array_equal(first.centre, second.centre)
        assert np.array_equal(first.shift, second.shift)


def test_a_fix_ranks_each_half_by_the_other(trial: Trial, vectors) -> None:
    centred, multiplied = (trial.rank(name, FOLDS) for name in ("centred", "tokens^p"))
    for fold in (0, 1):
        half, centre = fold == FOLDS, vectors[1][fold != FOLDS].mean(axis=0)
        scores = (vectors[0][half] - centre) @ (vectors[1] - centre).T
        assert (centred[half] == np.argsort(-scores, axis=1)[:, :10]).mean() > 0.999
    scores = vectors[0] @ vectors[1].T * LENGTHS**0.5
    assert (multiplied == np.argsort(-scores, axis=1)[:, :10]).mean() > 0.99


def test_too_few_texts_have_no_centre(vectors) -> None:
    everything = Qrels.of([np.arange(N)] * N, N)
    with pytest.raises(Undefined):
        Trial(*vectors, LENGTHS, everything, is_cosine=True).rank("centred", FOLDS)


def ranked(recall: float, is_fair: bool = True, seed: int = 0) -> Ranking:
    """Searches that find their text with this probability, and short texts if it is unfair."""
    top_k = np.random.RandomState(seed).randint(0, N if is_fair else N // 4, (N, 10))
    hits = np.random.RandomState(9).random_sample(N) < recall
    top_k[hits, 0] = np.arange(N)[hits]
    return EVALUATION.rank(top_k)


UNFAIR = ranked(0.8, is_fair=False, seed=1)
ADVICE = {
    "a clear gain": (ranked(0.2), [ranked(0.8, seed=1)], "a"),
    "the largest gain": (ranked(0.2), [ranked(0.5, seed=1), ranked(0.9, seed=2)], "b"),
    "no gain": (ranked(0.5), [ranked(0.5)], None),
    "a loss": (ranked(0.8), [ranked(0.2, seed=1)], None),
    "a gain that is unfair": (ranked(0.2), [UNFAIR], None),
    "fair at a cost": (ranked(0.8, is_fair=False), [ranked(0.3, seed=1)], "a"),
    "unfair at a cost": (ranked(0.8, is_fair=False), [ranked(0.3, is_fair=False, seed=1)], None),
    "fair before a gain": (ranked(0.4, is_fair=False), [UNFAIR, ranked(0.3, seed=2)], "b"),
    "a gain where none is fair": (ranked(0.2, is_fair=False), [UNFAIR], "a"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_the_fix_that_answers_the_question_is_advised(name: str) -> None:
    own, fixed, expected = ADVICE[name]
    effects = [
        Effect.of(fix, own, ranking, 0, len(fixed))
        for fix, ranking in zip("ab", fixed, strict=False)
    ]
    advice = advise(effects)
    assert (advice.fix if advice else None) == expected
    for effect, ranking in zip(effects, fixed, strict=True):
        assert (effect.before, effect.after) == (own.recall, ranking.recall)
        assert effect.interval[0] < effect.gain < effect.interval[1]


def test_an_interval_is_as_wide_as_the_number_of_fixes_asks_for() -> None:
    own, fixed = ranked(0.5), ranked(0.6, seed=1)
    narrow, wide = (Effect.of("a", own, fixed, 0, n).interval for n in (1, 4))
    sd = (fixed.recalls - own.recalls).std() / N**0.5
    assert np.ptp(narrow) == pytest.approx(2 * 1.96 * sd, rel=0.08)
    assert np.ptp(wide) == pytest.approx(2 * 2.498 * sd, rel=0.08)


def test_the_formula_to_copy_is_the_fix(trial: Trial) -> None:
    fitted, scores = trial.fit("calibrated", np.ones(N, bool)), trial.queries @ trial.texts.T
    names = {"np": np, "scores": scores, "n": np.maximum(trial.lengths, 1), **fitted.coefficients}
    copied = eval(fixes.FORMULAS["calibrated"], names)
    np.testing.assert_allclose(copied, (scores - fitted.shift) * fitted.scale, rtol=1e-6)
