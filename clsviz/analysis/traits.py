"""Which sentences have a trait of their text, or hold what a visitor looks for."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from clsviz.settings import Trait

_HAS: dict[Trait, Callable[[str], bool]] = {
    Trait.FULL_STOP: lambda sentence: sentence.rstrip("\"')]}”’»").endswith("."),
    Trait.QUESTION: lambda sentence: "?" in sentence,
    Trait.DIGIT: lambda sentence: any(character.isdigit() for character in sentence),
    Trait.CAPITAL: lambda sentence: sentence[:1].isupper(),
}


def having(trait: Trait, sentences: Sequence[str]) -> NDArray[np.bool_]:
    """Which of the n sentences have the trait, bool (n,)."""
    return np.fromiter(map(_HAS[trait], sentences), dtype=bool, count=len(sentences))


def holding(text: str, sentences: Sequence[str]) -> NDArray[np.bool_]:
    """Which of the n sentences hold the text, upper or lower case, bool (n,)."""
    wanted = " ".join(text.casefold().split())
    return np.fromiter((wanted in sentence.casefold() for sentence in sentences), dtype=bool, count=len(sentences))
