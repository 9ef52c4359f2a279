"""Measure a run of sentences part by part, and keep each part: the entry of everything that writes to the store."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from clsviz.measurements import Kind, Measurements
from clsviz.measuring.store import Key, Store

if TYPE_CHECKING:
    from clsviz.encoder import Encoder

_FIRST_PART, _LARGEST_PART = 32, 1024


def part_stop(start: int, largest: int = _LARGEST_PART) -> int:
    """Where the part that begins at `start` ends, if the sample reaches that far: after at most `largest` sentences.

    The first parts are small, so that a picture appears soon; each then doubles what is there, up to a limit on what a
    kill can lose. It depends on the start alone, so that an interrupted run has the same parts, and thus the same
    batches, as any other.
    """
    return start + min(max(start, _FIRST_PART), largest)


def measure_parts(
    sentences: Sequence[str],
    start: int,
    stop: int,
    encoder: "Encoder",
    store: Store,
    key: Key,
    on_sentences: Callable[[int], None],
    check: Callable[[], None] | None = None,
) -> Iterator[tuple[Measurements, float]]:
    """Measure the sentences from `start` to `stop`, and yield each part with the seconds it took, once it is stored.

    on_sentences: gets the number of sentences of the sample measured so far, after every batch. check: makes sure of
    the encoder, or raises. With it the first part is yielded before it is stored, and stored after the check.
    """
    starts = [start]
    while starts[-1] < stop:
        starts.append(min(part_stop(starts[-1], encoder.part_size(key.kind)), stop))
    parts = (sentences[first:last] for first, last in pairwise(starts))
    position, began = start, time.monotonic()
    for measured in encoder.stream(parts, lambda done: on_sentences(start + done), key.kind):
        seconds = time.monotonic() - began
        if check is not None:
            yield measured, seconds
            check()
        part = store.append(key, position, measured, seconds)
        position += len(measured)
        if check is None:
            if key.kind is Kind.VECTORS:  # from now on they are read from the file when they are needed
                measured = store.read(part) or measured
            yield measured, seconds
        check, began = None, time.monotonic()
