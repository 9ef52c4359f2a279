"""What sentences are coloured by: a column of one's own table, a trait of their text, or what a visitor looks for."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clsviz.settings import Trait

MOST_NAMES = 7
"""More different values than this are numbers, if they can be read as such, or else the rarer ones have no name."""

OTHER, NOTHING = MOST_NAMES, MOST_NAMES + 1
"""The codes of values without a name, and of none."""


@dataclass(frozen=True, eq=False)
class Field:
    """The values of a column beside n sentences.

    names: the most frequent, at most `MOST_NAMES`; none if the values are numbers. codes: int8 (n,), the place of each
    value in `names`, or `OTHER`, or `NOTHING`. numbers: float64 (n,), NaN where there is none; all NaN if there are
    names. values: object (n,), text, or None where there is none.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int8]
    numbers: NDArray[np.float64]
    values: NDArray[np.object_]

    def of(self, index: NDArray[np.intp]) -> "Field":
        """The same for some of the sentences."""
        return replace(self, codes=self.codes[index], numbers=self.numbers[index], values=self.values[index])


def field(values: Sequence[str | None]) -> Field:
    """The values, as numbers if there are many different ones and all can be read as such, or else by name."""
    counts = Counter(value for value in values if value is not None)
    read = {value: _number(value) for value in counts}
    n, texts = len(values), np.array(values, object)
    if len(counts) > MOST_NAMES and all(number is not None for number in read.values()):
        found = (np.nan if value is None else read[value] for value in values)
        codes = np.array([NOTHING if value is None else OTHER for value in values], np.int8)
        return Field((), codes, np.fromiter(found, np.float64, n), texts)
    names = tuple(name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_NAMES])
    places = {name: place for place, name in enumerate(names)} | {None: NOTHING}
    codes = np.fromiter((places.get(value, OTHER) for value in values), np.int8, n)
    return Field(names, codes, np.full(n, np.nan), texts)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


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
