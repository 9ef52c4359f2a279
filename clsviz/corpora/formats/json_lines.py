"""JSON lines: one object per line."""

import codecs
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson

from clsviz.corpora.formats.columns import SAMPLE_ROWS, Table, Values, check_width, text_columns
from clsviz.corpora.formats.encoding import BadByteError
from clsviz.corpora.formats.files import TextFile
from clsviz.corpora.formats.lines import lines
from clsviz.errors import CorpusError


def open_json_lines(file: TextFile) -> Table:
    """A file of JSON objects, their keys being the columns; raises CorpusError if none holds text."""
    sample, fields = _sample(file)
    columns = text_columns(sample, file.name)
    read, read_field = partial(_values, file), partial(_plain_values, file)
    return Table(file.path, file.name, "utf-8", columns, read, None, fields, read_field)


def _sample(file: TextFile) -> tuple[dict[str, list[str]], list[str]]:
    """The strings in the first lines, by their keys; and the keys of strings, numbers and truth values."""
    sample: dict[str, list[str]] = {}
    fields: dict[str, None] = {}
    for found in itertools.islice(itertools.chain.from_iterable(_objects(file)), SAMPLE_ROWS):
        for key, value in found.items():
            if isinstance(value, str):
                sample.setdefault(key, []).append(value)
            if isinstance(value, str | int | float):
                fields[key] = None
    check_width(len(sample), file)
    return sample, [*fields]


def _values(file: TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [value if isinstance(value := found.get(key), str) else None for found in objects]


def _plain_values(file: TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [str(value) if isinstance(value := found.get(key), str | int | float) else None for found in objects]


def _objects(file: TextFile) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file, as many at a time as a chunk holds; raises CorpusError at a line that is not one."""
    number = 0
    for found in lines(file.chunks(), b"\n", file):
        objects = []
        for line in found:
            number += 1
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line and not line.isspace():
                objects.append(_object(line, number, file.name))
        yield objects


def _object(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        try:
            line.decode()
        except UnicodeDecodeError as fault:
            raise BadByteError(name, "utf-8", line[fault.start], number) from None
        problem = f"is not valid JSON at its character {error.colno:,}"
    else:
        if isinstance(value, dict):
            return value
        problem = "is not a JSON object"
    raise CorpusError(f'Line {number:,} of {name} {problem}. Give one object per line, as in {{"text": "…"}}.')
