import numpy as np
import pytest
from scipy import stats
from support.lines import sample

from clsviz.errors import UndefinedFitError
from clsviz.statistics.line import by_cutoff, fit, flat


def test_each_cutoff_has_the_line_of_its_sentences() -> None:
    lengths, norms = sample(900)
    clusters = np.random.default_rng(0).integers(0, 500, 900)
    table = by_cutoff(lengths, 2 * lengths, norms, clusters)
    assert table["length_cutoff"].tolist() == [10, 15, 20, 25, 30, 40, 50, 60, 80]  # no sentence has 80 tokens or more
    for row in table.itertuples():
        under = lengths < row.length_cutoff
        line = fit(2 * lengths[under], norms[under], clusters[under])
        assert row.n == line.n
        assert row.slope == pytest.approx(line.slope)
        assert row.r_squared == pytest.approx(line.r_squared)
        assert (row.lower, row.upper) == pytest.approx(line.r_squared_interval)
    assert by_cutoff(lengths, lengths, norms, cutoffs=[3]).empty


def test_the_cutoff_can_decide_the_answer() -> None:
    """Norms that rise up to a length of 20, and fall slowly after."""
    lengths = np.random.default_rng(0).integers(3, 80, 3000)
    norms = np.minimum(lengths / 20, 1.2 - lengths / 100) + np.random.default_rng(1).normal(scale=0.1, size=3000)
    slopes = by_cutoff(lengths, lengths, norms).set_index("length_cutoff")["slope"]
    assert slopes[20] > 0.04
    assert slopes[80] < 0


def test_lengths_weighted_alike_are_as_if_drawn_alike() -> None:
    random = np.random.default_rng(0)
    few, many = np.repeat(np.arange(4, 40), 200), np.repeat(np.arange(4, 40), np.r_[4:40] ** 2)
    lines = []
    for lengths in (few, many, np.append(many, random.integers(40, 500, 5000))):
        norms = lengths / 20 + random.normal(size=len(lengths))
        lines.append(flat(lengths, norms))
    assert all(line.absent == () for line in lines)
    truth = 1 / (1 + 1 / (np.var(np.arange(4, 40)) / 400))
    assert [line.r_squared for line in lines] == pytest.approx([truth] * 3, abs=0.03)
    norms = few / 20 + random.normal(size=len(few))
    assert flat(few, norms).r_squared == pytest.approx(stats.pearsonr(few, norms).statistic ** 2)  # all weigh the same


def test_lengths_that_are_absent_are_named() -> None:
    lengths, norms = sample(500)
    assert flat(lengths[lengths < 36], norms[lengths < 36]).absent == (36, 37, 38, 39)
    with pytest.raises(UndefinedFitError):
        flat(np.full(9, 50), np.arange(9))
