"""The rounds in which the row groups of a dataset are drawn."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

DRAWING = 1
"""Increase it when the same seed draws different sentences from the same files."""


@dataclass(frozen=True)
class Limits:
    """How much of a dataset is mixed at once, and how much of it fits into memory.

    round_texts, round_bytes: rows, or bytes of text when unpacked, that fill a round. files_at_once: files, chosen at
    random, that are sampled together, since looking into each takes requests. group_bytes: the largest row group that
    is read, unpacked. Different limits draw different sentences.
    """

    round_texts: int = 20_000
    round_bytes: int = 32 * 2**20
    files_at_once: int = 16
    group_bytes: int = 512 * 2**20


class RowGroup(NamedTuple):
    """A row group of a file of the split, both by number."""

    file: int
    number: int

    @property
    def id(self) -> int:
        """One number for both."""
        return self.file << 32 | self.number

    @classmethod
    def of(cls, id: int) -> "RowGroup":  # noqa: A002
        """The row group with this `id`."""
        return cls(id >> 32, id & 0xFFFFFFFF)


class FilePart(NamedTuple):
    """A random part of a file's row groups: number `number` of `n_parts` of about the same size."""

    file: int
    number: int
    n_parts: int


class Round(NamedTuple):
    """Row groups that are mixed; n_row_groups in `files` are known by then."""

    groups: list[RowGroup]
    n_row_groups: int
    files: frozenset[int]


def windows(sizes: Sequence[int], seed: int, files_at_once: int) -> Iterator[list[FilePart]]:
    """The files with these sizes in random order, a few at a time.

    Large files come in parts about as large as a typical file; otherwise sentences in small files would be likelier to
    be drawn.
    """
    unit = max(statistics.median(sizes), sum(sizes) / (len(sizes) * files_at_once), 1)
    counts = [max(1, round(size / unit)) if len(sizes) > files_at_once else 1 for size in sizes]
    parts = [FilePart(file, number, count) for file, count in enumerate(counts) for number in range(count)]
    order = np.random.RandomState(seed).permutation(len(parts)).tolist()
    for start in range(0, len(order), files_at_once):
        yield [parts[index] for index in order[start : start + files_at_once]]


def row_groups_of(part: FilePart, n_row_groups: int, seed: int) -> list[int]:
    """The numbers of the row groups in a part of a file that has `n_row_groups`."""
    if part.n_parts == 1:
        return list(range(n_row_groups))
    order = np.random.RandomState([seed, part.file, 1]).permutation(n_row_groups).tolist()
    start, stop = (number * n_row_groups // part.n_parts for number in (part.number, part.number + 1))
    return [int(number) for number in order[start:stop]]


def filled_rounds(
    groups: Sequence[RowGroup],
    size_of: Callable[[RowGroup], tuple[int, int]],
    random: np.random.RandomState,
    limits: Limits,
) -> Iterator[list[RowGroup]]:
    """The row groups in random order, as many at a time as fill a round.

    size_of: how many texts, and how many bytes of text, a row group holds.
    """
    picked: list[RowGroup] = []
    n_texts = n_bytes = 0
    for index in random.permutation(len(groups)):
        picked.append(groups[index])
        texts, size = size_of(groups[index])
        n_texts += texts
        n_bytes += size
        if n_texts >= limits.round_texts or n_bytes >= limits.round_bytes:
            yield picked
            picked, n_texts, n_bytes = [], 0, 0
    if picked:
        yield picked
