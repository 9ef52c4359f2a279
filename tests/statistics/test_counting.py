import numpy as np
import pytest
from support.lines import sample

from clsviz.statistics import Census, CountedRun, NormBins


def test_each_vector_of_a_run_is_counted_in_its_own_bins() -> None:
    lengths, norms = sample(3000)
    several = np.stack([norms, 100 - 3 * norms], axis=1)
    bins = [NormBins.of(vector) for vector in several.T]
    run = CountedRun.of(lengths, several, bins)
    for vector, of in enumerate(bins):
        census = Census.none(of)
        census.add(run, vector)
        for length in (3, 40, 79):
            inside = several[lengths == length, vector].astype(float)
            assert census.n[length] == census.counts[length].sum() == len(inside)
            expected, _ = np.histogram(inside, of.edges)
            assert np.abs(census.counts[length, of.inner] - expected).sum() <= 2  # on an edge
            assert census.sums[length] == pytest.approx((inside - of.middle).sum(), abs=1e-9)
            assert census.squares[length] == pytest.approx(((inside - of.middle) ** 2).sum(), rel=1e-12)
            assert (census.lowest[length], census.highest[length]) == (inside.min(), inside.max())
        assert (census.lowest[2], census.highest[2], census.n[2]) == (np.inf, -np.inf, 0)


def test_no_sentences_are_no_run() -> None:
    assert CountedRun.of([], np.empty((0, 2)), [NormBins(0.0, 1.0)] * 2) is None


@pytest.mark.parametrize(
    ("length", "norm", "reason"),
    [(-1, 7.0, "between 0 and 512"), (513, 7.0, "between 0 and 512"), (5, np.nan, "finite"), (5, -np.inf, "finite")],
)
def test_what_no_encoder_gives_is_not_counted(length: int, norm: float, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Census.of([4, length, 0, 512], [7.0, norm, 7.0, 7.0], NormBins(0.0, 1.0))
    if not np.isfinite(norm):
        with pytest.raises(ValueError, match=reason):
            NormBins.of([7.0, norm])
