import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from clsviz.errors import Undefined
from clsviz.statistics import line
from clsviz.statistics.curve import fit

SPLINE = make_pipeline(
    SplineTransformer(n_knots=5, knots="quantile", extrapolation="linear"), LinearRegression()
)


def hump(n, seed, height):
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 60, n).astype(float)
    return lengths, 7 - height * (lengths - 31) ** 2 / 300 + random.normal(0, 0.3, n)


def test_held_out_r2_is_that_of_scikit_learn(sample):
    x, y, clusters = sample(n_clusters=150)
    folds = GroupKFold(5, shuffle=True, random_state=0)
    means = y.copy()
    for _, test in folds.split(x, groups=clusters):
        means[test] = y[test].mean()
    curve = fit(x, y, clusters)
    for model, r2 in ((SPLINE, curve.r2), (LinearRegression(), curve.line_r2)):
        p = cross_val_predict(model, x[:, None], y, groups=clusters, cv=folds)
        assert np.isclose(r2, 1 - ((y - p) ** 2).sum() / ((y - means) ** 2).sum(), atol=1e-8)


def test_curve_is_that_of_scikit_learn_and_straight_beyond_its_ends():
    x, y = hump(300, 0, 0.2)
    beyond = np.linspace(-20, 90, 200)
    predicted = fit(x, y, np.arange(300)).predict(beyond)
    assert np.allclose(predicted, SPLINE.fit(x[:, None], y).predict(beyond[:, None]))


def test_a_hump_stands_out_that_no_line_follows():
    samples = [hump(300, seed, 0.15) for seed in range(40)]
    curves = [fit(*sample, np.arange(300)) for sample in samples]
    assert sum(curve.is_significant for curve in curves) >= 36
    assert sum(line.fit(*sample, np.arange(300)).is_significant for sample in samples) <= 8


def test_chance_hardly_ever_stands_out():
    clusters = np.repeat(np.arange(150), 4)
    samples = [hump(150, seed, 0) for seed in range(200)]
    is_significant = [fit(x[clusters], y[clusters], clusters).is_significant for x, y in samples]
    assert sum(is_significant) <= 12  # 5% are 10; binomial noise, whose standard deviation is 3


def test_fewer_than_100_different_sentences_have_no_curve(sample):
    x, y, clusters = sample(400, n_clusters=99)
    with pytest.raises(Undefined, match="99"):
        fit(x, y, clusters)
