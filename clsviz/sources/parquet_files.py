"""Local Parquet files, and columns of text in any."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as pq

from clsviz.atomic import open_regular
from clsviz.errors import CorpusError, first_line
from clsviz.settings import printable
from clsviz.sources.tables import BATCH_SIZE, SAMPLE_ROWS, Table, Values, check_width, text_columns
from clsviz.sources.text_files import TextFile, megabytes, too_much_text, unreadable


def open_parquet(file: TextFile) -> Table:
    """The columns of text in a Parquet file; raises CorpusError if it has none, is damaged or is too large."""
    limits = file.limits
    with opened(file) as table:
        check_width(len(table.schema_arrow), file)
        names = [column.name for column in table.schema_arrow if is_text(column.type)]
        fields = [column.name for column in table.schema_arrow if is_text(column.type) or is_plain(column.type)]
        groups = [table.metadata.row_group(index) for index in range(table.num_row_groups)]
        n_bytes = sum(group.total_byte_size for group in groups)
        chunks = (group.column(index) for group in groups for index in range(group.num_columns))
        largest = max((chunk.total_uncompressed_size for chunk in chunks), default=0)
        # Long texts come in smaller batches, to save memory.
        batch_size = max(1, min(BATCH_SIZE, limits.row_bytes * table.metadata.num_rows // max(1, n_bytes)))
    if n_bytes > limits.text_bytes:
        raise too_much_text(file)
    if largest > limits.column_bytes:
        raise CorpusError(
            f"{file.name} is made of row groups of over {megabytes(limits.column_bytes)}. Write it with smaller ones."
        )
    sample = {name: next(_values(file, SAMPLE_ROWS, name), []) for name in dict.fromkeys(names)}
    columns = text_columns(sample, file.name)
    read, read_field = partial(_values, file, batch_size), partial(_plain_values, file, batch_size)
    return Table(file.path, file.name, "utf-8", columns, read, None, fields, read_field)


def check_decoded(file: TextFile) -> None:
    """Raise CorpusError if a column of text holds more than `text_bytes`: what repeats takes no room in the file."""
    with opened(file) as table:
        check_width(len(table.schema_arrow), file)
        names = [column.name for column in table.schema_arrow if is_text(column.type)]
    for name in dict.fromkeys(names):
        for _ in _values(file, BATCH_SIZE, name, only_counted=True):
            pass


def _values(file: TextFile, batch_size: int, column: str, *, only_counted: bool = False) -> Values:
    """The values of a column; raises CorpusError once they are too much. only_counted: give empty lists instead."""
    n_bytes = 0
    with opened(file, column) as table:
        for batch in table.iter_batches(batch_size, columns=[column]):
            values = values_of(batch, column)
            n_bytes_here = n_bytes_of(values)
            if n_bytes_here > file.limits.batch_bytes:
                limit = megabytes(file.limits.batch_bytes)
                raise CorpusError(f"{file.name} holds over {limit} in {len(values):,} texts. Give shorter ones.")
            n_bytes += max(n_bytes_here, 4 * len(values))  # a place in memory for each, even if it is empty
            if n_bytes > file.limits.text_bytes:
                raise too_much_text(file)
            yield [] if only_counted else values.to_pylist()


def _plain_values(file: TextFile, batch_size: int, column: str) -> Values:
    """The same of a column that may hold numbers or times, as texts."""
    with opened(file) as table:
        schema = table.schema_arrow
        if any(field.name == column and is_text(field.type) for field in schema):
            yield from _values(file, batch_size, column)
            return
        names = class_names(table.metadata, column)
        for batch in table.iter_batches(batch_size, columns=[column]):
            yield as_text(plain_values_of(batch, column), names)


def class_names(footer: pq.FileMetaData, column: str) -> list[str]:
    """What the numbers of a column stand for, from 0, as the datasets library notes it; none where it does not."""
    try:
        feature = json.loads(footer.metadata[b"huggingface"])["info"]["features"][column]
        names = feature["names"] if feature["_type"] == "ClassLabel" else []
    except (LookupError, TypeError, ValueError, RecursionError):  # most files say nothing, and anybody may write any
        return []
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else []


def as_text(values: pa.Array, names: Sequence[str]) -> list[str | None]:
    """Values of a column as texts; with the names of classes, those of numbers without one, as -1 is, are blank."""
    if not names:
        found: list[str | None] = values.cast(pa.string()).to_pylist()
        return found
    return [names[at] if isinstance(at, int) and 0 <= at < len(names) else None for at in values.to_pylist()]


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type may hold text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_plain(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds numbers, truth values or times."""
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )


def values_of(batch: pa.RecordBatch, column: str) -> pa.Array:
    """A column of texts; a path into a nested column may read like its name."""
    return _column_of(batch, column, is_text)


def plain_values_of(batch: pa.RecordBatch, column: str) -> pa.Array:
    """The same of numbers, truth values or times."""
    return _column_of(batch, column, is_plain)


def _column_of(batch: pa.RecordBatch, column: str, is_one: Callable[[pa.DataType], bool]) -> pa.Array:
    fields = zip(batch.schema, batch.columns, strict=True)
    return next(values for field, values in fields if field.name == column and is_one(field.type))


def n_bytes_of(values: pa.Array) -> int:
    """Size of texts, counting those that are stored once as often as they occur."""
    if not pa.types.is_dictionary(values.type):
        return int(values.nbytes)
    lengths = compute.binary_length(values.dictionary.cast(pa.large_string()))
    return int(compute.sum(lengths.take(values.indices)).as_py() or 0)


@contextlib.contextmanager
def opened(file: TextFile, column: str = "") -> Iterator[Any]:
    """An open Parquet file; repeated texts of `column` are held only once.

    Raises CorpusError if it is not one or is damaged, also for whatever is read in the block.
    """
    try:
        with (
            open_regular(file.path) as stream,
            # Without buffering ahead, which would read a whole row group.
            pq.ParquetFile(
                stream,
                buffer_size=file.limits.chunk_bytes,
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
            f"{file.name} is not a Parquet file, or a damaged one ({printable(first_line(error))}). Write or copy it "
            "again."
        ) from None
