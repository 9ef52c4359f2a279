from itertools import pairwise

import numpy as np
import pytest
from support.censuses import CENSUS, LENGTHS, NORMS, N, assert_same

from clsviz.statistics import Census, NormBins


def test_parts_merge_in_any_order() -> None:
    lengths, norms = LENGTHS, NORMS
    borders = [0, 1, 1, 7000, 7040, 33_000, N]
    parts = [Census.of(lengths[start:stop], norms[start:stop], CENSUS.bins) for start, stop in pairwise(borders)]
    for order in np.random.default_rng(0).permuted(np.tile(np.arange(len(parts)), (3, 1)), axis=1):
        merged = Census.none(CENSUS.bins)
        for part in order:
            merged = merged.merged(parts[part])
        for name in ("n", "counts", "lowest", "highest"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(CENSUS, name))
        for name in ("sums", "squares"):
            np.testing.assert_allclose(getattr(merged, name), getattr(CENSUS, name), rtol=1e-12, atol=1e-11)
        assert_same(merged.fit(30), CENSUS.fit(30))


def test_censuses_in_other_bins_cannot_be_merged() -> None:
    with pytest.raises(ValueError, match="different bins"):
        CENSUS.merged(Census.none(NormBins(0.0, 1.0)))


def test_extremes_are_exact() -> None:
    lengths, norms = LENGTHS, NORMS
    assert CENSUS.extremes() == (norms.min(), norms.max())
    assert CENSUS.extremes(10) == (norms[lengths < 10].min(), norms[lengths < 10].max())
    assert CENSUS.extremes(2) == (np.inf, -np.inf)
