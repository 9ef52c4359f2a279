"""The norm of [CLS] against length, after every layer."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.analysis.norms import audit_of, lengths_of, under_cutoff
from clsviz.errors import UndefinedFitError
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.settings import Pooling

MOST_DRAWN = 400
"""Sentences drawn after each layer: a browser has as many pictures to draw as the model has layers."""

MOST_ADDED = 200
"""Sentences that are drawn beside these because they are selected."""


@dataclass(frozen=True, eq=False)
class AfterLayer:
    """The norms after one layer, and the line through them.

    norms: float32 (n_drawn,). mean, sd: of all sentences. r_squared, slope (norm per unit of length), intercept: of the
    line through all; None if there is none, and `problem` then says why, in two words.
    """

    layer: int
    norms: NDArray[np.float32]
    mean: float
    sd: float
    r_squared: float | None = None
    slope: float | None = None
    intercept: float | None = None
    problem: str = ""


@dataclass(frozen=True, eq=False)
class EveryLayer:
    """The same n sentences after every layer.

    index: intp (n_drawn,), the sentences that are drawn, among those measured. lengths: int32 (n_drawn,).
    """

    n: int
    index: NDArray[np.intp]
    lengths: NDArray[np.int32]
    layers: tuple[AfterLayer, ...]


def every_layer(found: Found, view: View) -> EveryLayer:
    """Norm against length after each layer, for the sentences that the view shows; its own layer plays no part."""
    index, _ = under_cutoff(found.measurements, view)
    lengths = lengths_of(found, view, index)
    layers = range(found.measurements.n_layers + 1)
    drawn = slice(0, MOST_DRAWN)  # the sample is in random order
    return EveryLayer(
        len(index), index[drawn], lengths[drawn], tuple(_after(found, view, layer, index, lengths) for layer in layers)
    )


def with_others(every: EveryLayer, found: Found, view: View, sentences: NDArray[np.intp]) -> EveryLayer:
    """The same with those of `sentences` that the view shows and that were not drawn: 200 more at most."""
    index, _ = under_cutoff(found.measurements, view)
    places = np.flatnonzero(np.isin(index, sentences))
    places = places[places >= len(every.index)][:MOST_ADDED]  # the first are drawn
    if not len(places):
        return every
    more = index[places]
    layers = tuple(
        replace(after, norms=np.concatenate([after.norms, found.measurements.norms(Pooling.CLS, after.layer)[more]]))
        for after in every.layers
    )
    lengths = np.concatenate([every.lengths, lengths_of(found, view, index)[places]])
    return replace(every, index=np.concatenate([every.index, more]), lengths=lengths, layers=layers)


def _after(found: Found, view: View, layer: int, index: NDArray[np.intp], lengths: NDArray[np.int32]) -> AfterLayer:
    norms = found.measurements.norms(Pooling.CLS, layer)[index]
    y = norms.astype(float)
    mean, sd = (float(y.mean()), float(y.std(ddof=1))) if len(y) > 1 else (0.0, 0.0)
    after = AfterLayer(layer, norms[:MOST_DRAWN], mean, sd)
    audit = audit_of(found, replace(view, pooling=Pooling.CLS, layer=layer))
    if found.audit is not None and (audit is None or not audit.keeps_r_squared):
        return replace(after, problem="not measurable")
    try:
        r_squared = statistics.r_squared(lengths, norms)
    except UndefinedFitError:
        return replace(after, problem="constant" if len(y) > 1 and sd <= statistics.ROUNDING * mean else "no line")
    slope, at_mean = np.polyfit(lengths - lengths.mean(), y - mean, 1).tolist()
    return replace(after, r_squared=r_squared, slope=slope, intercept=mean + at_mean - slope * float(lengths.mean()))
