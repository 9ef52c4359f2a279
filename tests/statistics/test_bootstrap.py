import numpy as np
import pytest

from clsviz.errors import Undefined
from clsviz.statistics.bootstrap import folds, middle, resample


def test_folds_keep_clusters_together_and_are_even():
    clusters = np.random.default_rng(0).integers(0, 53, 1000) * 7
    fold_of = folds(clusters)
    of_cluster = [set(fold_of[clusters == cluster]) for cluster in np.unique(clusters)]
    assert all(len(one) == 1 for one in of_cluster)
    assert sorted(np.bincount([one.pop() for one in of_cluster])) == [10, 10, 11, 11, 11]


def test_four_clusters_are_too_few_for_five_folds():
    with pytest.raises(Undefined, match="4 of 40"):
        folds(np.arange(40) % 4)


@pytest.mark.parametrize("n", [400, 12_000])
def test_means_of_draws_vary_as_the_standard_error_says(n):
    values = np.random.default_rng(0).normal(5, 2, n)
    sums, counts = resample([values, np.ones(n)], np.arange(n))
    low, high = middle(sums / counts)
    error = values.std() / np.sqrt(n)
    assert np.allclose(
        [low, high], values.mean() + np.array([-1.96, 1.96]) * error, atol=0.4 * error
    )


def test_clusters_are_drawn_whole_and_all_columns_alike():
    clusters = np.repeat(np.arange(30), 4)
    ones, twice = resample([np.ones(120), np.full(120, 2.0)], clusters)
    assert set(ones) == {120}
    values = np.random.default_rng(0).normal(0, 1, 30)[clusters]
    both = resample([values, values + 1], clusters)
    assert np.allclose(both[1] - both[0], 120)
    assert both[0].std() == pytest.approx(4 * np.sqrt(30) * values.std(), rel=0.1)
    assert np.array_equal(twice, 2 * ones)
