"""One of several workers that measure a corpus together: in any process, on any machine that sees the store."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import filelock

from clsviz.errors import SettingError
from clsviz.measurements import Measurements
from clsviz.progress import Progress
from clsviz.sources.sampling import Sample
from clsviz.store.parts import Key, Part, borders, missing, n_between
from clsviz.store.store import LOCK, Store

if TYPE_CHECKING:
    from clsviz.encoder import Encoder


class Measured(NamedTuple):
    """Sentences that were measured together, the seconds they took, and where they are stored."""

    measurements: Measurements
    seconds: float
    part: Part


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

    @property
    def lock(self) -> str:
        """The name of the lock of whoever measures it; who measures all has the writer's."""
        return LOCK if self.of == 1 else f"share-{self.rank}-of-{self.of}.lock"


class Worker:
    """Measures the parts of its share that a sample lacks; those of a worker that died are measured when it runs again.

    The same share is measured by one process of a machine at a time. Shares do not know each other: what two of them
    measure is the same file, so that costs time and changes nothing.
    """

    def __init__(
        self,
        sample: Sample,
        key: Key,
        encoder: "Encoder",
        store: Store,
        progress: Progress,
        share: Share | None = None,
        stage: str = "Measuring",
    ) -> None:
        """key: of the sample's sentences. share: by default all parts. stage: what the progress calls it."""
        self.encoder = encoder
        self._sample, self._key, self._store, self._progress = sample, key, store, progress
        self._share, self._stage = share or Share(), stage
        self.n_tokens = 0
        """How many tokens the sentences that this worker measured have, special ones not included."""

    @property
    def n_missing(self) -> int:
        """How many sentences nobody has measured yet."""
        return n_between(self._missing())

    def run(self) -> Iterator[Measured]:
        """Measure the share, and yield each part once it is stored.

        Raises ModelError, CorpusError and StoreError, and CancelledError if the progress is told to stop.
        """
        n = self._sample.n_sentences
        while self._missing_of_share():
            try:
                with self._store.lock(self._key, self._share.lock):
                    n_before = n - self.n_missing
                    self._progress.begin(self._stage, n, n_before)
                    for measured in self._measure(self._missing_of_share(), n_before):
                        yield measured
                        if self._missing_of_share():
                            self._progress.rest()
            except filelock.Timeout:
                self._progress.begin("Another process is measuring the same; waiting for it", n)
                time.sleep(0.5)

    def measure(self, start: int, stop: int) -> Iterator[Measured]:
        """Measure a part that somebody else chose, unless it is there by now, or another process has it in hand.

        Raises what `run` does.
        """
        try:
            with self._store.lock(self._key, f"{start:09d}.lock"):
                yield from self._measure([(start, stop)], 0)
        except filelock.Timeout:
            return

    def _measure(self, chosen: Iterable[tuple[int, int]], n_before: int) -> Iterator[Measured]:
        self._store.describe(self._key)
        starts: deque[int] = deque()

        def runs() -> Iterator[Sequence[str]]:  # the encoder is one ahead
            for start, stop in chosen:
                if start not in self._store.parts(self._key):  # a worker of another number of shares may have been here
                    starts.append(start)
                    yield self._sample.read(start, stop)

        def advance(done: int) -> None:
            self._progress.advance(n_before + done)

        began = time.monotonic()
        for measurements in self.encoder.stream(runs(), advance, self._key.kind):
            seconds = time.monotonic() - began
            part = self._store.append(self._key, starts.popleft(), measurements, seconds)
            self.n_tokens += int(measurements.n_tokens.sum())
            yield Measured(measurements, seconds, part)
            began = time.monotonic()

    def _missing(self) -> list[tuple[int, int]]:
        return missing(self._store.parts(self._key).values(), self._sample.n_sentences, self._key.kind)

    def _missing_of_share(self) -> list[tuple[int, int]]:
        numbers = {start: number for number, (start, _) in enumerate(borders(0, self._sample.n_sentences))}
        own: list[tuple[int, int]] = []
        number = 0
        for start, stop in self._missing():
            number = numbers.get(start, number)  # what does not begin where a part does belongs to the one before
            if number % self._share.of == self._share.rank:
                own.append((start, stop))
        return own
