from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Sample = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]


@pytest.fixture
def sample() -> Callable[..., Sample]:
    """Lengths, norms and clusters of n sentences, whose norms fall a little with length."""

    def draw(n: int = 200, seed: int = 0, slope: float = -0.01, n_clusters: int = 0) -> Sample:
        random = np.random.default_rng(seed)
        lengths = random.integers(3, 60, n).astype(float)
        norms = 7 + slope * lengths + random.normal(0, 0.2 + 0.01 * lengths)
        clusters = random.integers(0, n_clusters, n) if n_clusters else np.arange(n)
        return lengths, norms, clusters

    return draw
