"""JSON lines: one object per line."""

import codecs
import itertools
from collections.abc import Iterator
from typing import Any

import orjson

from clsviz.corpora.formats.columns import SAMPLE_ROWS, Table, Values, check_width, text_columns
from clsviz.corpora.formats.encoding import BadByteError
from clsviz.corpora.formats.files import TextFile
from clsviz.corpora.formats.lines import lines
from clsviz.errors import CorpusError


def open_json_lines(file: TextFile) -> Table:
    """A file of JSON objects, their keys being the columns; raises CorpusError if none holds text."""
    columns = text_columns(_sample(file), file.name)
    return Table(file.path, file.name, "utf-8", columns, lambda column: _values(file, column))


def _sample(file: TextFile) -> dict[str, list[str]]:
    """The strings in the first lines, by their keys."""
    sample: dict[str, list[str]] = {}
    for found in itertools.islice(itertools.chain.from_iterable(_objects(file)), SAMPLE_ROWS):
        for key, value in found.items():
            if isinstance(value, str):
                sample.setdefault(key, []).append(value)
    check_width(len(sample), file)
    return sample


def _values(file: TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [value for found in objects if isinstance(value := found.get(key), str)]


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
