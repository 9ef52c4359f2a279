from dataclasses import replace

import numpy as np
import pytest

from clsviz import analysis
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Measurements
from clsviz.settings import Lengths, Pooling, Unit
from clsviz.sources.sampling import Sample
from clsviz.statistics.line import fit
from clsviz.statistics.summary import Census

N, DRAWN = 5_000, 1_000


def measurements(n: int) -> Measurements:
    random = np.random.default_rng(0)
    n_tokens = random.integers(1, 40, n).astype(np.int32)
    norms = random.normal(10 + 0.05 * n_tokens[:, None], [0.5, 1, 2], (n, 3)).astype(np.float32)
    return Measurements(n_tokens, np.zeros(n, np.bool_), norms, norms[:, :1])


class Counted:
    """A census of what was measured, as `take_census` gives one of a store."""

    n, n_layers, has_pooler = N, 2, True

    def __init__(self, measured) -> None:
        self.measured = measured

    def vector(self, pooling: Pooling, layer: int | None) -> Census:
        return Census.of(self.measured.n_tokens, self.measured.norms(pooling, layer))

    def n_truncated(self, _: int) -> int:
        return 7


@pytest.fixture(scope="module")
def found() -> Found:
    whole = measurements(N)
    sample = Sample(None, [f"number {number}" for number in range(DRAWN)], "")
    return Found(None, sample, measurements=whole.head(DRAWN), census=Counted(whole))


@pytest.mark.parametrize("cutoff", [10, 513])
def test_the_line_is_of_all_and_the_points_are_of_the_sample(found: Found, cutoff: int) -> None:
    view = View(length_cutoff=cutoff, layer=1)
    shown = analysis.select(found, view)
    whole = found.census.measured
    short = whole.n_tokens < cutoff
    expected = fit(whole.n_tokens[short], whole.norms(Pooling.CLS, 1)[short])
    assert shown.fit is not None
    assert (shown.n, shown.fit.r_squared, shown.fit.slope) == pytest.approx(
        (short.sum(), expected.r_squared, expected.slope)
    )
    assert len(shown.index) == short[:DRAWN].sum()
    assert shown.n_truncated == 7


@pytest.mark.parametrize("view", [View(unit=Unit.WORDS), View(lengths=Lengths.SHUFFLED)])
def test_what_is_not_counted_is_told_of_the_sample(found: Found, view: View) -> None:
    shown = analysis.select(found, view)
    assert shown.census is None
    assert shown.n <= DRAWN


def test_cells_count_all_sentences_under_the_cutoff(found: Found) -> None:
    view = View(length_cutoff=20)
    cells = analysis.cells_of_all(analysis.select(found, view), 128)
    assert cells is not None
    whole = found.census.measured
    short = whole.n_tokens < 20
    norms = whole.norms(Pooling.CLS, None)[short].astype(float)
    edges = np.append(cells.lengths, cells.lengths[-1] + 1) - 0.5
    expected, *_ = np.histogram2d(whole.n_tokens[short], norms, (edges, cells.edges))
    assert cells.counts.sum() == pytest.approx(short.sum(), rel=0.01)
    assert np.abs(cells.counts - expected).sum() <= 0.001 * short.sum()  # float32 edges
    n_bins = len(cells.edges) - 1
    assert n_bins % 128 == 0
    assert (n_bins // 128) & (n_bins // 128 - 1) == 0
    assert np.ptp(np.diff(cells.edges)) < 1e-9 * np.ptp(cells.edges)


def test_a_sample_has_no_cells(found: Found) -> None:
    assert analysis.cells_of_all(analysis.select(replace(found, census=None), View()), 128) is None
