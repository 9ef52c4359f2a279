"""What taking the length out of vectors leaves."""

from dataclasses import dataclass, field

MOST_SENTENCES = 2500
"""The time of the nonlinear probe grows with their third power."""


BEFORE, AFTER, CONTROL = "before", "after", "shuffled lengths erased"


@dataclass(frozen=True)
class Left:
    """What is left of the length in one version of the vectors, for each fold that is done.

    linear, nonlinear: R² of the held-out lengths, by ridge regression and by kernel ridge regression. neighbours:
    Spearman's ρ of a held-out sentence's length with the mean length of its 10 nearest held-out ones by cosine.
    """

    linear: tuple[float, ...] = ()
    nonlinear: tuple[float, ...] = ()
    neighbours: tuple[float, ...] = ()


@dataclass(frozen=True)
class Erasure:
    """What is left of the length before and after erasing it, and after erasing shuffled lengths in its place.

    n: sentences used. left: by version, with one number for each of the n_done folds. n_clusters: how many of the
    sentences differ by more than a few words; None in a result that was kept without it.
    """

    n: int
    n_folds: int
    n_done: int = 0
    left: dict[str, Left] = field(default_factory=lambda: {name: Left() for name in (BEFORE, AFTER, CONTROL)})
    n_clusters: int | None = None
