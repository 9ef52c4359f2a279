"""Colours of points by a value of each: a few names, or numbers on a scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMED = ("#e69f00", "#3f9fd8", "#009e73", "#cc79a7", "#d55e00", "#9a6fe0", "#b3a100")
"""Apart for every kind of colour blindness (after Okabe and Ito 2008), and seen on light and dark."""

OTHERS = "#8b929c"

SCALE = ("#3b82c4", "#a0a0a0", "#d98e04")
"""From the lowest to the highest number; what has none is of the colour of the others."""

_NONE = -0.1
"""Where on the scale from 0 to 1 those are that have no number."""

_ENDS = 0.02, 0.98
"""The quantiles between which colours differ: a few extreme numbers would take all the colours."""


@dataclass(frozen=True, eq=False)
class Colours:
    """A colour for each point: values (n,), from low to high, and the scale that they are on."""

    values: NDArray[Any]
    scale: Sequence[tuple[float, str]]
    low: float
    high: float

    def of(self, index: NDArray[np.intp]) -> "Colours":
        """Those of some of the points, intp (n,)."""
        return replace(self, values=self.values[index])


def by_code(codes: NDArray[np.integer[Any]]) -> Colours:
    """Colours of `NAMED` by their places, and for whatever is beyond them that of the others."""
    colours = (*NAMED, OTHERS)
    n = len(colours)
    scale = [(end / n, colour) for place, colour in enumerate(colours) for end in (place, place + 1)]
    return Colours(np.minimum(codes, n - 1).astype(np.float32), scale, -0.5, n - 0.5)


def by_number(numbers: NDArray[np.floating[Any]]) -> Colours:
    """Colours of `SCALE`; NaN has that of the others."""
    low, high = ends_of(numbers)
    scaled = np.clip((numbers - low) / ((high - low) or 1), 0, 1)
    first = -_NONE / (1 - _NONE)
    steps = np.linspace(first, 1, len(SCALE))
    scale = [(0.0, OTHERS), (first / 2, OTHERS), (first / 2, SCALE[0]), *zip(steps.tolist(), SCALE, strict=True)]
    return Colours(np.where(np.isnan(scaled), _NONE, scaled).astype(np.float32), scale, _NONE, 1.0)


def ends_of(numbers: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """Between which numbers colours differ; both 0 if there are none."""
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return 0.0, 0.0
    low, high = np.quantile(known, _ENDS).tolist()
    return low, high
