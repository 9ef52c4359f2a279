"""How the similarity of texts, and which are nearest to which, follow their lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import UndefinedFitError
from clsviz.statistics import retrieval
from clsviz.statistics.similarity import directions_of

_MOST_TEXTS = 5000
"""That are compared with each other, drawn by the seed."""


@dataclass(frozen=True)
class Neighbours:
    """Cosines of pairs of different texts, and the ten nearest of each, by tenths of the texts' lengths.

    n_texts: that are compared. spans: the shortest and the longest of each tenth, in tokens.
    cosines: the mean cosine of two texts by their tenths, ten by ten. times_found: how often a text of each tenth is
    among the ten nearest of another, on average. correlation: Spearman's ρ of a text's length with the mean length of
    its ten nearest; limit: what it stays below, without its sign, in 95 of 100 shuffles of the lengths.
    """

    n_texts: int
    spans: tuple[tuple[int, int], ...]
    cosines: tuple[tuple[float, ...], ...]
    times_found: tuple[float, ...]
    correlation: float
    limit: float


def neighbours_of(
    texts: Sequence[str], vectors: NDArray[np.float32], lengths: NDArray[np.int32], seed: int = 0
) -> Neighbours | None:
    """Of the different ones among the texts, (n,), with these vectors, (n, width); None where it is undefined."""
    index = retrieval.first_of_each(texts)
    if len(index) > _MOST_TEXTS:
        index = np.sort(np.random.default_rng(seed).permutation(index)[:_MOST_TEXTS])
    directions, of = directions_of(vectors[index]), lengths[index]
    try:
        bias = retrieval.length_bias(directions, of)
    except UndefinedFitError:
        return None
    return Neighbours(
        len(index),
        tuple(retrieval.length_groups(of)[1]),
        tuple(tuple(map(float, row)) for row in bias.cosine_by_length),
        tuple(map(float, bias.times_found)),
        bias.neighbour_correlation,
        retrieval.chance(directions, of, bias.neighbours).neighbour_correlation_limit,
    )
