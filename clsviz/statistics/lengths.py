"""How long sentences are."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from clsviz.settings import Unit


def lengths_in(unit: Unit, sentences: Sequence[str], n_tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    """Lengths of n sentences, int32 (n,): their tokens, which depend on the model, or what does not.

    Words are what white space separates.
    """
    if unit is Unit.TOKENS:
        return n_tokens
    count = len if unit is Unit.CHARACTERS else _n_words
    return np.fromiter(map(count, sentences), np.int32, len(sentences))


def _n_words(sentence: str) -> int:
    return len(sentence.split())
