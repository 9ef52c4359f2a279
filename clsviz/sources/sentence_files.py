"""Sentences kept in a Parquet file, from which any few are read without loading the rest."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.atomic import new_file, open_regular
from clsviz.errors import CancelledError
from clsviz.settings import Reading
from clsviz.sources.paragraphs import Wrapped

_ROW_GROUP = 10_000

_SENTENCE = pa.field("sentence", pa.large_string(), nullable=False)

_UNFINISHED = "clsviz-unfinished"
"""What a file says whose batches were cancelled: how many there were, and the digest of their sentences."""

_ROW = pa.field("row", pa.int64(), nullable=False)


class Numbered(NamedTuple):
    """Sentences, and the row of a table that each comes from."""

    sentences: list[str]
    rows: list[int]


@dataclass(frozen=True)
class About:
    """What is known of a file of sentences.

    fingerprint: SHA-256 of the sentences, in hexadecimal. columns: those that could have been chosen in the file that
    the sentences come from. column: the one that was. cut: whether texts were cut into sentences. reading: what was
    one text in a plain text file. width: at which its lines were wrapped, in characters, if they were joined to
    paragraphs. n_left_out: its lines that are in no paragraph. fields: the columns of a table that have a value beside
    each sentence, whose rows are kept then.
    """

    fingerprint: str
    n_sentences: int
    columns: list[str]
    column: str
    cut: bool
    reading: str = Reading.AUTO
    width: int = 0
    n_left_out: int = 0
    fields: list[str] = field(default_factory=list)


def keep(
    batches: Iterable[list[str] | Numbered],
    path: Path,
    *,
    columns: list[str],
    column: str,
    cut: bool,
    reading: Reading = Reading.AUTO,
    wrapped: Wrapped | None = None,
    fields: Sequence[str] = (),
    unfinished: Path | None = None,
    n_before: int = 0,
) -> About:
    """Write the sentences of all batches to `path`; raises StoreError if that fails.

    wrapped: how the lines that they come from are wrapped; it is asked after the last batch. fields: the columns of the
    table that they come from; if there are any, the batches are `Numbered`. unfinished: where what was written is kept
    if the batches are cancelled; n_before: how many are there, which come before the batches.
    """
    digest = hashlib.sha256()
    schema = pa.schema([_SENTENCE, _ROW] if fields else [_SENTENCE])
    n_sentences, n_batches = 0, n_before
    with (
        new_file(path) as temporary,
        pq.ParquetWriter(
            temporary, schema, use_dictionary=False, write_page_checksum=True, write_statistics=False
        ) as writer,
    ):
        if unfinished is not None and n_before:
            for table in _tables(unfinished):
                n_sentences += _digest_more(digest, table["sentence"].to_pylist(), is_first=not n_sentences)
                writer.write_table(table.cast(schema), row_group_size=_ROW_GROUP)
        try:
            for batch in batches:
                sentences, *rows = batch if isinstance(batch, Numbered) else (batch,)
                n_batches += 1
                if sentences:
                    n_sentences += _digest_more(digest, sentences, is_first=not n_sentences)
                    writer.write_table(pa.table([sentences, *rows], schema=schema), row_group_size=_ROW_GROUP)
        except CancelledError:
            if unfinished is not None and n_sentences:
                writer.add_key_value_metadata({_UNFINISHED: f"{n_batches} {digest.hexdigest()}"})
                writer.close()
                os.replace(temporary, unfinished)
            raise
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
        width, n_left_out = (wrapped.width, wrapped.n_left_out) if wrapped else (0, 0)
        of_file = columns, column, cut, reading, width, n_left_out, list(fields)
        about = About(digest.hexdigest(), n_sentences, *of_file)
        described = json.dumps(asdict(about))
        writer.add_key_value_metadata({"clsviz": described, "clsviz-digest": _digest(described.encode())})
    return about


def n_batches_before(unfinished: Path) -> int:
    """How many batches were written before a cancellation, 0 if none are there; what is damaged is deleted."""
    digest, n_sentences = hashlib.sha256(), 0
    try:
        with open_regular(unfinished) as stream:
            n_batches, expected = pq.read_metadata(stream).metadata[_UNFINISHED.encode()].decode().split()
        for table in _tables(unfinished):
            n_sentences += _digest_more(digest, table["sentence"].to_pylist(), is_first=not n_sentences)
        if digest.hexdigest() == expected:
            return int(n_batches)
    except FileNotFoundError:
        return 0
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError):
        pass
    with contextlib.suppress(OSError):  # of a store that cannot be used: whoever writes to it says so
        unfinished.unlink(missing_ok=True)
    return 0


def _tables(path: Path) -> Iterator[pa.Table]:
    with open_regular(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)


def _digest_more(digest: "hashlib._Hash", sentences: list[str], *, is_first: bool) -> int:
    """Add sentences to the digest of all, and return how many they are."""
    digest.update(("" if is_first else "\n").encode() + "\n".join(sentences).encode())
    return len(sentences)


def about(path: Path) -> About | None:
    """What is known of the file at `path`; None if there is none or it is damaged."""
    try:
        with open_regular(path) as stream:
            return _about(pq.read_metadata(stream))
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError):
        return None


def _about(metadata: pq.FileMetaData) -> About:
    """What a file says of itself; raises one of many errors if it is damaged."""
    described = metadata.metadata[b"clsviz"]
    if metadata.metadata[b"clsviz-digest"].decode() != _digest(described):
        raise ValueError("its description is damaged")
    about = About(**json.loads(described))
    if about.n_sentences != metadata.num_rows:
        raise ValueError("its sentences are not all here")
    return about


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def rows(path: Path, order: NDArray[np.intp]) -> list[str] | None:
    """The sentences with these numbers, int (n,), in this order; None if the file is damaged."""
    return _taken(path, order, "sentence")


def rows_of_table(path: Path, order: NDArray[np.intp]) -> NDArray[np.int64] | None:
    """Which row of the table each of these sentences comes from, int64 (n,); None if the file is damaged."""
    found = _taken(path, order, "row")
    return None if found is None else np.array(found, np.int64)


def _taken(path: Path, order: NDArray[np.intp], name: str) -> list[Any] | None:
    try:
        with open_regular(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            stops = np.cumsum(sizes, dtype=np.intp)
            ascending = np.argsort(order, kind="stable")
            wanted = order[ascending]
            found: list[Any] = []
            for group, stop in enumerate(stops):
                inside = wanted[np.searchsorted(wanted, stop - sizes[group]) : np.searchsorted(wanted, stop)]
                if len(inside):
                    column = file.read_row_group(group).column(name)
                    found += column.take(pa.array(inside - (stop - sizes[group]))).to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError, KeyError):
        return None
    if len(found) != len(order):
        return None
    values: list[Any] = [None] * len(order)
    for place, value in zip(ascending.tolist(), found, strict=True):
        values[place] = value
    return values
