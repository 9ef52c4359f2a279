"""A sentence that grows one word at a time, and the norms of the corpus to compare it with."""

import re
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz import statistics
from clsviz.experiment import View
from clsviz.vectors import Vectors

MOST_WORDS = 60
"""How many words a sentence is grown to at most."""


_BEYOND = 1.2
"""How far past the longest grown sentence the corpus is included, so that the last bin is complete."""


class Variant(StrEnum):
    """How a sentence is grown."""

    TYPED = "as typed"
    SHUFFLED = "words shuffled"
    REPEATED = "one word repeated"


def words_of(sentence: str) -> list[str]:
    """The first MOST_WORDS words, separated by white space."""
    return sentence.split()[:MOST_WORDS]


def grown(sentence: str, variant: Variant, *, seed: int = 0, word: str | None = None) -> list[str]:
    """The sentence after each of its words, up to MOST_WORDS.

    The words are as typed, in another order drawn with the seed, or all replaced by `word` (by default the first one).
    Shuffled words differ in order from the typed ones wherever a different order exists.
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


def texts(sentence: str, *, seed: int = 0, word: str | None = None) -> pd.DataFrame:
    """The sentence grown in every variant, one row per text: variant, n_words, text, added (its last word)."""
    rows = [
        (variant.value, n_words, text, text.split()[-1])
        for variant in Variant
        for n_words, text in enumerate(grown(sentence, variant, seed=seed, word=word), 1)
    ]
    return pd.DataFrame(rows, columns=["variant", "n_words", "text", "added"])


def with_norms(texts: pd.DataFrame, vectors: Vectors, view: View) -> pd.DataFrame:
    """The `texts` with two more columns: tokens (the length in the view's unit) and norm (of the view's vector).

    vectors: of the texts, in their order.
    """
    lengths = statistics.lengths_in(view.unit, texts["text"].tolist(), vectors.n_tokens)
    return texts.assign(tokens=lengths, norm=vectors.norms(view.pooling, view.layer))


def length_band(lengths: ArrayLike, norms: ArrayLike, longest: int) -> pd.DataFrame | None:
    """Norm by length, as in `statistics.bins`, up to sentences of length `longest`; None if too few are that short."""
    x, y = np.asarray(lengths), np.asarray(norms)
    near = x <= max(longest * _BEYOND, longest + 2)
    table = statistics.bins(x[near], y[near])
    return table if len(table) else None


def layer_band(norms: NDArray[np.float32], unknown: Sequence[int] = ()) -> pd.DataFrame | None:
    """Quartiles of norms, float32 (n, n_layers + 1), after every layer: layer, lower, median, upper.

    NaN after the layers in `unknown`; None for fewer than 3 sentences.
    """
    if len(norms) < 3:
        return None
    quartiles = np.quantile(norms, (0.25, 0.5, 0.75), axis=0)
    quartiles[:, list(unknown)] = np.nan
    table = pd.DataFrame(quartiles.T, columns=["lower", "median", "upper"])
    table.insert(0, "layer", np.arange(norms.shape[1]))
    return table


def _in_another_order(words: list[str], seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    while True:
        shuffled = [words[index] for index in generator.permutation(len(words))]
        if shuffled != words or len(set(words)) < 2:
            return shuffled
