"""All sentences of a whole corpus, counted by length and norm."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clsviz.analysis.norms import Shown


class Cells(NamedTuple):
    """How many sentences have each length and norm.

    lengths: int32 (n_lengths,), each one more than the one before. edges: float64 (n_bins + 1,), equally far apart.
    counts: int64 (n_lengths, n_bins).
    """

    lengths: NDArray[np.int32]
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]


def cells_of_all(shown: Shown, fewest_bins: int) -> Cells | None:
    """The sentences that the line is of, in the finest bins that are kept; None unless they are of a whole corpus.

    There are fewest_bins of them, times a power of two, so that they can be joined to so many of equal width. Norms in
    the outer bins of the census, far from all others, are left out.
    """
    census = shown.census
    if census is None or shown.fit is None:
        return None
    counts, edges = census.density(shown.length_cutoff, census.bins.n)
    occurring = np.flatnonzero(counts.any(axis=1))
    if not len(occurring):
        return None
    first, last = occurring[[0, -1]]
    inner = np.flatnonzero(counts.any(axis=0))
    n_bins = fewest_bins
    while n_bins < inner[-1] + 1 - inner[0]:
        n_bins *= 2
    start = min(int(inner[0]), census.bins.n - n_bins)
    part = counts[first : last + 1, start : start + n_bins]
    return Cells(np.arange(first, last + 1, dtype=np.int32), edges[start : start + n_bins + 1], part)
