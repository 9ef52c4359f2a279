import itertools

import numpy as np
import pytest
from scipy import stats

from clsviz.errors import Undefined
from clsviz.statistics.intervals import (
    Contrast,
    folds,
    margin,
    means,
    middle,
    of_mean,
    resample,
    wilson_bound,
)
from clsviz.statistics.line import r2_margin


def test_folds_keep_clusters_together_and_are_even():
    clusters = np.random.default_rng(0).integers(0, 53, 1000) * 7
    fold_of = folds(clusters)
    of_cluster = [set(fold_of[clusters == cluster]) for cluster in np.unique(clusters)]
    assert all(len(one) == 1 for one in of_cluster)
    assert sorted(np.bincount([one.pop() for one in of_cluster])) == [10, 10, 11, 11, 11]
    with pytest.raises(Undefined, match="4 of 40"):
        folds(np.arange(40) % 4)


@pytest.mark.parametrize("n", [400, 12_000])
def test_means_of_draws_vary_as_the_standard_error_says(n):
    values = np.random.default_rng(0).normal(5, 2, n)
    sums, counts = resample([values, np.ones(n)], np.arange(n))
    error = values.std() / np.sqrt(n)
    expected = values.mean() + np.array([-1.96, 1.96]) * error
    assert np.allclose(middle(sums / counts), expected, atol=0.4 * error)


def test_clusters_are_drawn_whole_and_all_columns_alike():
    clusters = np.repeat(np.arange(30), 4)
    values = np.random.default_rng(0).normal(0, 1, 30)[clusters]
    ones, sums, higher = resample([np.ones(120), values, values + 1], clusters)
    assert set(ones) == {120}
    assert np.allclose(higher - sums, 120)
    assert sums.std() == pytest.approx(4 * np.sqrt(30) * values.std(), rel=0.1)


def test_the_margin_of_two_means_is_that_of_their_paired_differences():
    random = np.random.default_rng(0)
    base = random.exponential(4, 600)
    columns = [base + random.normal(0, 1, 600), base + random.normal(0, 1, 600)]
    intervals, margin = means(columns, [np.arange(600)])
    expected = 1.96 * np.std([*columns, columns[0] - columns[1]], axis=1) / 600**0.5
    assert [np.ptp(intervals[0]) / 2, margin] == pytest.approx(expected[[0, 2]], rel=0.08)
    clusters = np.repeat(np.arange(600), 5)
    copied = means([np.repeat(column, 5) for column in columns], [clusters])
    assert copied[1] == pytest.approx(margin, rel=1e-9)


def test_six_models_without_a_difference_differ_in_5_of_100_samples():
    hits = 0
    for seed in range(120):
        random = np.random.default_rng(seed)
        base = random.exponential(4, 150)
        columns = [base + random.normal(0, 2, 150) for _ in range(6)]
        _, margin = means(columns, [np.arange(150)])
        hits += Contrast.of(np.mean(columns, axis=1), margin).is_sure
    assert 1 <= hits <= 13


def test_the_margin_of_lines_is_that_of_correlations_of_drawn_sentences():
    random = np.random.default_rng(0)
    lengths = random.integers(3, 60, 300).astype(float)
    norms = [0.05 * lengths + random.normal(0, noise, 300) for noise in (1, 1.5)]
    differences = []
    for _ in range(3000):
        rows = random.integers(0, 300, 300)
        r2s = [np.corrcoef(lengths[rows], norm[rows])[0, 1] ** 2 for norm in norms]
        differences.append(r2s[0] - r2s[1])
    expected = np.quantile(abs(differences - np.mean(differences)), 0.95)
    pairs = [(lengths, norm) for norm in norms]
    assert r2_margin(pairs, [np.arange(300)]) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("n", [20, 500])
def test_shares_of_all_and_of_none_have_the_interval_of_wilson(n):
    for hits, n_tested in itertools.product((0, n), (1, 7)):
        values = np.full(n, hits / n)
        wilson = stats.binomtest(hits, n).proportion_ci(1 - 0.05 / n_tested, "wilson")
        interval = of_mean(values, 0, n_tested=n_tested)
        assert interval == pytest.approx((wilson.low, wilson.high))
    wilson = stats.binomtest(0, n).proportion_ci(method="wilson").high
    assert of_mean(np.zeros(n), 0, least=-1) == pytest.approx((-wilson, wilson))
    assert margin(np.ones((2, 1000)), wilson_bound(n)) == pytest.approx(wilson)


@pytest.mark.parametrize("values", [[np.nan, 3.0], [], [np.nan, np.nan]])
def test_fewer_than_two_values_have_no_lead(values):
    lead = Contrast.of(values, 1.0)
    assert np.isnan(lead.difference)
    assert not lead.is_sure
