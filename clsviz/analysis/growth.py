"""A sentence that grows by a word at a time, and the corpus it is set beside."""

import re
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz import statistics

MOST_WORDS = 60
"""Of a sentence that is grown."""


_BEYOND = 1.2
"""How much further than the longest grown sentence the corpus is looked at, as its last bin has to be whole."""


class Variant(StrEnum):
    """In what way a sentence is grown."""

    TYPED = "as typed"
    SHUFFLED = "words shuffled"
    REPEATED = "one word repeated"


def words_of(sentence: str) -> list[str]:
    """What white space separates, the first MOST_WORDS."""
    return sentence.split()[:MOST_WORDS]


def grown(sentence: str, variant: Variant, *, seed: int = 0, word: str | None = None) -> list[str]:
    """What has been said after every word of the sentence, up to MOST_WORDS words.

    As typed, with its words in another order, drawn by the seed, or with `word` in the place of each: the first one
    unless told otherwise. The words shuffled are in another order than as typed wherever there is one.
    """
    words = words_of(sentence)
    if variant is Variant.TYPED:  # with the white space as typed, so that the last is the sentence itself
        start = len(sentence) - len(sentence.lstrip())
        return [sentence[start : match.end()] for match in list(re.finditer(r"\S+", sentence))[:MOST_WORDS]]
    if variant is Variant.SHUFFLED:
        words = _in_another_order(words, seed)
    if variant is Variant.REPEATED:
        words = [words[0] if word is None else word for _ in words]
    return [" ".join(words[:n]) for n in range(1, len(words) + 1)]


def _in_another_order(words: list[str], seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    while True:
        shuffled = [words[index] for index in generator.permutation(len(words))]
        if shuffled != words or len(set(words)) < 2:
            return shuffled


def length_band(lengths: ArrayLike, norms: ArrayLike, longest: int) -> pd.DataFrame | None:
    """Norm given length, as `analysis.bins`, for sentences that grow to `longest`; None where too few are so short."""
    x, y = np.asarray(lengths), np.asarray(norms)
    near = x <= max(longest * _BEYOND, longest + 2)
    table = statistics.bins(x[near], y[near])
    return table if len(table) else None


def layer_band(norms: NDArray[np.float32], unknown: Sequence[int] = ()) -> pd.DataFrame | None:
    """Quartiles of norms, float32 (n, n_layers + 1), after every layer: layer, lower, median, upper.

    NaN after the layers that are `unknown`; None where there are fewer than 3 sentences.
    """
    if len(norms) < 3:
        return None
    quartiles = np.quantile(norms, (0.25, 0.5, 0.75), axis=0)
    quartiles[:, list(unknown)] = np.nan
    table = pd.DataFrame(quartiles.T, columns=["lower", "median", "upper"])
    table.insert(0, "layer", np.arange(norms.shape[1]))
    return table
