"""The rounds in which the row groups of a dataset are drawn, and what is kept of them."""

import contextlib
import hashlib
import io
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.atomic import mark_used, new_file, open_regular
from clsviz.sources.hub_files import RowGroup

DRAWING = 2
"""Increase it when the same seed draws different sentences from the same files."""

SCHEMA = 2
"""Increase it when the meaning of what is kept changes."""

_KEPT = re.compile(
    r"(footer-\d{6}|round-\d{6}|head-[0-9a-f]{16}|values-[0-9a-f]{16}-\d{6})"
    r"-(?P<n_bytes>\d+)-(?P<digest>[0-9a-f]{16})\.parquet"
)
"""A file's name: what it holds, how many bytes were read over the network for it, and the digest of its content."""


@dataclass(frozen=True)
class Limits:
    """How much of a dataset is mixed at once, and how much of it fits into memory.

    round_texts, round_bytes: rows, or bytes of text when unpacked, that fill a round. files_at_once: files, chosen at
    random, that are sampled together, since looking into each takes requests. group_bytes: the largest row group that
    is read, unpacked. Different limits draw different sentences.
    """

    round_texts: int = 20_000
    round_bytes: int = 32 * 2**20
    files_at_once: int = 64
    group_bytes: int = 512 * 2**20


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


class KeptRound(NamedTuple):
    """What is kept of a round.

    sentences: in random order. row_groups: int64 (n,), the `RowGroup.id` of each, or None where it is not known.
    n_bytes: read for them. rows: int64 (n,), the row of each in its row group, or None where it is not known.
    """

    sentences: list[str]
    row_groups: NDArray[np.int64] | None
    n_bytes: int
    rows: NDArray[np.int64] | None = None


class Storage:
    """A folder that keeps what was read; a damaged file counts as missing and is removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._footers: dict[int, pq.FileMetaData] = {}

    def below(self, name: str) -> "Storage":
        """Storage in a subfolder."""
        return Storage(self._folder / name)

    def footer(self, file: int) -> pq.FileMetaData | None:
        """The footer of the file with this number."""
        if file not in self._footers and (kept := self._load(f"footer-{file:06}")):
            self._footers[file] = pq.read_metadata(pa.BufferReader(kept[0]))
        return self._footers.get(file)

    def keep_footer(self, file: int, footer: pq.FileMetaData, n_bytes: int) -> None:
        """Keep the footer of a file; reading it took `n_bytes`."""
        content = io.BytesIO()
        footer.write_metadata_file(content)
        self._keep(f"footer-{file:06}", n_bytes, content.getvalue())
        self._footers[file] = footer

    def mean_characters(self, column: str) -> float | None:
        """The mean length of a column's first texts."""
        kept = self._load(_head(column))
        return kept and float(kept[0])

    def keep_mean_characters(self, column: str, mean: float, n_bytes: int) -> None:
        """Keep the mean length of a column's first texts; reading them took `n_bytes`."""
        self._keep(_head(column), n_bytes, str(mean).encode())

    def round(self, number: int) -> KeptRound | None:
        """What is kept of a round."""
        kept = self._load(f"round-{number:06}")
        if kept is None:
            return None
        table = pq.read_table(pa.BufferReader(kept[0]))
        # Rounds that an earlier version kept have no row groups, or no rows in them.
        row_groups, rows = (
            table[name].to_numpy() if name in table.column_names else None for name in ("row_group", "row")
        )
        return KeptRound(table["sentence"].to_pylist(), row_groups, kept[1], rows)

    def keep_round(self, number: int, kept: KeptRound) -> None:
        """Keep a round."""
        content = io.BytesIO()
        columns = {
            "sentence": pa.array(kept.sentences, pa.large_string()),
            "row_group": pa.array(kept.row_groups),
            "row": pa.array(kept.rows),
        }
        pq.write_table(pa.table(columns), content, use_dictionary=False)
        self._keep(f"round-{number:06}", kept.n_bytes, content.getvalue())

    def values(self, field: str, number: int) -> list[str | None] | None:
        """What another column has beside each sentence of a round; None where that is not kept."""
        kept = self._load(f"{_values(field)}-{number:06}")
        values: list[str | None] | None = kept and pq.read_table(pa.BufferReader(kept[0]))["value"].to_pylist()
        return values

    def keep_values(self, field: str, number: int, values: list[str | None], n_bytes: int) -> None:
        """Keep what another column has beside each sentence of a round; reading it took `n_bytes`."""
        content = io.BytesIO()
        pq.write_table(pa.table({"value": pa.array(values, pa.string())}), content)
        self._keep(f"{_values(field)}-{number:06}", n_bytes, content.getvalue())

    def bytes_looked_into(self, files: Iterable[int]) -> int:
        """How many bytes were read for the footers of files and the lengths of texts."""
        patterns = [*(f"footer-{file:06}-*" for file in files), "head-*"]
        matches = [_KEPT.fullmatch(path.name) for pattern in patterns for path in self._folder.glob(pattern)]
        return sum(int(match["n_bytes"]) for match in matches if match)

    def _keep(self, name: str, n_bytes: int, content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()[:16]
        path = self._folder / f"{name}-{n_bytes}-{digest}.parquet"
        with new_file(path) as temporary:
            temporary.write_bytes(content)
        for before in self._folder.glob(f"{name}-*.parquet"):
            if before != path:
                before.unlink(missing_ok=True)

    def _load(self, name: str) -> tuple[bytes, int] | None:
        for path in self._folder.glob(f"{name}-*.parquet"):
            with contextlib.suppress(OSError):
                with open_regular(path) as file:
                    content, match = file.read(), _KEPT.fullmatch(path.name)
                if match and hashlib.sha256(content).hexdigest()[:16] == match["digest"]:
                    mark_used(path)
                    return content, int(match["n_bytes"])
                path.unlink()
        return None


def _head(column: str) -> str:
    return f"head-{hashlib.sha256(column.encode()).hexdigest()[:16]}"


def _values(field: str) -> str:
    return f"values-{hashlib.sha256(field.encode()).hexdigest()[:16]}"
