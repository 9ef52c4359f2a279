"""How the SentLen task came out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz.statistics.results.line import Interval

BINS: tuple[tuple[int, int], ...] = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))
"""Fewest and most words in each class, as published."""


CHANCE = 1 / len(BINS)
"""Accuracy of guessing: the classes are balanced."""


@dataclass(frozen=True, eq=False)
class Result:
    """How well the classes can be told apart.

    accuracy: share of test sentences classified correctly; interval: its 95% interval (Wilson 1927).
    dev_accuracy: on the dev sentences, which chose the strength, so it is optimistic.
    strength: C of the logistic regression. confusion: intp (classes, classes), test sentences by true class (row) and
    predicted class.
    """

    accuracy: float
    interval: Interval
    dev_accuracy: float
    strength: float
    n_train: int
    n_dev: int
    n_test: int
    confusion: NDArray[np.intp]


@dataclass(frozen=True)
class Code:
    """The classes of n sentences in bits: by the online code, and with each class as likely as any other."""

    n: int
    bits: float
    uniform_bits: float
