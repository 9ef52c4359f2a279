"""What a column of one's own table says of its sentences: numbers, or a few names."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

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
