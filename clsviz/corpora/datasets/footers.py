"""What the footer of a Parquet file says of its columns."""

import contextlib
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from clsviz.corpora import formats
from clsviz.errors import CorpusError, first_line
from clsviz.settings import is_name, printable

_MAX_GROUPS = 100
"""Row groups from which a mean is taken."""

_SHORT_BYTES = 2 * formats.LONGEST_VALUE
"""Mean size of the texts of a column that are no longer than what is taken of them."""


@contextlib.contextmanager
def reporting_damage(repo: str) -> Iterator[None]:
    """Raise whatever is wrong with a dataset's file as a CorpusError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"{repo} has a damaged file ({printable(first_line(error))}). Choose another dataset."
        ) from error


def mean_sizes(footer: pq.FileMetaData, repo: str) -> dict[str, float]:
    """The columns that hold text, likeliest first, with the mean size of a value in bytes; raises CorpusError."""
    with reporting_damage(repo):
        sizes = {name: _mean_bytes(footer, leaf) for name, leaf in _text_columns(footer).items()}
    if not sizes:
        raise CorpusError(f"{repo} has no column that holds text. Choose another dataset.")
    return {name: sizes[name] for name in sorted(sizes, key=lambda name: formats.rank(name, sizes[name]))}


def group_sizes(footer: pq.FileMetaData, column: str, repo: str) -> list[int]:
    """Bytes of a column's texts in every row group, unpacked; raises CorpusError if the column does not hold text."""
    with reporting_damage(repo):
        leaf = _text_columns(footer).get(column)
        if leaf is not None:
            return _sizes(footer, leaf)
    raise CorpusError(
        f"{repo} has files without the column “{printable(column)}”, or where it does not hold text. Choose another "
        "column."
    )


def fields(footer: pq.FileMetaData, repo: str) -> tuple[str, ...]:
    """The columns that have a number, a time or a short text in each row; raises CorpusError."""
    with reporting_damage(repo):
        leaves = _columns(footer, _is_field)
        texts = _text_columns(footer)
        short = [name for name in leaves if name not in texts or _mean_bytes(footer, leaves[name]) <= _SHORT_BYTES]
    return formats.usable_fields(short)


def field_sizes(footer: pq.FileMetaData, field: str, repo: str) -> list[int]:
    """Bytes of one of the `fields` in every row group, unpacked; raises CorpusError if the file does not have it."""
    with reporting_damage(repo):
        leaf = _columns(footer, _is_field).get(field)
        if leaf is not None:
            return _sizes(footer, leaf)
    raise CorpusError(
        f"{repo} has files without the column “{printable(field)}”, or where it is not plain. Colour by another one."
    )


def checked_group_size(n_bytes: int, group_bytes: int, repo: str) -> int:
    """`n_bytes` in the texts of a row group; raises CorpusError if that is over `group_bytes`."""
    if n_bytes > group_bytes:
        raise CorpusError(
            f"{repo} is stored in row groups of over {group_bytes / 2**20:,.0f} MB, any of which would fill the "
            "memory. Choose another dataset."
        )
    return n_bytes


def _text_columns(footer: pq.FileMetaData) -> dict[str, int]:
    """The columns that hold text, and the number that the footer gives each."""
    return _columns(footer, formats.is_text)


def _columns(footer: pq.FileMetaData, is_one: Callable[[pa.DataType], bool]) -> dict[str, int]:
    """The columns of some types, and the number that the footer gives each."""
    leaves: dict[str, int] = {}
    for index in range(footer.num_columns):
        leaves.setdefault(footer.schema.column(index).path, index)
    names = [field.name for field in footer.schema.to_arrow_schema() if is_one(field.type)]
    return {name: leaves[name] for name in names if name in leaves and is_name(name)}


def _is_field(kind: pa.DataType) -> bool:
    return formats.is_text(kind) or formats.is_plain(kind)


def _sizes(footer: pq.FileMetaData, leaf: int) -> list[int]:
    """Bytes of a column in every row group, unpacked."""
    groups = map(footer.row_group, range(footer.num_row_groups))
    return [group.column(leaf).total_uncompressed_size for group in groups]


def _mean_bytes(footer: pq.FileMetaData, leaf: int) -> float:
    """Mean size of a column's values, unpacked."""
    chunks = [footer.row_group(group).column(leaf) for group in range(min(footer.num_row_groups, _MAX_GROUPS))]
    n_bytes, n_values = (sum(getattr(c, name) for c in chunks) for name in ("total_uncompressed_size", "num_values"))
    return float(n_bytes / max(1, n_values))
