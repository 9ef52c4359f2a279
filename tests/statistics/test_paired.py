import numpy as np
import pytest

from clsviz.statistics import paired
from clsviz.statistics.jackknife import clusterings
from clsviz.statistics.paired import Lead


def test_the_margin_of_two_means_is_that_of_their_paired_differences():
    random = np.random.default_rng(0)
    base = random.exponential(4, 600)
    columns = [base + random.normal(0, 1, 600), base + random.normal(0, 1, 600)]
    intervals, margin = paired.means(columns, [np.arange(600)])
    difference = columns[0] - columns[1]
    assert margin == pytest.approx(1.96 * difference.std() / 600**0.5, rel=0.08)
    assert np.ptp(intervals[0]) / 2 == pytest.approx(1.96 * columns[0].std() / 600**0.5, rel=0.08)


def test_six_models_without_a_difference_differ_in_5_of_100_samples():
    hits = 0
    for seed in range(120):
        random = np.random.default_rng(seed)
        base = random.exponential(4, 150)
        columns = [base + random.normal(0, 2, 150) for _ in range(6)]
        _, margin = paired.means(columns, [np.arange(150)])
        hits += Lead.of(np.mean(columns, axis=1), margin).is_sure
    assert 1 <= hits <= 13


def test_copies_of_sentences_do_not_narrow_the_margin():
    random = np.random.default_rng(0)
    columns = [random.exponential(4, 200) for _ in range(2)]
    once = paired.means(columns, [np.arange(200)])[1]
    clusters = np.repeat(np.arange(200), 5)
    copied = paired.means([np.repeat(column, 5) for column in columns], [clusters])[1]
    assert copied == pytest.approx(once, rel=1e-9)


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
    assert paired.line_margin(pairs, [np.arange(300)]) == pytest.approx(expected, rel=0.08)


def test_ten_row_groups_are_drawn_too_and_nine_are_not():
    for n_groups, n in ((9, 1), (10, 2)):
        assert len(clusterings(np.arange(90), np.arange(90) % n_groups)) == n


@pytest.mark.parametrize("values", [[np.nan, 3.0], [], [np.nan, np.nan]])
def test_fewer_than_two_values_have_no_lead(values):
    lead = Lead.of(values, 1.0)
    assert np.isnan(lead.difference)
    assert not lead.is_sure
