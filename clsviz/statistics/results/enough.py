"""How many sentences are enough."""

import numpy as np
from numpy.typing import NDArray

FEW_SENTENCES = 100
"""Different ones, those that are nearly the same counted once. Among fewer, the 5% quantile would rest on less than
five, and a tenth of them by length would be less than ten: no answer is firm."""


FEWEST_OF_LINE = 3
"""Through any two a line goes, so that it says nothing."""


LEAST_ROW_GROUPS = 10
"""Among fewer, how much row groups differ cannot be said."""


def enough_row_groups(row_groups: NDArray[np.integer] | None) -> bool:
    """Whether it is known from which row groups sentences (n,) come, and these are enough to say how they differ."""
    return row_groups is not None and len(np.unique(row_groups)) >= LEAST_ROW_GROUPS
