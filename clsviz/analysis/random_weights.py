"""What probes read from the same architecture with random weights, and how much of its vectors is linear in length."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz.analysis.layers import curve_summary, folds, linear_summary, reading_summary, used_sentences
from clsviz.analysis.view import near_duplicates
from clsviz.errors import AlterationError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Vectors
from clsviz.settings import DRAWS, Alteration, Lengths, Pooling
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.probes import Profile, Reading, Readout, read_vector, with_curve

Layers = tuple[Reading, ...]
"""Readings of [CLS] after each layer from 0 on."""


@dataclass(frozen=True, eq=False)
class Draws:
    """How well linear probes predict the lengths of n sentences where something is drawn at random.

    draws: for each, by seed from 0, the layers that are read so far.
    """

    n: int
    n_layers: int
    draws: tuple[Layers, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all are read."""
        return sum(map(len, self.draws)) == DRAWS * (self.n_layers + 1)

    def at(self, layer: int | None) -> list[Reading]:
        """The reading of each draw after a layer, None being the last, where there is one with an R²."""
        layer = self.n_layers if layer is None else layer
        there = [layers[layer] for layers in self.draws if layer < len(layers)]
        return [reading for reading in there if reading.r_squared is not None]

    def band(self) -> pd.DataFrame:
        """One row per layer: layer, lowest and highest error of the draws, least and most R² (NaN where undefined)."""
        rows = []
        for layer in range(self.n_layers + 1):
            errors = [reading.error for reading in self.at(layer)] or [np.nan]
            values = [reading.r_squared or 0.0 for reading in self.at(layer)] or [np.nan]
            rows.append((layer, min(errors), max(errors), min(values), max(values)))
        return pd.DataFrame(rows, columns=["layer", "lowest", "highest", "least", "most"])


@dataclass(frozen=True, eq=False)
class RandomWeights(Draws):
    """The same from [CLS] of untrained models, whose initialisations are the draws.

    without_positions: of the first, with one position vector for all tokens; empty where `problem` says why that cannot
    be.
    """

    without_positions: Layers = ()
    problem: str = ""

    @property
    def n_steps(self) -> int:
        """How many readings there are in all."""
        return (DRAWS + 1) * (self.n_layers + 1)

    @property
    def n_done(self) -> int:
        """How many are made, or cannot be."""
        without = self.n_layers + 1 if self.problem else len(self.without_positions)
        return sum(map(len, self.draws)) + without

    @property
    def is_complete(self) -> bool:
        """Whether all are."""
        return self.n_done == self.n_steps


def random_weights(
    found: Found, view: View, measure: Callable[[int, Alteration | None], Vectors]
) -> Iterator[RandomWeights]:
    """Probe untrained models on the sentences of a view: yields what is known after each layer of each.

    measure: gives the vectors of all sentences that were found by the model with random weights of a seed, altered if
    that is asked for; raises AlterationError where it cannot be.
    """
    index, lengths = used_sentences(found, view)
    of_folds, clusters = folds(found, view, index), near_duplicates(found, view)[index]
    result = RandomWeights(len(index), found.vectors.n_layers)

    def read(vectors: Vectors) -> Iterator[Layers]:
        layers: Layers = ()
        for layer in range(vectors.n_layers + 1):
            of_layer = vectors.of(Pooling.CLS, layer)[index]
            reading = read_vector(Pooling.CLS, layer, of_layer, lengths, of_folds)
            if layer == vectors.n_layers:
                reading = with_curve(reading, of_layer, lengths, of_folds, clusters)
            layers = (*layers, replace(reading, predictions=None))
            yield layers

    for seed in range(DRAWS):
        before = result.draws
        for layers in read(measure(seed, None)):
            result = replace(result, draws=(*before, layers))
            yield result
    try:
        for layers in read(measure(0, Alteration.ONE_POSITION)):
            result = replace(result, without_positions=layers)
            yield result
    except AlterationError as error:
        yield replace(result, problem=str(error))


def shuffles(found: Found, view: View) -> Iterator[Draws]:
    """Probe the vectors of the view's pooling with their lengths shuffled: yields what is known after each draw."""
    index, lengths = used_sentences(found, replace(view, lengths=Lengths.TRUE))
    of_folds, pooling, n_layers = folds(found, view, index), view.pooling, found.vectors.n_layers
    result = Draws(len(index), n_layers)

    def read(layer: int, drawn: NDArray[np.integer]) -> Reading:
        if pooling is Pooling.POOLER and layer < n_layers:  # which it does not have
            return Reading(pooling, layer, Readout.VECTOR)
        reading = read_vector(pooling, layer, found.vectors.of(pooling, layer)[index], drawn, of_folds)
        return replace(reading, predictions=None)

    for seed in range(DRAWS):
        drawn = np.asarray(shuffled(lengths, seed), np.int32)
        result = replace(result, draws=(*result.draws, tuple(read(layer, drawn) for layer in range(n_layers + 1))))
        yield result


def table(found: RandomWeights | None, profile: Profile) -> pd.DataFrame:
    """One row per layer of [CLS]: of the trained model, of the five untrained ones, and of that without positions.

    Columns: layer (int64); error, random_lowest, random_highest, without_positions (mean errors of the probes);
    linear_share, random_linear_share (of the variance of the vectors, of the first initialisation); linear_over_mean,
    random_linear_over_mean (that variance over the squared norm of the mean vector). All but the first are float64, NaN
    where they are undefined or not there yet.
    """
    rows = []
    for layer, of_trained in enumerate(profile.line(Pooling.CLS, Readout.VECTOR)):
        trained = of_trained or Reading(Pooling.CLS, layer, Readout.VECTOR)
        errors = [reading.error for reading in found.at(layer)] if found else []
        without = found.without_positions[layer : layer + 1] if found else ()
        first = found.draws[0][layer] if found and found.draws and layer < len(found.draws[0]) else None
        rows.append(
            {
                "layer": layer,
                "error": trained.error,
                "random_lowest": min(errors, default=np.nan),
                "random_highest": max(errors, default=np.nan),
                "without_positions": without[0].error if without else np.nan,
                "linear_share": trained.linear_share,
                "random_linear_share": first.linear_share if first else np.nan,
                "linear_over_mean": trained.linear_over_mean,
                "random_linear_over_mean": first.linear_over_mean if first else np.nan,
            }
        )
    return pd.DataFrame(rows)


def summary(found: RandomWeights) -> dict[str, object]:
    """What was read, ready for JSON; undefined values are None."""

    def rows(layers: Layers) -> list[dict[str, object]]:
        return [reading_summary(reading) | linear_summary(reading) for reading in layers]

    return {
        "n_used": found.n,
        "draws": [{"seed": seed, "layers": rows(layers)} for seed, layers in enumerate(found.draws)],
        "without_positions": rows(found.without_positions),
        "learning_curve": curve_summary(found.draws[0][-1]) if found.draws else [],
        "learning_curve_without_positions": curve_summary(
            found.without_positions[-1] if found.without_positions else None
        ),
        "problem": found.problem or None,
    }
