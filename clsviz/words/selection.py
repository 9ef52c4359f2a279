"""What is said of the sentences of a picture: how they are drawn, which are selected, and which have a trait."""

from typing import TYPE_CHECKING

import numpy as np

from clsviz.errors import UndefinedFitError
from clsviz.settings import Trait
from clsviz.statistics import line
from clsviz.words.labels import vector_name
from clsviz.words.numbers import number, r_squared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData
    from clsviz.experiment import Experiment, View

TRAITS = {
    Trait.FULL_STOP: "Ends with a full stop",
    Trait.QUESTION: "Has a question mark",
    Trait.DIGIT: "Has a digit",
    Trait.CAPITAL: "Begins with a capital",
}

_HAVE = {
    Trait.FULL_STOP: "end with a full stop",
    Trait.QUESTION: "have a question mark",
    Trait.DIGIT: "have a digit",
    Trait.CAPITAL: "begin with a capital",
}

OTHER_VALUES, NO_VALUE = "other values", "no value"

YES, NO = "yes", "no"
"""Whether a sentence has a trait."""

HOW_TO_SELECT = (
    "Click a point to read its sentence. To select several, draw around them with the box or the lasso above the "
    "picture."
)


def selected(shown: "ViewData", index: "NDArray[np.intp]") -> str:
    """How many are selected, and how length and norm go together among them.

    index: intp (n,), of the selected ones among those shown.
    """
    norms = shown.norms[index]
    mean, of_all = (number(float(of.mean()), digits=2) for of in (norms, shown.norms))
    text = f"{len(index):,} selected · mean norm {mean}, of all {of_all}"
    try:
        clusters = None if shown.clusters is None else shown.clusters[index]
        fit = line.fit(shown.lengths[index], norms, clusters)
    except UndefinedFitError:
        return text
    return f"{text} · R² {r_squared(fit.r_squared)} among them"


def neighbours(n_compared: int, view: "View") -> str:
    """Of what the neighbours of a sentence are the nearest, and by what."""
    return f"The nearest of {n_compared:,} sentences, by the cosine of their vectors: {vector_name(view)}."


def no_neighbours(experiment: "Experiment", *, is_active: bool) -> str:
    """Why a sentence has no neighbours yet."""
    n = min(experiment.sample_size, experiment.probe_size)
    if is_active:
        return "The neighbours appear once the vectors are measured."
    return f"Neighbours need the whole vectors of the first {n:,} sentences, which are not measured yet."


def column(name: str) -> str:
    """What a column of a table is called where sentences can be coloured by it."""
    return f"Column “{name}”"


def reading(name: str, done: int, total: int) -> str:
    """That a column is being fetched, and how far that is."""
    how_far = f": {done:,} of {total:,} row groups" if total else ""
    return f"Fetching the column “{name}” from the Hub{how_far}…"


def of_value(n: int, mean_norm: float) -> str:
    """How many sentences have a value, and their mean norm."""
    return f"{n:,}, mean norm {number(mean_norm)}"


def end_of_scale(end: float) -> str:
    """The number at one end of a scale."""
    return f"{end:,.4g}" if abs(end) < 10_000 or end != int(end) else f"{int(end):,}"


def by_trait(trait: Trait, shown: "ViewData", has: "NDArray[np.bool_]") -> str:
    """How many sentences have the trait, and both mean norms; has: bool (n,), of those shown."""
    n, rest = int(has.sum()), int((~has).sum())
    it_has = f"{TRAITS[trait][:1].lower()}{TRAITS[trait][1:]}"
    if not n or not rest:
        if n + rest == 1:
            return f"The only sentence {it_has}." if n else f"The only sentence is not one that {it_has}."
        return f"{'All' if n else 'None'} of the {n + rest:,} sentences {_HAVE[trait]}."
    means = [number(float(shown.norms[which].mean())) for which in (has, ~has)]
    have = it_has if n == 1 else _HAVE[trait]
    return f"{n:,} of {n + rest:,} sentences {have}: mean norm {means[0]}, that of the others {means[1]}."


def part_drawn(n_drawn: int, n: int, picture: str = "The picture") -> str:
    """Said where fewer points are drawn than there are sentences."""
    return f"{picture} shows {n_drawn:,} of {n:,} sentences; the numbers use all of them."


def density(n: int, n_seen: int, n_sampled: int, n_more: int, *, is_zoomed: bool) -> str:
    """What colours and points of a density of n sentences stand for.

    n_seen: of them in the part that is seen, of which n_sampled are points; n_more: points beside these, all selected.
    """
    here = f"the {n_seen:,} in this part" if is_zoomed else f"the {n:,}"
    if n_sampled < n_seen:
        points = f"the points are {n_sampled:,} of {here}, drawn at random"
    elif n_seen:
        points = f"the points are all {here.removeprefix('the ')}"
    else:
        return "No sentence lies in this part of the picture."
    more = f", and {n_more:,} more that {'is' if n_more == 1 else 'are'} selected" if n_more else ""
    return f"A cell’s colour is the number of sentences of that length and norm; {points}{more}."


def of_zoom(*, is_zoomed: bool) -> str:
    """What to do for another part of a density."""
    return "Double-click to see all." if is_zoomed else "Zoom in for finer cells and more points."
