"""Columns of vectors, numbers and texts in a local Parquet file, read together, a few rows at a time."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from clsviz.corpora.formats.columns import check_width, is_text
from clsviz.corpora.formats.files import TextFile
from clsviz.corpora.formats.parquet import opened
from clsviz.errors import CorpusError
from clsviz.settings import is_name, shown


class Columns(NamedTuple):
    """The columns of a table by what they may be: texts, vectors, numbers."""

    n_rows: int
    texts: tuple[str, ...]
    vectors: tuple[str, ...]
    numbers: tuple[str, ...]


def columns_of(file: TextFile) -> Columns:
    """What its columns may be; raises CorpusError if it is no Parquet file or a damaged one."""
    with opened(file) as table:
        check_width(len(table.schema_arrow), file)
        fields = {field.name: field.type for field in table.schema_arrow if is_name(field.name)}
        n_rows = int(table.metadata.num_rows)

    def those(holds: Any) -> tuple[str, ...]:
        return tuple(name for name, kind in fields.items() if holds(kind))

    return Columns(n_rows, those(is_text), those(_is_of_vectors), those(_is_of_numbers))


def column_batches(file: TextFile, names: Sequence[str], n: int) -> Iterator[list[Any]]:
    """The columns of these names, n rows at a time: texts as lists, numbers and vectors as arrays.

    Raises CorpusError at a row that has none, or a vector of another width than the others.
    """
    n_before, width = 0, 0
    with opened(file) as table:
        for batch in table.iter_batches(n, columns=[*dict.fromkeys(names)]):
            fields = dict(zip(batch.schema.names, batch.columns, strict=True))
            found = []
            for name in names:
                values = fields[name]
                if values.null_count:
                    row = n_before + int(np.flatnonzero(values.is_null())[0]) + 1
                    raise CorpusError(f"Row {row:,} of {file.name} has nothing in “{shown(name)}”. Leave it out.")
                if is_text(values.type):
                    found.append(values.to_pylist())
                elif _is_of_numbers(values.type):
                    found.append(values.to_numpy(zero_copy_only=False))
                else:
                    vectors = _stacked(values, width, name, file.name, n_before)
                    width = vectors.shape[1]
                    found.append(vectors)
            yield found
            n_before += len(batch)


def _stacked(values: Any, width: int, name: str, file_name: str, n_before: int) -> NDArray[Any]:
    """Vectors as the rows of an array; width: of those before, or 0."""
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    widths = np.asarray(compute.list_value_length(values))
    width = width or int(widths[0])
    if (widths != width).any():
        row = int(np.flatnonzero(widths != width)[0])
        raise CorpusError(
            f"Row {n_before + row + 1:,} of {file_name} has {widths[row]:,} numbers in “{shown(name)}”, the first row "
            f"{width:,}. Give vectors of one width."
        )
    numbers = values.flatten()
    if numbers.null_count:
        raise CorpusError(f"A vector in “{shown(name)}” of {file_name} lacks a number. Leave its row out.")
    return np.asarray(numbers.to_numpy(zero_copy_only=False)).reshape(len(values), width)


def _is_of_numbers(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _is_of_vectors(kind: Any) -> bool:
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and _is_of_numbers(kind.value_type))
