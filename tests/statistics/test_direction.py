import numpy as np
import pytest
import torch

from clsviz.statistics.dimensions import norms_of_directions
from clsviz.statistics.ridge import unit

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


def test_of_other_vectors_it_does_not() -> None:
    gain, bias = RANDOM.uniform(0.5, 2, 32), RANDOM.normal(size=32)
    stretched = outputs(32, gain, bias) * RANDOM.uniform(1, 2, (50, 1))
    found = norms_of_directions(stretched, gain, bias)
    assert np.abs(found / np.linalg.norm(stretched, axis=1) - 1).mean() > 0.2


def test_without_gain_in_some_dimensions_the_norm_is_missing_what_they_held() -> None:
    gain, bias = RANDOM.uniform(0.5, 2, 32), 0.1 * RANDOM.normal(size=32)
    gain[:3] = 5e-33
    vectors = outputs(32, gain, bias)
    errors = norms_of_directions(vectors, gain, bias) / np.linalg.norm(vectors, axis=1) - 1
    assert 0.01 < np.abs(errors).mean() < 0.2


def test_where_there_is_no_root_there_is_no_norm() -> None:
    assert np.isnan(norms_of_directions(np.zeros((1, 4)), np.ones(4), np.zeros(4))).all()
    assert np.isnan(norms_of_directions(np.ones((1, 4)), np.zeros(4), np.ones(4))).all()
