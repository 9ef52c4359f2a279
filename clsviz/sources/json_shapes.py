"""JSON documents as rows: records, and the other shapes in which programs write tables."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from clsviz.errors import CorpusError, quote
from clsviz.sources.csv_records import NAMES, simple

OBJECTS: Final = 'Write an object a line, as {"text": "…"}.'

PARTS: Final = ("corpus", "documents", "data", "rows", "records")
"""Names of the part of a document that holds its rows; the first two may hold texts by id."""

Row = Mapping[str, Any]


def rows_of(content: Any, name: str) -> list[Any]:
    """The rows of the document of a file: objects, strings, or lists of one width.

    Raises CorpusError where its shape is none of a table.
    """
    if not isinstance(content, Mapping):
        return content if isinstance(content, list) else [content]
    values = list(content.values())
    if {"columns", "data"} <= content.keys() and isinstance(content["columns"], list):
        return [dict(zip(content["columns"], row, strict=False)) for row in content["data"]]
    if _are(values, list) and len(set(map(len, values))) == 1 and not _are(values[0], Mapping):
        return [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
    objects = [value for value in values if isinstance(value, list) and _are(value, Mapping)]
    for part in (*map(content.get, PARTS), *objects[: len(objects) == 1]):
        if part and isinstance(part, list):
            return part
    for part in map(content.get, PARTS[:2]):
        if isinstance(part, Mapping):
            return rows_of(part, name)
    if _are(values, Mapping) and not any(_are(row.values(), Mapping) for row in values):
        return _of_objects(content, name)
    is_row = any(simple(key) in NAMES and isinstance(text, str) for key, text in content.items())
    if _are(values, str) and not is_row:
        return [{"id": key, "text": text} for key, text in content.items()]
    if is_row or not any(isinstance(value, Mapping | list) for value in values):
        return [content]
    keys = ", ".join(map(quote, list(content)[:4])) + " …" * (len(content) > 4)
    reason = f"{quote(name)} is an object with the keys {keys}, which is no table."
    raise CorpusError(reason, OBJECTS)


def _are(values: Iterable[Any], kind: type) -> bool:
    some = list(values)
    return bool(some) and all(isinstance(value, kind) for value in some)


def are_names(row: list[Any]) -> bool:
    """True if a list has names of columns."""
    return _are(row, str) and any(simple(cell) in NAMES for cell in row)


def _of_objects(content: Row, name: str) -> list[Row]:
    """Objects in an object: rows by their ids, or columns of values by row, as pandas writes both.

    Names of columns tell which; where there are none, a table has more rows than columns.
    """
    inner = list(dict.fromkeys(key for row in content.values() for key in row))
    are_rows, are_columns = (any(simple(key) in NAMES for key in keys) for keys in (inner, content))
    if are_rows == are_columns:
        are_rows, are_columns = len(content) > len(inner), len(content) < len(inner)
    if are_rows:
        return [{"id": key, **row} for key, row in content.items()]
    if are_columns:
        return [{key: column.get(row) for key, column in content.items()} for row in inner]
    reason = f"{quote(name)} is an object of objects, as rows or as columns: nothing tells which."
    raise CorpusError(reason, OBJECTS)
