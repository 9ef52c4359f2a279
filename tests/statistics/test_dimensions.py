"""Shares of the norm by dimension, and what a LayerNorm's gain and bias do to it."""

import numpy as np
import pytest
import torch
from scipy import stats

from clsviz.errors import UndefinedFitError
from clsviz.measurements import Vectors
from clsviz.settings import Pooling
from clsviz.statistics.dimensions import (
    AS_IT_IS,
    WITHOUT_BIAS,
    WITHOUT_EITHER,
    WITHOUT_GAIN,
    NormOf,
    dimensions,
    norms_of_directions,
    without_layer_norm,
)
from clsviz.statistics.ridge import unit

N, WIDTH = 400, 32


def lengths_of(n: int = N, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, 60, n)


def stored(vectors: np.ndarray) -> np.ndarray:
    """What is left of vectors (n, width) after they were stored."""
    pooled = np.broadcast_to(vectors.astype(np.float32), (3, 1, *vectors.shape))
    return Vectors.pack(np.ones(len(vectors), np.int32), np.zeros(len(vectors), bool), pooled).of(Pooling.CLS, 0)


def normalised(n: int = N, seed: int = 0, spread: float = 1) -> np.ndarray:
    """What a LayerNorm makes before gain and bias, in float32, where some dimensions are larger than the others.

    A spread below 1 makes the vectors more alike.
    """
    random = np.random.default_rng(seed)
    y = spread * random.normal(size=(n, WIDTH)) + random.normal(0, 3, WIDTH)
    y -= y.mean(axis=1, keepdims=True)
    return (y / np.sqrt(y.var(axis=1, keepdims=True) + 1e-12)).astype(np.float32)


def length_in(z: np.ndarray, seed: int = 0) -> np.ndarray:
    """Lengths that the first dimension tells, with some noise."""
    noise = np.random.default_rng(seed).normal(0, 2, len(z))
    return np.round(30 + 10 * (z[:, 0] - z[:, 0].mean()) + noise)


def rows_of(vectors: np.ndarray, lengths: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> dict[str, NormOf]:
    return {row.name: row for row in without_layer_norm(vectors, lengths, gain, bias)}


def r_squared_of(lengths: np.ndarray, vectors: np.ndarray) -> float:
    return stats.linregress(lengths, np.sqrt((vectors.astype(float) ** 2).sum(axis=1))).rvalue ** 2


def test_shares_are_written_out() -> None:
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(N, WIDTH)) * random.uniform(0.1, 2, WIDTH)).astype(np.float32)
    lengths = lengths_of()
    found = dimensions(vectors, lengths)
    norms = np.linalg.norm(vectors.astype(float), axis=1)
    for d in range(WIDTH):
        column = vectors[:, d].astype(float)
        assert found.shares[d] == pytest.approx((column @ column) / (norms @ norms))
        assert found.variance_shares[d] == pytest.approx(np.cov(column**2, norms**2)[0, 1] / np.var(norms**2, ddof=1))
    assert found.shares.sum() == pytest.approx(1)
    assert found.variance_shares.sum() == pytest.approx(1)
    assert found.order.tolist() == sorted(range(WIDTH), key=lambda d: -found.shares[d])
    line = stats.linregress(lengths, norms)
    assert found.r_squared == pytest.approx(line.rvalue**2)
    assert (found.norm_mean, found.norm_sd) == (pytest.approx(norms.mean()), pytest.approx(norms.std(ddof=1)))


def test_dominant_dimensions_hold_five_times_their_equal_share() -> None:
    squares = np.ones(WIDTH)
    squares[[9, 4, 20]] = 12, 8.5, 6  # of 55.5 in all: 5 equal shares are 8.67
    found = dimensions(np.sqrt(squares) * (1 + np.linspace(0, 0.1, N)[:, None]), lengths_of())
    assert found.dominant == (9,)
    squares[[9, 4, 20, 30]] = 30, 40, 25, 25.1  # of 148.1 in all: 5 equal shares are 23.1
    found = dimensions(np.sqrt(squares) * (1 + np.linspace(0, 0.1, N)[:, None]), lengths_of())
    assert found.dominant == (4, 9, 30, 20)
    assert found.order[:4].tolist() == [4, 9, 30, 20]


def test_without_the_dominant_the_rest_is_measured() -> None:
    """One large dimension varies with no length, and hides that the others do."""
    random, lengths = np.random.default_rng(0), lengths_of()
    vectors = random.normal(0, 0.02, (N, WIDTH)) + (1 + 0.01 * lengths[:, None])
    vectors[:, 5] = 20 + random.normal(0, 3, N)
    found = dimensions(vectors, lengths)
    rest = np.delete(vectors, 5, axis=1)
    assert found.dominant == (5,)
    assert found.r_squared == pytest.approx(r_squared_of(lengths, vectors))
    assert found.r_squared_without == pytest.approx(r_squared_of(lengths, rest))
    assert found.r_squared < 0.3 < 0.9 < found.r_squared_without
    norms = np.linalg.norm(rest, axis=1)
    assert found.norm_mean_without == pytest.approx(norms.mean())
    assert found.norm_sd_without == pytest.approx(norms.std(ddof=1))


@pytest.mark.parametrize(("sign", "says"), [(-1, "but reduces its variance"), (1, "and all of its variance")])
def test_what_one_dimension_adds_others_may_even_out(sign: int, says: str) -> None:
    """The square of the large one goes with the norm's, or against it, and that of another against the first."""
    swing = np.random.default_rng(0).uniform(-1, 1, N)
    vectors = np.ones((N, WIDTH))
    large, small = (1, 0.5) if sign > 0 else (0.5, 1)
    vectors[:, 0] = np.sqrt(100 + 10 * large * swing)
    vectors[:, 1] = np.sqrt(12 - 10 * small * swing)
    found = dimensions(vectors, lengths_of())
    assert found.dominant == (0,)
    assert found.variance_shares[0] == pytest.approx(2 if sign > 0 else -1)


def test_a_norm_that_varies_by_rounding_alone_has_no_r_squared() -> None:
    """The exact norms are all the same; how far the stored ones are off goes with the length in part."""
    lengths = lengths_of()
    directions = np.random.default_rng(0).normal(size=(N, WIDTH)) + np.linspace(0, 3, WIDTH)
    vectors = stored(9 * directions / np.linalg.norm(directions, axis=1, keepdims=True))
    norms = np.linalg.norm(vectors.astype(float), axis=1)
    assert norms.std() > 1e-6 * norms.mean()  # which is more than float32 rounds off
    found = dimensions(vectors, lengths)
    assert found.r_squared is None
    assert "no more than the rounding" in found.problem
    assert found.variance_shares is None


def test_a_norm_that_varies_little_but_more_than_rounding_has_one() -> None:
    lengths = lengths_of()
    directions = np.random.default_rng(0).normal(size=(N, WIDTH))
    exact = directions / np.linalg.norm(directions, axis=1, keepdims=True) * (9 + 2e-4 * lengths[:, None])
    assert dimensions(stored(exact), lengths).r_squared == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_sentences(n: int) -> None:
    vectors = np.ones((n, WIDTH))
    for ask in (dimensions, lambda x, y: without_layer_norm(x, y, np.ones(WIDTH), np.ones(WIDTH))):
        with pytest.raises(UndefinedFitError, match=r"No whole sentence|at least 3"):
            ask(vectors, np.arange(n))


def test_vectors_of_nothing_have_no_shares() -> None:
    with pytest.raises(UndefinedFitError, match="All vectors are 0 in every dimension"):
        dimensions(np.zeros((N, WIDTH)), lengths_of())


def test_gain_and_bias_are_taken_away() -> None:
    random, z = np.random.default_rng(1), normalised()
    gain, bias = random.uniform(0.3, 1.5, WIDTH) * random.choice([-1, 1], WIDTH), random.normal(0, 0.5, WIDTH)
    lengths = length_in(z)
    rows = rows_of(stored(gain * z + bias), lengths, gain.astype(np.float32), bias.astype(np.float32))
    expected = {AS_IT_IS: gain * z + bias, WITHOUT_BIAS: gain * z, WITHOUT_GAIN: z + bias}
    assert list(rows) == [*expected, WITHOUT_EITHER]
    for name, vectors in expected.items():
        norms = np.linalg.norm(vectors, axis=1)
        assert rows[name].norm_mean == pytest.approx(norms.mean(), rel=1e-4)
        assert rows[name].norm_sd == pytest.approx(norms.std(ddof=1), rel=1e-3)
        assert rows[name].r_squared == pytest.approx(r_squared_of(lengths, vectors), abs=1e-3)
        assert (rows[name].problem, rows[name].varies, rows[name].left_out) == ("", True, 0)
    assert rows[WITHOUT_EITHER].norm_mean == pytest.approx(np.sqrt(WIDTH), rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("scale", "outlier"), [(1, 1), (1, 30), (0.02, 1)])
def test_before_gain_and_bias_there_is_only_rounding(seed: int, scale: float, outlier: float) -> None:
    """Stored in 16 bits z's norm varies by up to some 1e-4 of it: of that no R² is given."""
    random, z = np.random.default_rng(seed), normalised(2000, seed=seed)
    gain, bias = scale * random.uniform(0.05, 1.5, WIDTH), random.normal(0, 0.5, WIDTH)
    gain[3] *= outlier  # the other dimensions are stored with fewer digits, as one scale is kept for all
    vectors = stored(gain * z + bias)
    norms = np.linalg.norm((vectors - bias) / gain, axis=1)
    assert 1e-6 < norms.std() / norms.mean() < 3e-4
    rows = rows_of(vectors, length_in(z), gain, bias)
    plain = rows[WITHOUT_EITHER]
    assert (plain.r_squared, plain.varies, plain.left_out) == (None, False, 0)
    assert "all variation of the norm comes from gain and bias" in plain.problem
    assert rows[AS_IT_IS].r_squared is not None


def test_nor_is_there_more_where_vectors_are_nearly_alike_and_far_from_0() -> None:
    """There not 16 bits but float32 rounds off the most."""
    z = normalised(2000, spread=1e-3)
    lengths = np.round(30 + 3e4 * (z[:, 0] - z[:, 0].mean()))
    rows = rows_of(stored(0.002 * z + 5), lengths, np.full(WIDTH, 0.002), np.full(WIDTH, 5))
    plain = rows[WITHOUT_EITHER]
    assert plain.norm_sd > 2e-6 * plain.norm_mean
    assert (plain.r_squared, plain.varies, plain.left_out) == (None, False, 0)


def test_a_gain_that_creates_the_variation() -> None:
    """Of dimensions of equal gain the norm is constant; a large gain of the one that tells the length makes it tell."""
    z = normalised()
    lengths = length_in(z)
    gain = np.full(WIDTH, 0.5)
    constant = rows_of(stored(gain * z), lengths, gain, np.zeros(WIDTH))
    assert not any(row.varies for row in constant.values())
    assert "gain and bias" not in constant[WITHOUT_EITHER].problem  # where nothing varies nothing comes from them
    gain[0] = 5
    rows = rows_of(stored(gain * z), lengths, gain, np.zeros(WIDTH))
    assert rows[AS_IT_IS].r_squared > 0.5
    assert rows[WITHOUT_BIAS].r_squared == pytest.approx(rows[AS_IT_IS].r_squared)
    assert rows[WITHOUT_GAIN].r_squared is None


@pytest.mark.parametrize("gone", [[4], [0, 9, 17]])
@pytest.mark.parametrize("almost", [0.0, 1e-33, 1e-9])
def test_dimensions_that_the_gain_erases_are_left_out(gone: list[int], almost: float) -> None:
    random, z = np.random.default_rng(2), normalised()
    gain, bias = random.uniform(0.3, 1.5, WIDTH), random.normal(0, 0.5, WIDTH)
    gain[gone] = almost
    lengths = length_in(z)
    rows = rows_of(stored(gain * z + bias), lengths, gain, bias)
    kept = np.delete(np.arange(WIDTH), gone)
    for name, vectors in ((WITHOUT_GAIN, (z + bias)[:, kept]), (WITHOUT_EITHER, z[:, kept])):
        norms = np.linalg.norm(vectors, axis=1)
        assert rows[name].left_out == len(gone)
        assert rows[name].norm_sd == pytest.approx(norms.std(ddof=1), rel=1e-2)
        assert rows[name].r_squared == pytest.approx(r_squared_of(lengths, vectors), abs=5e-3)
    assert rows[AS_IT_IS].left_out == rows[WITHOUT_BIAS].left_out == 0


def test_where_the_gain_erases_everything_nothing_varies() -> None:
    rows = without_layer_norm(np.ones((N, WIDTH)), lengths_of(), np.zeros(WIDTH), np.ones(WIDTH))
    assert [row.left_out for row in rows] == [0, 0, WIDTH, WIDTH]


def test_of_what_no_layer_norm_put_out_nothing_is_claimed() -> None:
    """As of means over tokens, which vary before gain and bias too."""
    lengths = lengths_of()
    means = normalised() * (0.5 + 0.01 * lengths[:, None])
    gain, bias = np.linspace(0.5, 1, WIDTH), np.linspace(-0.1, 0.1, WIDTH)
    rows = rows_of(stored(gain * means + bias), lengths, gain, bias)
    assert rows[WITHOUT_EITHER].r_squared == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("which", [0, 1])
def test_without_gain_or_bias_there_is_nothing_to_take_away(which: int) -> None:
    gain_and_bias = np.ones((2, WIDTH))
    gain_and_bias[which] = np.nan
    with pytest.raises(UndefinedFitError, match="not the output of a LayerNorm"):
        without_layer_norm(normalised(), lengths_of(), *gain_and_bias)


def test_sentences_of_one_length_still_show_where_the_variation_comes_from() -> None:
    gain = np.linspace(0.2, 2, WIDTH)
    rows = rows_of(stored(gain * normalised()), np.full(N, 7), gain, np.zeros(WIDTH))
    assert (rows[AS_IT_IS].varies, rows[AS_IT_IS].r_squared) == (True, None)
    assert "have the same length, 7" in rows[AS_IT_IS].problem


RANDOM = np.random.default_rng(0)


def outputs(width: int, gain: np.ndarray, bias: np.ndarray, n: int = 50) -> np.ndarray:
    """Of torch's own LayerNorm."""
    layer = torch.nn.LayerNorm(width, eps=1e-12, dtype=torch.float64)
    layer.weight.data, layer.bias.data = torch.from_numpy(gain), torch.from_numpy(bias)
    return np.asarray(layer(torch.from_numpy(RANDOM.normal(size=(n, width)) * 3 + 1)).detach())


@pytest.mark.parametrize("shift", [0.0, 0.3, 3.0])
def test_the_norm_of_a_layer_norms_output_follows_from_its_direction(shift: float) -> None:
    """With a large bias both roots are positive, and the mean of z tells which is meant."""
    width = 32
    gain, bias = RANDOM.uniform(0.2, 2, width), shift * RANDOM.normal(size=width)
    vectors = outputs(width, gain, bias)
    norms = np.linalg.norm(vectors, axis=1)
    assert norms.std() > 0.01
    np.testing.assert_allclose(norms_of_directions(unit(vectors), gain, bias), norms, rtol=1e-9)
    np.testing.assert_allclose(norms_of_directions(7 * vectors, gain, bias), norms, rtol=1e-9)


def test_without_gain_in_some_dimensions_the_norm_is_missing_what_they_held() -> None:
    gain, bias = RANDOM.uniform(0.5, 2, 32), 0.1 * RANDOM.normal(size=32)
    gain[:3] = 5e-33
    vectors = outputs(32, gain, bias)
    errors = norms_of_directions(vectors, gain, bias) / np.linalg.norm(vectors, axis=1) - 1
    assert 0.01 < np.abs(errors).mean() < 0.2


def test_where_there_is_no_root_there_is_no_norm() -> None:
    assert np.isnan(norms_of_directions(np.zeros((1, 4)), np.ones(4), np.zeros(4))).all()
    assert np.isnan(norms_of_directions(np.ones((1, 4)), np.zeros(4), np.ones(4))).all()
