"""Lengths and norms made up."""

import numpy as np


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths, and norms that fall a little with them and spread most among short sentences, as real ones do."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 80, n)
    norms = 7.6 - 0.005 * lengths + random.normal(size=n) * 0.3 * (1 + 10 / lengths)
    return lengths, norms.astype(np.float32)
