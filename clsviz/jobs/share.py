"""One of several workers that measure a corpus together: in any process, on any machine that sees the store."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import filelock

from clsviz.errors import SettingError
from clsviz.measurements import Kind, Measurements
from clsviz.progress import Progress
from clsviz.sources.sampling import Sample
from clsviz.store.parts import Key, Part, borders, missing, n_between
from clsviz.store.store import LOCK, Store

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder


class Run(NamedTuple):
    """Sentences of a sample that are measured together, and the position of the first."""

    start: int
    sentences: Sequence[str]


class Measured(NamedTuple):
    """A run that was measured, the seconds it took, and where it is stored."""

    measurements: Measurements
    seconds: float
    part: Part


def measure_parts(
    runs: Iterable[Run],
    encoder: "AnyEncoder",
    store: Store,
    key: Key,
    on_sentences: Callable[[int], None],
) -> Iterator[Measured]:
    """Measure runs of sentences, and yield each once it is stored.

    on_sentences: gets the number of sentences measured so far, after every batch.
    """
    starts: deque[int] = deque()  # the encoder is one run ahead

    def sentences() -> Iterator[Sequence[str]]:
        for run in runs:
            starts.append(run.start)
            yield run.sentences

    began = time.monotonic()
    for measured in encoder.stream(sentences(), on_sentences, key.kind):
        seconds = time.monotonic() - began
        part = store.append(key, starts.popleft(), measured, seconds)
        if key.kind is Kind.VECTORS:  # from now on they are read from the file when they are needed
            measured = store.read(part) or measured
        yield Measured(measured, seconds, part)
        began = time.monotonic()


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
        encoder: "AnyEncoder",
        store: Store,
        progress: Progress,
        share: Share | None = None,
    ) -> None:
        """key: of the norms of the sample's sentences. share: by default all parts."""
        self._sample, self._key, self._encoder, self._store = sample, key, encoder, store
        self._progress, self._share = progress, share or Share()
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
                    self._progress.begin("Measuring", n, n_before)
                    for measured in self._measure(self._missing_of_share(), n_before):
                        yield measured
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
        runs = (
            Run(start, self._sample.read(start, stop))
            for start, stop in chosen
            if start not in self._store.parts(self._key)  # a worker of another number of shares may have been here
        )

        def advance(done: int) -> None:
            self._progress.advance(n_before + done)

        for measured in measure_parts(runs, self._encoder, self._store, self._key, advance):
            self.n_tokens += int(measured.measurements.n_tokens.sum())
            yield measured

    def _missing(self) -> list[tuple[int, int]]:
        return missing(self._store.parts(self._key).values(), self._sample.n_sentences)

    def _missing_of_share(self) -> list[tuple[int, int]]:
        numbers = {start: number for number, (start, _) in enumerate(borders(0, self._sample.n_sentences))}
        own: list[tuple[int, int]] = []
        number = 0
        for start, stop in self._missing():
            number = numbers.get(start, number)  # what does not begin where a part does belongs to the one before
            if number % self._share.of == self._share.rank:
                own.append((start, stop))
        return own
