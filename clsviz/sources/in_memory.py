"""Texts in memory as a table: lists, and what pandas and datasets hold."""

import contextlib
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.progress import Progress, silent
from clsviz.sources.tables import half_character

INDEX: Final = "index"
"""The column of a corpus with the index of each text; another one of this name is left out."""


@dataclass(frozen=True)
class InMemory:
    """A table in memory."""

    table: pa.Table

    def batches(self, doubts: Counter[str], progress: Progress = silent) -> Iterator[pa.Table]:
        """The table."""
        yield self.table


def table_of(texts: Any, split: str = "") -> tuple[pa.Table, pa.Array]:
    """The columns of texts as strings, and their index.

    split: of a DatasetDict. Raises CorpusError where the texts are none, SettingError where they
    lack the split.
    """
    pandas, datasets = sys.modules.get("pandas"), sys.modules.get("datasets")
    if datasets and isinstance(texts, datasets.DatasetDict | datasets.IterableDatasetDict):
        texts = _split(texts, split)
    elif split:
        raise SettingError(f"split is {quote(split)}, and the texts have none.", "Leave it out.")
    columns = {str(name): list(values) for name, values in _columns(texts).items()}
    n = max(map(len, columns.values()), default=0)
    if any(len(values) < n for values in columns.values()):
        raise CorpusError("The columns of texts have different lengths.", "Give one of them.")
    is_indexed = pandas and isinstance(texts, pandas.DataFrame | pandas.Series)
    index = _index(list(texts.index if is_indexed else range(n)))
    return pa.table({name: _strings(name, values) for name, values in columns.items()}), index


def _split(parts: Mapping[str, Any], split: str) -> Any:
    """The named one of several datasets, or the only one."""
    if not split and len(parts) == 1:
        return next(iter(parts.values()))
    if split in parts:
        return parts[split]
    choice = f"Set split to {' or '.join(map(quote, parts))}."
    if split:
        raise SettingError(f"The texts have no split {quote(split)}.", choice)
    raise CorpusError(f"The texts have {len(parts)} splits.", choice)


def _columns(texts: Any) -> dict[Any, Any]:
    """The columns of texts; one without a name if they stand alone."""
    pandas, datasets = sys.modules.get("pandas"), sys.modules.get("datasets")
    if datasets and isinstance(texts, datasets.Dataset):
        return _columns_of_strings(texts)
    if pandas and isinstance(texts, pandas.Series):
        return {"": texts}
    if isinstance(texts, Mapping) or (pandas and isinstance(texts, pandas.DataFrame)):
        return {name: _values(column) for name, column in texts.items()}
    rows = _values(texts)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return {"": rows}
    names = dict.fromkeys(itertools.chain.from_iterable(rows))
    return {name: [row.get(name) for row in rows] for name in names}


def _columns_of_strings(dataset: Any) -> dict[str, Any]:
    kinds = {name: getattr(kind, "dtype", kind) for name, kind in dataset.features.items()}
    names = [name for name, kind in kinds.items() if kind in ("string", "large_string")]
    if not names:
        others = ", ".join(f"{quote(name)} ({kind})" for name, kind in kinds.items())
        reason = f"The dataset has no column of strings: it has {others}."
        raise CorpusError(reason, "Write the texts as strings in one.")
    columns: dict[str, Any] = dataset.select_columns(names).with_format(None)[:]
    return columns


def _values(texts: Any) -> list[Any]:
    """Texts in a list; raises CorpusError where they are a single value."""
    if not isinstance(texts, str | bytes | Mapping):
        with contextlib.suppress(TypeError):
            return list(texts)
    reason = f"{quote(texts)} is a single value, of type {type(texts).__name__}."
    raise CorpusError(reason, "Give a list of strings.")


def _index(labels: list[Any]) -> pa.Array:
    try:
        return pa.array(labels)
    except pa.ArrowException:  # labels of several types
        return pa.array(map(str, labels), pa.string())


def _strings(name: str, values: list[Any]) -> pa.Array:
    """Values as large_string if they are texts, else as string; texts alone must be texts."""
    try:
        return pa.array(values, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError as error:
        at = [isinstance(value, str) and value == error.object for value in values].index(True)
        raise half_character(f"Text {at:,}, from 0,", error) from None
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
