"""What sentences are coloured by."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, figures, words
from clsviz.analysis.fields import Field


@dataclass(frozen=True, eq=False)
class Groups:
    """What the n sentences of a sample are coloured by: whether they have a trait, or what a column has beside them.

    title: what that is called where it is read. name: what its column is called in tables. of: bool (n,), or a Field.
    """

    title: str
    name: str
    of: NDArray[np.bool_] | Field

    @property
    def values(self) -> NDArray[Any]:
        """For each sentence, (n,): bool, or float64 or text, NaN or None where there is none."""
        if not isinstance(self.of, Field):
            return self.of
        return self.of.values if self.of.names else self.of.numbers

    def look(self, index: NDArray[np.intp], points: NDArray[np.intp]) -> dict[str, Any]:
        """The colours as `scatter` takes them; index: of the sentences shown. points: which of these are drawn."""
        if not isinstance(self.of, Field):
            return {"groups": self.of[index][points]}
        shown, colouring = self.of.of(index), figures.colouring
        colours = colouring.by_code(shown.codes) if shown.names else colouring.by_number(shown.numbers)
        return {"colours": colours.of(points)}

    def key(self, index: NDArray[np.intp], palette: "figures.Palette") -> "figures.Key":
        """What the colours stand for among the sentences shown, which have this index, intp (n_shown,)."""
        if not isinstance(self.of, Field):
            n = int(self.of[index].sum())
            entries = [(words.selection.YES, n, palette.other), (words.selection.NO, len(index) - n, palette.points)]
            return figures.Key(self.title, [entry for entry in entries if entry[1]])
        shown = self.of.of(index)
        names = [(name, int((shown.codes == code).sum()), colour) for colour, code, name in entries_of(shown)]
        ends = None if shown.names else figures.colouring.ends_of(shown.numbers)
        return figures.Key(self.title, [entry for entry in names if entry[1]], ends)


def entries_of(field: Field) -> list[tuple[str, int, str]]:
    """The colour, the code and the name of each group; where the values are numbers, of those that have none."""
    fields, colouring = analysis.fields, figures.colouring
    nothing = (colouring.OTHERS, fields.NOTHING, words.selection.NO_VALUE)
    if not field.names:
        return [nothing]
    named = [(colouring.NAMED[code], code, name) for code, name in enumerate(field.names)]
    return [*named, (colouring.OTHERS, fields.OTHER, words.selection.OTHER_VALUES), nothing]
