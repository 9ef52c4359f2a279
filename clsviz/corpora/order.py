"""The order in which a sample takes the sentences of a corpus of this machine."""

import numpy as np
from numpy.typing import NDArray

N_SHUFFLED = 1_000_000
"""So many sentences come first in random order, as the largest sample has them; the others follow as the corpus does.

Sentences that lie together are read together: in random order, each run would have to read the whole file.
"""


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """The numbers of the sentences that come in random order, of a corpus of n: intp (at most N_SHUFFLED,).

    All versions of NumPy keep the stream of RandomState, though not that of Generator: what the store holds stays true
    after an upgrade.
    """
    drawn = np.random.RandomState(seed).permutation(n)
    return drawn if n <= N_SHUFFLED else drawn[:N_SHUFFLED].copy()  # not a view, or all of it would stay in memory


def sample_order(n: int, seed: int) -> NDArray[np.intp]:
    """The numbers of all n sentences, from 0, in the order in which a sample takes them: intp (n,)."""
    drawn = shuffled(n, seed)
    is_drawn = np.zeros(n, np.bool_)
    is_drawn[drawn] = True
    return np.concatenate([drawn, np.flatnonzero(~is_drawn)])
