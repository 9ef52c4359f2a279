import numpy as np
import pytest

from clsviz.statistics import NormBins

RANDOM = np.random.default_rng(0)


def test_bins_are_a_five_hundredth_of_the_spread_wide_with_the_same_room_on_both_sides() -> None:
    norms = RANDOM.normal(7, 0.2, 20_000)
    bins = NormBins.of(norms)
    assert bins.width == pytest.approx(norms.std() / 500, rel=0.02)
    assert bins.width <= norms.std() / 500 * (1 + 1e-9)
    assert len(bins.edges) == bins.n + 1
    assert bins.middle == pytest.approx(7, abs=0.1)
    assert bins.edges[0] < norms.min() - 0.5
    assert bins.edges[-1] > norms.max() + 0.5


def test_a_few_norms_far_out_do_not_make_the_bins_wider() -> None:
    norms = RANDOM.normal(7, 0.2, 20_000)
    usual = NormBins.of(norms)
    norms[::200] = 1e6
    assert NormBins.of(norms).width == pytest.approx(usual.width, rel=0.1)
    mostly_one = np.where(np.arange(1000) % 500, 7.0, 8.0)
    assert NormBins.of(mostly_one).width == pytest.approx(mostly_one.std() / 500)


def test_every_norm_is_in_one_bin_and_near_its_place() -> None:
    bins = NormBins(6.0, 0.001)
    norms = np.concatenate(
        [RANDOM.uniform(6, bins.edges[-1], 1000), [6.0, 5.9999, bins.edges[-1], 0.0, -40, 60, -1e30, 1e30]]
    )
    numbers = bins.numbers(norms).astype(int)
    assert numbers.min() == 0 <= numbers.max() == bins.n_columns - 1
    off = np.abs(bins.middle + bins.places[numbers] - norms)
    inner = (numbers >= bins.inner.start) & (numbers < bins.inner.stop)
    assert inner.sum() in (1001, 1002)
    assert off[inner].max() <= bins.width / 2 + 1e-12
    away = np.abs(norms - bins.middle)
    assert (off <= 0.011 * away)[~inner & (np.abs(norms) < 50)].all()
    order = np.argsort(norms)
    assert (np.diff(numbers[order]) >= 0).all()
    assert (np.diff(bins.places) > 0).all()
    assert len(bins.places) == bins.n_columns


@pytest.mark.parametrize("norm", [0.0, 7.25, 1e-30, 3e38])
def test_a_norm_that_never_varies_has_bins(norm: float) -> None:
    bins = NormBins.of(np.full(100, norm))
    assert bins.width > 0
    assert np.isfinite(bins.edges).all()
    numbers = bins.numbers(np.array([norm, np.nextafter(np.float32(norm), np.float32(1)).astype(float)]))
    assert bins.inner.start <= numbers[0] < bins.inner.stop
    assert norm == 0 or numbers[0] != numbers[1]


def test_without_norms_there_are_bins_all_the_same() -> None:
    assert NormBins.of([]) == NormBins(0.0, 1.0)
