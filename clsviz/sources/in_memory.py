"""Texts in memory as a table: lists, and what pandas and datasets hold."""

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clsviz.errors import CorpusError, SettingError, quote
from clsviz.sources.tables import half_character

if TYPE_CHECKING:
    import pandas as pd


def table_of(texts: Any, split: str = "") -> tuple[pa.Table, pa.Array]:
    """The columns of texts as strings, and their index; texts alone have a column without a name.

    split: of a DatasetDict. Raises CorpusError where the texts are none, SettingError where they
    lack the split.
    """
    parts = list(texts.values()) if isinstance(texts, Mapping) else []
    if parts and all(hasattr(part, "features") for part in parts):  # a DatasetDict
        choice = f"Set split to {' or '.join(map(quote, texts))}."
        if split and split not in texts:
            raise SettingError(f"The texts have no split {quote(split)}.", choice)
        if not split and len(parts) > 1:
            raise CorpusError(f"The texts have {len(parts)} splits.", choice)
        texts = texts[split] if split else parts[0]
    elif split:
        raise SettingError(f"split is {quote(split)}, and the texts have none.", "Leave it out.")
    frame = _frame(texts)
    columns = {str(name): _strings(str(name), values) for name, values in frame.items()}
    try:
        index = pa.array(frame.index.tolist())
    except pa.ArrowException:  # labels of several types
        index = pa.array(map(str, frame.index), pa.string())
    return pa.table(columns), index


def _frame(texts: Any) -> "pd.DataFrame":
    import pandas as pd

    if features := getattr(texts, "features", None):  # of datasets, whose pictures stay unread
        names = [name for name, kind in features.items() if not hasattr(kind, "decode_example")]
        texts = texts.select_columns(names)
    if hasattr(texts, "to_pandas"):
        texts = texts.to_pandas()
    if isinstance(texts, pd.DataFrame):
        return texts
    if isinstance(texts, pd.Series):
        return texts.to_frame("")
    if isinstance(texts, Mapping):
        columns: Any = {name: _values(column) for name, column in texts.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise CorpusError("The columns of texts have different lengths.", "Give one of them.")
    else:
        rows = _values(texts)
        columns = rows if rows and all(isinstance(row, Mapping) for row in rows) else {"": rows}
    return pd.DataFrame(columns, dtype=object)


def _values(texts: Any) -> list[Any]:
    """Texts in a list; raises CorpusError where they are a single value."""
    if not isinstance(texts, str | bytes | Mapping):
        with contextlib.suppress(TypeError):
            return list(texts)
    reason = f"{quote(texts)} is a single value, of type {type(texts).__name__}."
    raise CorpusError(reason, "Give a list of strings.")


def _strings(name: str, column: "pd.Series[Any]") -> pa.Array:
    """A column as large_string if it holds texts, else as string; texts alone must be texts."""
    values = column.astype(object).where(column.notna(), None).tolist()
    others = [at for at, value in enumerate(values) if not isinstance(value, str | None)]
    if others and not name:
        place, kind = f"Text {others[0]:,}, from 0,", type(values[others[0]]).__name__
        reason = f"{place} is {quote(values[others[0]])}, of type {kind}."
        raise CorpusError(reason, "Give strings.")
    texts = [value if value is None else str(value) for value in values]
    try:
        return pa.array(texts, pa.string() if others else pa.large_string())
    except UnicodeEncodeError as error:
        raise half_character(f"Text {texts.index(error.object):,}, from 0,", error) from None
