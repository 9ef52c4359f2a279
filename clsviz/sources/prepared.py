"""A model and a sample, before and after they are measured."""

from dataclasses import dataclass

from clsviz.measurements import Means, Norms
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model and a sample, ready to be measured."""

    weights: Weights
    sample: Sample


@dataclass(frozen=True, eq=False)
class Measured:
    """The norms of the first `len(norms)` sentences of a sample, by one model.

    key: the name under which they are stored. n_new: sentences that were measured now, which took
    so many seconds; the others were stored.
    is_complete: True if every sentence of the sample is measured.
    means: norms of the mean of these sentences, where all of them are measured too.
    """

    key: str
    weights: Weights
    sample: Sample
    norms: Norms
    n_new: int
    seconds: float
    is_complete: bool
    means: Means | None = None
