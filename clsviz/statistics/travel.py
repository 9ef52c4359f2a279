"""Whether a probe travels: trained on the sentences of one corpus, read on those of another."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from clsviz.errors import UndefinedFitError
from clsviz.settings import Pooling
from clsviz.statistics.results.travel import Leg, Travel
from clsviz.statistics.ridge import guess_error, ridge_predict, ridge_probe
from clsviz.vectors import Vectors


@dataclass(frozen=True, eq=False)
class Sentences:
    """The vectors of a corpus's sentences: which are used, intp (n,), and their lengths and folds, (n,) each."""

    vectors: Vectors
    index: NDArray[np.intp]
    lengths: NDArray[np.integer]
    folds: NDArray[np.intp]


def travel(here: Sentences, there: Sentences, pooling: Pooling) -> Iterator[Travel]:
    """Train probes on the sentences here, and read those there, layer by layer: yields what is known after each.

    The probes are those of `ridge_probe`, of the vectors of one pooling; the pooler output stands at the last layer.
    Those across see no sentence from there.
    """
    found = Travel(
        len(here.index),
        len(there.index),
        here.vectors.n_layers,
        guess_error(here.lengths, here.folds),
        float(np.abs(there.lengths - here.lengths.mean()).mean()) if len(there.index) and len(here.index) else np.nan,
        guess_error(there.lengths, there.folds),
    )
    last = here.vectors.n_layers
    for layer in [last] if pooling is Pooling.POOLER else range(last + 1):
        found = replace(found, legs=(*found.legs, _leg(here, there, pooling, layer)))
        yield found


def _leg(here: Sentences, there: Sentences, pooling: Pooling, layer: int) -> Leg:
    x, z = (of.vectors.of(pooling, layer)[of.index] for of in (here, there))
    leg = Leg(layer)
    try:
        probe = ridge_probe(x, here.lengths, here.folds)
        leg = replace(leg, within_r_squared=probe.r_squared, within_error=probe.error)
        leg = replace(leg, within_fold_r_squared=probe.fold_r_squared)
        probe = ridge_probe(z, there.lengths, there.folds)
    except UndefinedFitError:
        return leg  # there is nothing to train on, or to compare with
    lengths = np.concatenate([here.lengths, there.lengths])
    predicted = ridge_predict(np.concatenate([x, z]), lengths, np.arange(len(lengths)) >= len(x))
    return replace(
        leg,
        across_r_squared=float(r2_score(there.lengths, predicted)),
        across_error=float(np.abs(predicted - there.lengths).mean()),
        there_r_squared=probe.r_squared,
        there_error=probe.error,
        there_fold_r_squared=probe.fold_r_squared,
    )
