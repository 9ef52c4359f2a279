"""The store of a call, and what runs models for it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from clsviz import limits
from clsviz.jobs.worker import IN_PROCESS, Runner
from clsviz.settings import Precision
from clsviz.sources.models import Weights, count_weights
from clsviz.store import SHIPPED, default_store
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results

FEW = 500
"""Fewer sentences say little about the speed."""


@dataclass(frozen=True)
class Workspace:
    """What a question needs besides its settings.

    root: the store's folder, in which measurements and results are. runner: runs models.
    speeds: of measuring, by precision: sentences times weights in a second.
    """

    root: Path
    measurements: Measurements
    results: Results
    runner: Runner
    speeds: dict[Precision, float] = field(default_factory=dict)

    @classmethod
    def of(cls, store: "str | Path | Workspace | None" = None, runner: Runner = IN_PROCESS) -> Self:
        """The workspace of a store; by default of `default_store()`."""
        if isinstance(store, cls):
            return store
        root = default_store() if store is None else Path(str(store)).expanduser()
        stores = Measurements(root, SHIPPED, limits.number("store_bytes")), Results(root, SHIPPED)
        return cls(root, *stores, runner)

    def note_speed(
        self, weights: Weights, precision: Precision, n_sentences: int, seconds: float
    ) -> None:
        """Note how long so many sentences took."""
        n_weights = count_weights(weights.folder)
        if n_sentences >= FEW and n_weights:
            self.speeds[precision] = n_sentences * n_weights / seconds

    def estimate(self, n_weights: int, n_sentences: int, precision: Precision) -> float | None:
        """Seconds for a number of sentences; None where nothing has been measured yet.

        n_weights: of the model, as `count_weights` has it: the time grows with them.
        """
        speed = self.speeds.get(precision)
        return n_sentences * n_weights / speed if speed and n_weights else None
