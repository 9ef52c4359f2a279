"""The order in which a sample takes the sentences of a corpus of this machine."""

import numpy as np
from numpy.typing import NDArray

_N_SHUFFLED = 1_000_000
"""So many come in random order, as the largest sample has them; the others follow as the corpus has them."""


def sample_order(n: int, seed: int) -> NDArray[np.intp]:
    """The numbers of all n sentences, from 0, in the order in which a sample takes them: intp (n,)."""
    drawn = np.random.RandomState(seed).permutation(n)[:_N_SHUFFLED]
    if n <= _N_SHUFFLED:
        return drawn
    is_drawn = np.zeros(n, np.bool_)
    is_drawn[drawn] = True
    return np.concatenate([drawn, np.flatnonzero(~is_drawn)])
