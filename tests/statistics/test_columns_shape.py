import numpy as np
import pandas as pd
import pytest
from support.censuses import CENSUS, LENGTHS, NORMS

from clsviz import statistics
from clsviz.statistics import Census, NormBins


def test_quantiles_are_off_by_no_more_than_they_say() -> None:
    lengths, norms = LENGTHS, NORMS
    shares = np.linspace(0, 1, 201)
    assert 0.8e-3 < CENSUS.off_by / norms[:5000].astype(float).std() <= 1e-3
    for cutoff in (513, 20, 4):
        expected = np.quantile(norms[lengths < cutoff].astype(float), shares)
        assert np.abs(CENSUS.quantiles(shares, cutoff) - expected).max() <= CENSUS.off_by * (1 + 1e-9)
    assert np.isnan(CENSUS.quantiles(0.5, 3))


@pytest.mark.parametrize("cutoff", [513, 30, 9, 4])
def test_what_lies_over_the_picture_is_as_of_the_sentences(cutoff: int) -> None:
    lengths, norms = LENGTHS, NORMS
    lengths, norms = lengths[lengths < cutoff], norms[lengths < cutoff]
    for found, expected in (
        (CENSUS.bins_of_length(cutoff), statistics.bins(lengths, norms)),
        (CENSUS.slices(cutoff), statistics.slices(lengths, norms)),
    ):
        is_of_lengths = "from_share" in expected
        for name in expected:
            off_by = CENSUS.off_by if name in ("lower", "median", "upper", "lowest", "highest") else 0
            if is_of_lengths and name in ("lower", "median", "upper"):
                off_by = 1  # where half a bin of norms makes a difference
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=off_by + 1e-9, err_msg=name)
        assert found.columns.tolist() == expected.columns.tolist()
        assert found.dtypes.tolist() == expected.dtypes.tolist()
    assert (found["median"] == expected["median"]).mean() > 0.5


def test_without_sentences_nothing_lies_over_it() -> None:
    census = Census.none(NormBins(0.0, 1.0))
    pd.testing.assert_frame_equal(census.bins_of_length(), statistics.bins([], []))
    assert census.slices().empty
    assert census.percentile_at_length(10, 7.0) is None


def test_the_percentile_is_that_among_the_sentences() -> None:
    for length, norm in ((3, 7.0), (20, 7.5), (70, 7.31), (79, -1.0), (79, 1e9)):
        share, n = statistics.percentile_at_length(length, norm, LENGTHS, NORMS)
        found, n_found = CENSUS.percentile_at_length(length, norm)
        assert n_found == n
        assert found == pytest.approx(share, abs=0.2)
    assert CENSUS.percentile_at_length(300, 7.0) is None


class TestDensity:
    def test_its_bins_are_those_of_numpy(self) -> None:
        lengths, norms = LENGTHS, NORMS
        counts, edges = CENSUS.density(30, 256)
        assert counts.shape == (30, 256)
        assert (counts.dtype, edges.dtype) == (np.int64, np.float64)
        expected, *_ = np.histogram2d(lengths, norms.astype(float), bins=(np.arange(31) - 0.5, edges))
        assert np.abs(counts - expected).sum() <= 4  # of those that lie on an edge, to rounding
        assert counts.sum() == expected.sum()

    def test_a_part_of_it_is_finer(self) -> None:
        lengths, norms = LENGTHS, NORMS
        counts, edges = CENSUS.density(513, 128, norms=(7.2, 7.4), lengths=(10, 12))
        assert counts.shape == (3, len(edges) - 1)
        assert 64 <= counts.shape[1] <= 128
        width = edges[1] - edges[0]
        assert edges[0] <= 7.2 < edges[0] + width
        assert edges[-1] - width <= 7.4 < edges[-1]
        inside = (lengths >= 10) & (lengths <= 12) & (norms >= edges[0]) & (norms < edges[-1])
        assert abs(counts.sum() - inside.sum()) <= 1
        whole, all_edges = CENSUS.density(513, round(CENSUS.bins.n * CENSUS.bins.width / width))
        first = int(np.argmin(np.abs(all_edges - edges[0])))
        np.testing.assert_array_equal(counts, whole[10:13, first : first + counts.shape[1]])  # so there are no stripes

    def test_what_is_far_out_is_one_bin(self) -> None:
        for norms in ((100.0, 200.0), (-3.0, -2.0), (7.3, 7.3)):
            counts, edges = CENSUS.density(513, 512, norms=norms)
            assert counts.shape == (513, 1) == (513, len(edges) - 1)

    def test_only_whole_bins_make_coarser_ones(self) -> None:
        for n_bins in (0, -2, 3, 100, 16384):
            with pytest.raises(ValueError, match="cannot be made of 8192"):
                CENSUS.density(40, n_bins)

    def test_lengths_end_at_the_cutoff(self) -> None:
        counts, _ = CENSUS.density(10, 64, lengths=(5, 50))
        np.testing.assert_array_equal(counts, CENSUS.density(513, 64)[0][5:10])
