"""The view's vectors projected onto two dimensions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.analysis.more import advised
from clsviz.analysis.vectors import folds, used
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.statistics.results import MOST_PROJECTED, Projection


@dataclass(frozen=True, eq=False)
class Projected:
    """The projection, and its sentences: index intp (n,) among those measured, and lengths int32 (n,)."""

    index: NDArray[np.intp]
    lengths: NDArray[np.int32]
    projection: Projection


def project(found: Found, view: View) -> Projected:
    """The vectors of the sentences shown on two principal components; raises UndefinedFitError where there are none."""
    index, lengths = used(found, view)
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    with advised(found, view):
        projected = statistics.projection(vectors, lengths, folds(found, index))
    return Projected(index[:MOST_PROJECTED], lengths[:MOST_PROJECTED], projected)
