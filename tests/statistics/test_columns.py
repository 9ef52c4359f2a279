import numpy as np
import pytest
from support.censuses import CENSUS, LENGTHS, NORMS, N

from clsviz.statistics.columns import cells_of


def test_lengths_are_taken_from_one_to_another() -> None:
    some = CENSUS.between(10, 13)
    assert some.lengths.tolist() == [10, 11, 12]
    assert some.total == np.isin(LENGTHS, [10, 11, 12]).sum()
    assert some.between(11, 500).lengths.tolist() == [11, 12]
    assert some.between(0, 11).lengths.tolist() == [10]
    for nothing in (some.between(13, 20), some.between(12, 11), some.between(0, 0)):
        assert len(nothing.n) == nothing.total == len(nothing.occurring().n) == 0
    assert CENSUS.occurring().lengths.tolist() == list(range(LENGTHS.min(), LENGTHS.max() + 1))
    assert CENSUS.norms_by_bin.sum() == N


@pytest.mark.parametrize("n_bins", [1, 64, 512, 8192])
def test_cells_keep_mean_and_variance_at_each_length(n_bins: int) -> None:
    bins = CENSUS.bins
    cells = cells_of(CENSUS, 20.0, 0.5, n_bins)
    for one in (cells, cells.halves):
        assert one.times.sum() == N
        sums = one.times[:, None] * one.sums
        for length in (3, 40, 79):
            at = one.x == length - 20
            y = NORMS[length == LENGTHS].astype(float) - bins.middle - 0.5
            assert sums[at, 2].sum() == pytest.approx(y.sum(), abs=1e-8)
            assert sums[at, 5].sum() == pytest.approx((y**2).sum(), rel=1e-5)
            assert sums[at, 4].sum() == pytest.approx((length - 20) * y.sum(), abs=1e-6)
    assert (cells.variance >= 0).all()
    assert (cells.halves.variance == 0).all()
    assert len(cells.times) <= 77 * (n_bins + 4)
