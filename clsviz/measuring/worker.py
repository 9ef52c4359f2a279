"""One of several workers that measure a corpus together: in any process, on any machine that sees the store."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clsviz.errors import SettingError
from clsviz.measuring.claims import Claim
from clsviz.measuring.part import Measured, Run, borders, measure_parts, missing, n_between
from clsviz.measuring.part_file import Key
from clsviz.measuring.store import Store
from clsviz.progress import Progress
from clsviz.sources.sampling import Sample

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder

_LOOK_SECONDS = 1.0
"""How often to look whether the others are done."""


@dataclass(frozen=True)
class Share:
    """Which parts fall to one of several workers: every `of`-th from `rank`, which counts from 0.

    Raises SettingError where there is no such worker.
    """

    rank: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.of:
            raise SettingError(f"rank is {self.rank} of {self.of}; it must be a number from 0 to {self.of - 1}.")


class Worker:
    """Measures its share of the parts that a sample lacks, and then what others have left.

    A part is claimed before it is measured, and a claim ends with its process: so none is measured twice, and what a
    worker that died had in hand is taken by whoever comes next.
    """

    def __init__(
        self,
        sample: Sample,
        key: Key,
        encoder: "AnyEncoder",
        store: Store,
        progress: Progress,
        share: Share | None = None,
    ) -> None:
        """key: of the norms of the sample's sentences. share: by default all parts."""
        self._sample, self._key, self._encoder, self._store = sample, key, encoder, store
        self._progress, self._share = progress, share or Share()
        self._claims: dict[int, Claim] = {}
        self.n_tokens = 0
        """How many tokens the sentences that this worker measured have, special ones not included."""

    @property
    def n_missing(self) -> int:
        """How many sentences nobody has measured yet."""
        return n_between(self._missing())

    def run(self, *, wait: bool = False) -> Iterator[Measured]:
        """Measure, and yield each part once it is stored.

        wait: whether to wait until others have measured what they have in hand, and to take it over if they do not.
        Raises ModelError, CorpusError and StoreError, and CancelledError if the progress is told to stop.
        """
        self._store.describe(self._key)
        while n_missing := self.n_missing:
            n_before = self._sample.n_sentences - n_missing
            self._progress.begin("Measuring", self._sample.n_sentences, n_before)
            is_idle = True
            for measured in self._measure(self._in_turn(), n_before):
                is_idle = False
                yield measured
                self._progress.rest()
            if is_idle and not wait:
                return
            if is_idle:
                self._progress.begin("Other processes are measuring the rest; waiting for them", n_missing)
                time.sleep(_LOOK_SECONDS)

    def measure(self, chosen: Iterable[tuple[int, int]]) -> Iterator[Measured]:
        """Measure the parts with these starts and stops, which somebody else chose of what is missing.

        Those that are there by now, or that another process has in hand, are left out. Raises what `run` does.
        """
        self._store.describe(self._key)
        yield from self._measure(chosen, 0)

    def _measure(self, chosen: Iterable[tuple[int, int]], n_before: int) -> Iterator[Measured]:
        def advance(done: int) -> None:
            self._progress.advance(n_before + done)

        try:
            for measured in measure_parts(self._claimed(chosen), self._encoder, self._store, self._key, advance):
                self._claims.pop(measured.part.start).release()
                self.n_tokens += int(measured.measurements.n_tokens.sum())
                yield measured
        finally:
            for claim in self._claims.values():
                claim.release()
            self._claims.clear()

    def _claimed(self, chosen: Iterable[tuple[int, int]]) -> Iterator[Run]:
        """Those of these parts that nobody has."""
        for start, stop in chosen:
            claim = self._store.claim(self._key, start)
            if claim is not None:
                self._claims[start] = claim
                yield Run(start, self._sample.read(start, stop))

    def _in_turn(self) -> list[tuple[int, int]]:
        """The missing parts of the share, in order; then those of the others, from the end."""
        numbers = {start: number for number, (start, _) in enumerate(borders(0, self._sample.n_sentences))}
        own: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        number = 0
        for start, stop in self._missing():
            number = numbers.get(start, number)  # what does not begin where a part does belongs to the one before
            (own if number % self._share.of == self._share.rank else others).append((start, stop))
        return own + others[::-1]

    def _missing(self) -> list[tuple[int, int]]:
        return missing(self._store.parts(self._key).values(), self._sample.n_sentences)
