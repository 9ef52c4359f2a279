"""Extractions in tests: run, compared, and interrupted."""

from collections.abc import Iterable, Iterator
from dataclasses import fields

from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.jobs.share import Measured
from clsviz.measurements import Measurements
from clsviz.progress import Progress
from clsviz.store import Store


def run(experiment: Experiment, store: Store) -> tuple[Found, Extraction]:
    found = Extraction(experiment, store, Encoders())
    return found.run(Progress()), found


def equal(one: Measurements, other: Measurements) -> bool:
    """Equal to the last bit."""
    return all(
        getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes() for field in fields(Measurements)
    )


def n_in_turns(runs: Iterable[Iterator[Measured]]) -> int:
    """How many sentences several workers measure, a part each in turns, until none of them measures any more."""
    n, left = 0, [*runs]
    while left:
        measured = [next(one, None) for one in left]
        n += sum(len(one.measurements) for one in measured if one)
        left = [one for one, last in zip(left, measured, strict=True) if last]
    return n


class Steps(Progress):
    """Does something at a given step, like a user or a power cut."""

    def __init__(self, at: int, action: object) -> None:
        super().__init__()
        self.at, self.action = at, action

    def advance(self, done: int) -> None:
        super().advance(done)
        if done >= self.at:
            self.action()
