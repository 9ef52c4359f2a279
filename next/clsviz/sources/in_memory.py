"""Texts in memory as a table: lists, and what pandas and datasets hold."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from clsviz.errors import CorpusError, quote
from clsviz.progress import Progress, silent
from clsviz.sources.tables import LONE_SURROGATE

POSITION: Final = "index"
"""The column with the position of each text; another one of this name is left out."""


@dataclass(frozen=True)
class InMemory:
    """A table in memory."""

    table: pa.Table

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The table."""
        yield self.table


def table_of(texts: Any) -> tuple[pa.Table, pa.Array]:
    """The columns of texts as strings, and their index; raises CorpusError where they are none."""
    if isinstance(texts, str):
        raise CorpusError("The texts are a single string.", "Give a list of strings.")
    if isinstance(texts, Mapping):
        choice = f", such as {quote(next(iter(texts)))}" if texts else ""
        reason = f"The texts are a {type(texts).__name__}, which holds several parts."
        raise CorpusError(reason, f"Choose a split{choice}, and give it alone.")
    pandas, datasets = sys.modules.get("pandas"), sys.modules.get("datasets")
    columns: dict[str, Any]
    if pandas and isinstance(texts, pandas.DataFrame):
        columns, index = {str(name): texts[name] for name in texts.columns}, texts.index
    elif pandas and isinstance(texts, pandas.Series):
        columns, index = {"": texts}, texts.index
    elif datasets and isinstance(texts, datasets.Dataset):
        kinds = {name: getattr(kind, "dtype", "") for name, kind in texts.features.items()}
        names = [name for name, kind in kinds.items() if kind in ("string", "large_string")]
        columns, index = texts.select_columns(names).with_format(None)[:], range(len(texts))
    else:
        columns = {"": list(texts)}
        index = range(len(columns[""]))
    table = pa.table({name: _strings(name, list(values)) for name, values in columns.items()})
    positions = pa.array(map(str, range(len(index))), pa.string())
    if POSITION in table.column_names:
        table = table.drop_columns(POSITION)
    return table.append_column(POSITION, positions), _index(list(index))


def _index(labels: list[Any]) -> pa.Array:
    try:
        return pa.array(labels)
    except pa.ArrowException:  # labels of several types
        return pa.array(map(str, labels), pa.string())


def _strings(name: str, values: list[Any]) -> pa.Array:
    """Values as large_string if they are texts, else as string; texts alone must be texts."""
    try:
        return pa.array(values, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError:
        is_half = [isinstance(v, str) and LONE_SURROGATE.search(v) is not None for v in values]
        reason = f"Text {is_half.index(True):,}, from 0, holds half a character, a lone surrogate."
        raise CorpusError(reason, "Write the other half too, or leave it out.") from None
    except (pa.ArrowException, TypeError):
        if name:
            return pa.array(
                [None if value is None else str(value) for value in values], pa.string()
            )
        is_text = [isinstance(v, str) or v is None or v != v for v in values]
        value = values[is_text.index(False)]
        place = f"Text {is_text.index(False):,}, from 0,"
        reason = f"{place} is {quote(value)}, of type {type(value).__name__}."
        raise CorpusError(reason, "Give strings.") from None
