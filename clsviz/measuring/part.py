"""Measure runs of sentences, and keep each as a part: the entry of everything that writes to the store."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clsviz.measurements import Kind, Measurements
from clsviz.measuring.part_file import Key, Part
from clsviz.measuring.store import Store

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder

_FIRST_PART, _LARGEST_OF_ALL, _SHARE = 32, 16_384, 16
_USUAL = {Kind.NORMS: 1024, Kind.VECTORS: 256}
"""Sentences of one large model whose vectors are measured take 300 kB each in float32, so a part has fewer of them."""


class Run(NamedTuple):
    """Sentences of a sample that are measured together, and the position of the first."""

    start: int
    sentences: Sequence[str]


class Measured(NamedTuple):
    """A run that was measured, the seconds it took, and where it is stored."""

    measurements: Measurements
    seconds: float
    part: Part


def part_stop(start: int, kind: Kind = Kind.NORMS) -> int:
    """Where the part that begins at `start` ends, if the sample reaches that far.

    The first parts are small, so that a picture appears soon; each then doubles what is there, up to a limit on what a
    kill can lose. Of norms that limit grows with the sample, so that there are hundreds of files and not thousands. It
    depends on the start alone, so that an interrupted run has the same parts, and thus the same batches, as any other,
    on any device.
    """
    largest = _USUAL[kind]
    while kind is Kind.NORMS and largest < _LARGEST_OF_ALL and largest * 2 * _SHARE <= start:
        largest *= 2
    return start + min(max(start, _FIRST_PART), largest)


def borders(start: int, stop: int, kind: Kind = Kind.NORMS) -> Iterator[tuple[int, int]]:
    """Start and stop of the parts from `start` to `stop`, of which the last may be cut short."""
    while start < stop:
        end = min(part_stop(start, kind), stop)
        yield start, end
        start = end


def n_between(ends: Iterable[tuple[int, int]]) -> int:
    """How many sentences there are from each start to its stop, together."""
    return sum(stop - start for start, stop in ends)


def missing(parts: Iterable[Part], n_sentences: int, kind: Kind = Kind.NORMS) -> list[tuple[int, int]]:
    """Start and stop of the parts that are still to be measured of so many sentences, in order."""
    found: list[tuple[int, int]] = []
    position = 0
    for part in sorted(parts, key=lambda part: part.start):
        found += borders(position, min(part.start, n_sentences), kind)
        position = max(position, part.stop)
    return [*found, *borders(position, n_sentences, kind)]


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
