"""Where a probe may get the length from: the same sentences, altered in several ways, beside what they are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.analysis.norms import alike
from clsviz.analysis.vectors import defined, folds, head, used
from clsviz.errors import AlterationError
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.settings import Alteration, Pooling, Unit
from clsviz.statistics import Reading
from clsviz.vectors import Vectors


@dataclass(frozen=True, eq=False)
class Origin:
    """How well linear probes of [CLS] predict the length of natural and of altered sentences, as far as that is known.

    n: sentences used. n_clusters: how many of them differ by more than a few words. width: dimensions of a vector.
    guess_error: mean absolute error of guessing the mean length.
    natural: after each layer from 0 on. altered: the same of each alteration, in the order of `Alteration`; lengths are
    those of the natural sentences, in tokens, and so are the folds. problems: why an alteration cannot be measured.
    """

    n: int
    n_clusters: int
    n_layers: int
    width: int
    guess_error: float
    natural: tuple[Reading, ...] = ()
    altered: Mapping[Alteration, tuple[Reading, ...]] = field(default_factory=dict)
    problems: Mapping[Alteration, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every alteration is measured, or cannot be."""
        whole = [readings for readings in self.altered.values() if len(readings) > self.n_layers]
        return len(whole) + len(self.problems) == len(Alteration)

    @property
    def best(self) -> Reading | None:
        """The reading of natural sentences with the highest R², the earliest on a tie; None while there is none."""
        known = [reading for reading in self.natural if reading.r_squared is not None]
        return max(known, key=lambda reading: reading.r_squared or 0.0, default=None)


def origins(found: Found, view: View, n: int, measure: Callable[[Alteration], Vectors]) -> Iterator[Origin]:
    """Probe the natural sentences among the first n, then alter them in each way, measure and probe them again.

    Yields what is known after each layer. measure: gives the vectors of the first n sentences that were found, altered,
    by the same model; raises AlterationError where the model cannot read them.
    """
    first = head(found, n)
    index, lengths = used(first, replace(view, unit=Unit.TOKENS))
    of_folds = folds(first, index)
    guess_error = statistics.guess_error(lengths, of_folds)
    n_different = len(np.unique(alike(first)[index]))
    origin = Origin(len(index), n_different, found.vectors.n_layers, found.vectors.width, guess_error)
    for natural in _probes(first.vectors, index, lengths, of_folds):
        origin = replace(origin, natural=natural)
        yield origin
    for alteration in Alteration:
        try:
            vectors = measure(alteration)
        except AlterationError as error:
            origin = replace(origin, problems={**origin.problems, alteration: str(error)})
            yield origin
            continue
        for readings in _probes(vectors, index, lengths, of_folds):
            origin = replace(origin, altered={**origin.altered, alteration: readings})
            yield origin


def _probes(
    vectors: Vectors, index: NDArray[np.intp], lengths: NDArray[np.integer], of_folds: NDArray[np.intp]
) -> Iterator[tuple[Reading, ...]]:
    """Probes of [CLS], one more layer at a time."""
    readings: tuple[Reading, ...] = ()
    for layer in range(vectors.n_layers + 1):
        of_layer = vectors.of(Pooling.CLS, layer)[index]
        readings = (*readings, statistics.read_vector(Pooling.CLS, layer, of_layer, lengths, of_folds))
        yield readings


def summary(found: Origin) -> dict[str, object]:
    """What was found, ready for JSON: for natural and for altered sentences an entry per layer, or why there is none.

    Undefined values are None.
    """

    def rows(readings: tuple[Reading, ...]) -> list[dict[str, object]]:
        return [
            {
                "layer": reading.layer,
                "r_squared": reading.r_squared,
                "fold_r_squared": list(reading.fold_r_squared),
                "error": defined(reading.error),
            }
            for reading in readings
        ]

    return {
        "n_used": found.n,
        "n_clusters": found.n_clusters,
        "guess_error": defined(found.guess_error),
        "natural": rows(found.natural),
        **{str(alteration): rows(readings) for alteration, readings in found.altered.items()},
        "problems": {str(alteration): problem for alteration, problem in found.problems.items()},
    }
