"""What is kept of a split: footers of its files, mean lengths of texts, rounds of sentences, and other columns."""

import contextlib
import hashlib
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.atomic import mark_used, new_file

SCHEMA = 2
"""Increase it when the meaning of what is kept changes."""


_KEPT = re.compile(
    r"(footer-\d{6}|round-\d{6}|head-[0-9a-f]{16}|values-[0-9a-f]{16}-\d{6})"
    r"-(?P<n_bytes>\d+)-(?P<digest>[0-9a-f]{16})\.parquet"
)
"""A file's name: what it holds, how many bytes were read over the network for it, and the digest of its content."""


class NotKeptError(Exception):
    """What is wanted is not on this machine and would have to be fetched."""


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
                content, match = path.read_bytes(), _KEPT.fullmatch(path.name)
                if match and hashlib.sha256(content).hexdigest()[:16] == match["digest"]:
                    mark_used(path)
                    return content, int(match["n_bytes"])
                path.unlink()
        return None


def _head(column: str) -> str:
    return f"head-{hashlib.sha256(column.encode()).hexdigest()[:16]}"


def _values(field: str) -> str:
    return f"values-{hashlib.sha256(field.encode()).hexdigest()[:16]}"
