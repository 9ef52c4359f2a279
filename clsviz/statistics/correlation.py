"""R² of a line alone, and why there may be none."""

import numpy as np
from numpy.typing import ArrayLike

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.statistics.results.enough import FEWEST_OF_LINE
from clsviz.statistics.results.line import Floats

ROUNDING = 1e-6
"""A standard deviation below this fraction of the mean is rounding: float32 norms carry relative errors near 1e-7."""


def r_squared(lengths: ArrayLike, norms: ArrayLike) -> float:
    """R² of the line of norms on lengths alone, much faster than `fit`; raises UndefinedFitError as `fit` does."""
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    return squared_correlation(x, y)


def squared_correlation(x: Floats, y: Floats) -> float:
    """The square of Pearson's correlation, which is R² of the line of either on the other."""
    return float(np.corrcoef(x, y)[0, 1]) ** 2


def slope_within_ends(lengths: ArrayLike, norms: ArrayLike) -> float:
    """R² of the line within the shortest fifth or within the longest, whichever is larger.

    lengths, norms: (n,). 0 where the norms or the lengths of a fifth do not vary.
    """
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    low, high = np.quantile(x, (0.2, 0.8))
    ends = [(x[inside], y[inside]) for inside in (x <= low, x >= high)]
    return max((squared_correlation(*end) for end in ends if all(of.std() > 0 for of in end)), default=0.0)


def explain_undefined(lengths: Floats, norms: Floats) -> None:
    """Raise UndefinedFitError, saying why, where these sentences determine no regression line."""
    if not np.isfinite(norms).all():
        raise UndefinedFitError("The norm is not finite for every sentence, so there is no line.")
    n = len(lengths)
    ends = (float(lengths.min()), float(lengths.max())) if n else (0.0, 0.0)
    explain_undefined_of(n, ends, *((float(norms.mean()), float(norms.std())) if n else (0.0, 0.0)))


def explain_undefined_of(n: int, ends: tuple[float, float], mean: float, sd: float) -> None:
    """The same of n sentences. ends: their shortest and longest length. mean, sd: of their norms, ddof=0."""
    if n == 0:
        raise TooFewError("No whole sentence is shorter than the length cutoff.")
    if n < FEWEST_OF_LINE:
        few = f"{n} sentence{'s' * (n > 1)}"
        raise TooFewError(f"A line through {few} says nothing: at least {FEWEST_OF_LINE} are needed.")
    if ends[0] == ends[1]:
        same = f"All {n:,} sentences have the same length, {ends[0]:.0f}"
        raise UndefinedFitError(f"{same}, and through one length there is no line.")
    if sd <= ROUNDING * mean:
        same = f"{n:,} sentences ({mean:#.5g})"
        raise UndefinedFitError(f"The norm is the same for all {same}, so there is nothing for length to explain.")
