"""Where more sentences than a view shows can be had, and so what to do where they are too few."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.settings import RANGES


@dataclass(frozen=True)
class More:
    """What may add sentences to those of a view.

    by_cutoff: whether the length cutoff leaves out some that the model reads whole. by_sample: whether the corpus has,
    or may have, some that are not in the sample. is_to_come: whether some of the sample are not measured yet.
    """

    by_cutoff: bool = False
    by_sample: bool = True
    is_to_come: bool = False

    @property
    def advice(self) -> str:
        """What to do where the sentences are too few, in a sentence."""
        if self.is_to_come:
            return "Not all of the sample is measured yet."
        if self.by_cutoff:
            return "Raise the length cutoff, or take more." if self.by_sample else "Raise the length cutoff."
        return "Take more." if self.by_sample else "The corpus has no more: choose a larger one."


NOT_KNOWN = More()
"""Where nobody looked; most corpora have more than a sample."""


def more_than(found: Found, view: View, is_wanted: Callable[[str], bool] = lambda _: True) -> More:
    """What may add sentences to those that a view shows of what was found.

    is_wanted: whether a sentence is one of those that are too few.
    """
    cutoffs = slice(view.length_cutoff, RANGES["length_cutoff"][1])
    if found.census is not None:
        by_cutoff = bool(found.census.vector(view.pooling, view.layer).n[cutoffs].any())
    else:
        lengths = found.measurements.n_tokens
        left_out = (cutoffs.start <= lengths) & (lengths < cutoffs.stop) & ~found.measurements.truncated
        by_cutoff = any(is_wanted(found.sentences[i]) for i in np.flatnonzero(left_out))
    return More(by_cutoff, not found.is_of_all, found.n_missing > 0)


@contextmanager
def advised(found: Found, view: View) -> Iterator[None]:
    """Where there are too few sentences, what to do about it is said as well."""
    try:
        yield
    except TooFewError as error:
        raise UndefinedFitError(f"{error} {more_than(found, view).advice}") from None
