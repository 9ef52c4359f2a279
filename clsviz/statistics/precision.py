"""What the fast precision costs."""

import numpy as np
from numpy.typing import ArrayLike

from clsviz.statistics.correlation import squared_correlation
from clsviz.statistics.results.precision import Audit


def audit(lengths: ArrayLike, exact: ArrayLike, fast: ArrayLike) -> Audit:
    """Compare the norms of the same n > 0 sentences, (n,) each, measured exactly and in the fast precision."""
    x, y, z = (np.asarray(values, dtype=float) for values in (lengths, exact, fast))
    change = None
    if len(x) >= 3 and min(x.std(), y.std(), z.std()) > 0:
        change = squared_correlation(x, z) - squared_correlation(x, y)
    errors = np.abs(z - y)
    return Audit(len(x), float(errors.max()), float(errors.mean()), float(y.std()), change)
