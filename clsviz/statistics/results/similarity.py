"""How far similarity follows length, and what can be done about it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from clsviz.statistics.results.line import Floats

N_GROUPS = 10
"""Groups of sentences by length, all of one size: deciles."""


@dataclass(frozen=True, eq=False)
class LengthBias:
    """How far the similarity of n sentences follows their lengths.

    cosine_by_length: float64 (10, 10), the mean cosine of two sentences by the tenths that their lengths are in.
    length_share: R² of the cosines of all pairs on the two tenths.
    neighbours: intp (n, 10), the nearest other sentences of each.
    neighbour_correlation: Spearman's ρ of a sentence's length with the mean length of those ten.
    lengths_apart: how far the lengths of a sentence and one of its ten nearest are apart, on average.
    times_found: float64 (10,), how often a sentence of each tenth is among the ten nearest of another, on average.
    """

    cosine_by_length: Floats
    length_share: float
    neighbours: NDArray[np.intp]
    neighbour_correlation: float
    lengths_apart: float
    times_found: Floats


@dataclass(frozen=True, eq=False)
class Chance:
    """What the measures of LengthBias come to where the lengths are shuffled among the sentences.

    cosine_by_length: of one shuffle. length_share, neighbour_correlation: their means over 99 shuffles.
    length_share_limit, neighbour_correlation_limit: what 95 of 100 shuffles stay below, the second without its sign.
    """

    cosine_by_length: Floats
    length_share: float
    length_share_limit: float
    neighbour_correlation: float
    neighbour_correlation_limit: float


class Remedy(StrEnum):
    """What is done to vectors before they are compared."""

    CENTRED = "centred"
    WHITENED = "whitened"
    ERASED = "leace"
