"""The lengths of sentences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.settings import Unit


def lengths_in(unit: Unit, sentences: Sequence[str], n_tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    """Lengths of n sentences, int32 (n,): their `n_tokens`, which depend on the model, or their words or characters.

    Words are separated by white space.
    """
    if unit is Unit.TOKENS:
        return n_tokens
    count = len if unit is Unit.CHARACTERS else n_words
    return np.fromiter(map(count, sentences), np.int32, len(sentences))


def n_words(sentence: str) -> int:
    """Number of words, separated by white space; punctuation belongs to the word it touches."""
    return len(sentence.split())


def shuffled(lengths: ArrayLike, seed: int = 0) -> NDArray[np.generic]:
    """The same lengths in random order: a control, because no probe can predict these from the vectors."""
    return np.random.default_rng(seed).permutation(np.asarray(lengths))
