import numpy as np
import pytest
import threadpoolctl
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsviz.errors import Undefined
from clsviz.statistics import ridge
from clsviz.statistics.intervals import folds


def draw(n, width, seed=0, noise=2.0):
    """Vectors of unlike scales, and lengths that follow them."""
    random = np.random.default_rng(seed)
    x = 3 + random.normal(0, 1, (n, width)) * np.logspace(-3, 2, width)
    y = 30 + 5 * ((x - 3) / np.logspace(-3, 2, width))[:, :10].sum(axis=1)
    return x, y + random.normal(0, noise, n)


@pytest.mark.parametrize(("n", "width"), [(300, 20), (110, 80)])
def test_predictions_are_those_of_scikit_learns_nested_search(n, width):
    x, y = draw(n, width)
    clusters = np.arange(n) // 2
    fold_of = folds(clusters)
    expected = np.empty(n)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge__alpha": ridge.PENALTIES[:-1]},
        scoring=lambda model, x, y: -((model.predict(x) - y) ** 2).sum(),
        cv=LeaveOneGroupOut(),
    )
    with threadpoolctl.threadpool_limits(1):
        for fold in range(5):
            train = fold_of != fold
            search.fit(x[train], y[train], groups=fold_of[train])
            expected[~train] = search.predict(x[~train])
    other = np.random.default_rng(1).permutation(y)
    predictions = ridge.predict(x, np.stack([y, other], axis=1), fold_of)
    assert np.allclose(predictions[:, 0], expected, atol=1e-4)
    assert np.allclose(predictions[:, 1:], ridge.predict(x, other[:, None], fold_of))


def test_vectors_without_length_are_hardly_worse_than_guessing():
    random = np.random.default_rng(0)
    y = random.normal(20, 5, 200)
    samples = [random.normal(0, 1, (200, 300)) for _ in range(10)]
    fold_of = folds(np.arange(200))
    r2s = [r2_score(y, ridge.predict(x, y[:, None], fold_of)) for x in samples]
    assert -0.05 < np.mean(r2s) < 0.02
    penalised = [Ridge(1).fit(x[50:], y[50:]).score(x[:50], y[:50]) for x in samples]
    assert np.mean(penalised) < -0.5


def test_dimensions_that_vary_by_rounding_have_no_weight():
    x, y = draw(300, 10, noise=20)
    fold_of = folds(np.arange(300))
    expected = ridge.predict(x, y[:, None], fold_of)
    rounding = 8 * (1 + 5e-7 * (y - y.mean()) / y.std())
    wider = ridge.predict(np.column_stack([x, rounding]), y[:, None], fold_of)
    assert np.allclose(wider, expected)
    new_to_its_probe = np.where(fold_of == 2, y, 0)
    wider = ridge.predict(np.column_stack([x, new_to_its_probe]), y[:, None], fold_of)
    assert np.allclose(wider[fold_of == 2], expected[fold_of == 2])


@pytest.mark.parametrize(
    ("vectors", "lengths", "reason"),
    [
        (np.full((50, 3), 0.1), np.arange(50.0), "the same for all sentences"),
        (np.full((50, 3), np.inf), np.arange(50.0), "not finite"),
        (np.eye(50), np.full(50, 7.0), "All 50 sentences have the same length"),
    ],
)
def test_what_does_not_vary_has_no_probe(vectors, lengths, reason):
    with pytest.raises(Undefined, match=reason):
        ridge.predict(vectors, lengths[:, None], folds(np.arange(50)))


def test_the_line_on_a_norm_is_fitted_to_the_other_folds():
    random = np.random.default_rng(0)
    y = random.integers(3, 60, 100).astype(float)
    norms = 7 + 1e-5 * y + random.normal(0, 1e-4, 100)
    fold_of = folds(np.arange(100))
    predictions, guesses = ridge.predict_by_line(norms, y, fold_of), ridge.guess(y, fold_of)
    for fold in range(5):
        train, test = fold_of != fold, fold_of == fold
        line = LinearRegression().fit(norms[train, None], y[train])
        assert np.allclose(predictions[test], line.predict(norms[test, None]))
        assert np.allclose(guesses[test], y[train].mean())


@pytest.mark.parametrize("noise", [1, 4, 9])
def test_scores_are_those_of_scikit_learn(noise):
    random = np.random.default_rng(0)
    y = random.normal(20, 5, 300)
    predictions = y + random.normal(0, noise, 300)
    score = ridge.score(y, predictions)
    assert np.allclose(score, [r2_score(y, predictions), mean_absolute_error(y, predictions)])
    low, high = ridge.r2_interval(y, predictions, np.arange(300))
    assert low < score[0] < high


def test_intervals_hold_the_truth_in_95_of_100_clustered_samples():
    hits = []
    for seed in range(100):
        random = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(100), 3)
        y = random.normal(20, 5, 100)[clusters]
        predictions = y + random.normal(0, 3, 100)[clusters]
        low, high = ridge.r2_interval(y, predictions, clusters)
        hits.append(low <= 1 - 9 / 25 <= high)
    assert 0.88 < np.mean(hits) < 1
