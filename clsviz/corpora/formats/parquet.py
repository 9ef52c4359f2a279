"""Local Parquet files."""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq

from clsviz.corpora.formats.columns import BATCH_SIZE, SAMPLE_ROWS, Table, Values, check_width, is_text, text_columns
from clsviz.corpora.formats.lines import (
    CHUNK_BYTES,
    MAX_ROW_BYTES,
    MAX_TEXT_BYTES,
    TextFile,
    megabytes,
    too_much_text,
    unreadable,
)
from clsviz.errors import CorpusError, first_line
from clsviz.settings import printable

_MAX_CHUNK_BYTES, _MAX_BATCH_BYTES = 512 * 2**20, 64 * 2**20
"""Of a column of a row group, and of what is read of it at once, both unpacked."""


# Parquet


def open_parquet(file: TextFile, name: str) -> Table:
    with _parquet(file) as table:
        check_width(len(table.schema_arrow), file.name)
        names = [column.name for column in table.schema_arrow if is_text(column.type)]
        groups = [table.metadata.row_group(index) for index in range(table.num_row_groups)]
        n_bytes = sum(group.total_byte_size for group in groups)
        chunks = (group.column(index) for group in groups for index in range(group.num_columns))
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        # Long texts come in smaller batches, for the sake of the memory.
        batch_size = max(1, min(BATCH_SIZE, MAX_ROW_BYTES * table.metadata.num_rows // max(1, n_bytes)))
    if n_bytes > MAX_TEXT_BYTES:
        raise too_much_text(file.name)
    if largest > _MAX_CHUNK_BYTES:
        limit = megabytes(_MAX_CHUNK_BYTES)
        raise CorpusError(f"{file.name} is made of row groups of over {limit}. Write it with smaller ones.")
    sample = {name: next(_parquet_values(file, SAMPLE_ROWS, name), []) for name in dict.fromkeys(names)}
    columns = text_columns(sample, file.name)
    return Table(file.path, name, "utf-8", columns, partial(_parquet_values, file, batch_size))


def _parquet_values(file: TextFile, batch_size: int, column: str) -> Values:
    with _parquet(file, column) as table:
        for batch in table.iter_batches(batch_size, columns=[column]):
            values = values_of(batch, column)
            if n_bytes_of(values) > _MAX_BATCH_BYTES:
                limit = megabytes(_MAX_BATCH_BYTES)
                raise CorpusError(f"{file.name} holds over {limit} in {len(values):,} texts. Give shorter ones.")
            yield values.to_pylist()


def values_of(batch: pa.RecordBatch, column: str) -> pa.Array:
    """A column of texts; a path into a nested column may read like its name."""
    fields = zip(batch.schema, batch.columns, strict=True)
    return next(values for field, values in fields if field.name == column and is_text(field.type))


def n_bytes_of(values: pa.Array) -> int:
    """Size of texts, as if none was stored once and meant twice."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = compute.binary_length(values.dictionary.cast(pa.large_string()))
    return int(compute.sum(lengths.take(values.indices)).as_py() or 0)


@contextlib.contextmanager
def _parquet(file: TextFile, column: str = "") -> Iterator[Any]:
    """An open Parquet file, with the texts of a column as they are stored: once, where they are meant often.

    Raises CorpusError where it is none or damaged, also for what is read in the block.
    """
    try:
        with (
            file.path.open("rb") as stream,
            # Without buffering ahead, as that would be a whole group of rows.
            pq.ParquetFile(
                stream,
                buffer_size=CHUNK_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
                read_dictionary=[column] if column else None,
            ) as table,
        ):
            yield table
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno:
            raise unreadable(file.name, error) from None
        raise CorpusError(
            f"{file.name} is no Parquet file, or a damaged one ({printable(first_line(error))}). Write or copy it anew."
        ) from None
