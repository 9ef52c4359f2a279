"""Sentences that are counted, and the line through them."""

import numpy as np
import pytest

from clsviz.statistics.line import Fit
from clsviz.statistics.summary import Census, NormBins
from support.lines import sample

N = 40_000

LENGTHS, NORMS = sample(N)

CENSUS = Census.of(LENGTHS, NORMS, NormBins.of(NORMS[:5000]))


EXACT = [
    "slope", "intercept", "r_squared", "norm_mean", "norm_sd", "slope_interval", "intercept_interval", "covariance",
]  # fmt: skip


def assert_same(found: Fit, expected: Fit, width: float = 1e-4, spearman: float = 3e-6) -> None:
    """width: how far the ends of the interval of R² may be off, as a share of its width; spearman: as that."""
    for name in EXACT:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-8, err_msg=name)
    assert (found.n, found.n_clusters, found.degrees_of_freedom) == (expected.n, expected.n, expected.n - 2)
    assert found.t == pytest.approx(expected.t, rel=1e-12)
    assert found.spearman == pytest.approx(expected.spearman, abs=spearman + 0.3 / found.n)
    ends = np.array([found.r_squared_interval, expected.r_squared_interval])
    assert np.abs(ends[0] - ends[1]).max() <= width * np.ptp(ends[1])
    assert found.rests_on_few == expected.rests_on_few
