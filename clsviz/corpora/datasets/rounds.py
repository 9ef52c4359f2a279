"""The rounds in which the row groups of a dataset are drawn, and what of them is kept."""

import contextlib
import hashlib
import io
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clsviz.atomic import new_file

ROUND_TEXTS = 20_000
"""Rows of a round, unless they are long: so many row groups are mixed as hold them."""


ROUND_BYTES = 32 * 2**20
"""Of texts, unpacked, with which a round is full as well."""


FILES_AT_ONCE = 16
"""Of a dataset in many files so many, chosen at random, are sampled together: each takes requests to look into."""


_KEPT = re.compile(r"(footer-\d{6}|round-\d{6}|head-[0-9a-f]{16})-(?P<n_bytes>\d+)-(?P<digest>[0-9a-f]{16})\.parquet")
"""The name of what is kept: a footer by its file's number, or a round by its own; n_bytes is what it took to read."""


SCHEMA = 2
"""Raise it when what is kept changes its meaning."""


DRAWING = 1
"""Raise it when the same seed draws other sentences of the same files."""


class RowGroup(NamedTuple):
    """A row group of a file of the split; both by their number."""

    file: int
    number: int


class FilePart(NamedTuple):
    """A random part of the row groups of a file, or all of them: one of n_parts of like size."""

    file: int
    number: int
    n_parts: int


class Round(NamedTuple):
    """Row groups that are mixed, and how many are known by then, in which files."""

    groups: list[RowGroup]
    n_row_groups: int
    files: frozenset[int]


class NotKeptError(Exception):
    """What is asked for would have to be fetched."""


def keep_round(folder: Path, number: int, sentences: list[str], n_bytes: int) -> None:
    content = io.BytesIO()
    pq.write_table(pa.table({"sentence": pa.array(sentences, pa.large_string())}), content, use_dictionary=False)
    keep_content(folder, f"round-{number:06}", n_bytes, content.getvalue())


def load_round(folder: Path, number: int) -> tuple[list[str], int] | None:
    """The sentences of a round that is kept, and what it took to read them."""
    kept = load_kept(folder, f"round-{number:06}")
    return kept and (pq.read_table(pa.BufferReader(kept[0]))["sentence"].to_pylist(), kept[1])


def keep_content(folder: Path, name: str, n_bytes: int, content: bytes) -> None:
    """Keep what it took n_bytes to read; its name says so, and what its content is."""
    digest = hashlib.sha256(content).hexdigest()[:16]
    with new_file(folder / f"{name}-{n_bytes}-{digest}.parquet") as temporary:
        temporary.write_bytes(content)


def load_kept(folder: Path, name: str) -> tuple[bytes, int] | None:
    """What is kept under a name, and what it took to read it; a damaged file is removed."""
    for path in folder.glob(f"{name}-*.parquet"):
        with contextlib.suppress(OSError):
            content, match = path.read_bytes(), _KEPT.fullmatch(path.name)
            if match and hashlib.sha256(content).hexdigest()[:16] == match["digest"]:
                return content, int(match["n_bytes"])
            path.unlink()
    return None


def bytes_to_read(path: Path) -> int:
    """What it took to read what is kept at `path`."""
    match = _KEPT.fullmatch(path.name)
    return int(match["n_bytes"]) if match else 0


def row_groups_of(part: FilePart, n_row_groups: int, seed: int) -> list[int]:
    """The row groups of a part of a file."""
    if part.n_parts == 1:
        return list(range(n_row_groups))
    order = np.random.RandomState([seed, part.file, 1]).permutation(n_row_groups).tolist()
    start, stop = (number * n_row_groups // part.n_parts for number in (part.number, part.number + 1))
    return [int(number) for number in order[start:stop]]
