"""JSON lines: one object per line."""

import codecs
import itertools
from collections.abc import Iterator
from typing import Any

import orjson

from clsviz.corpora.formats.columns import SAMPLE_ROWS, Values, check_width
from clsviz.corpora.formats.encoding import BadByteError
from clsviz.corpora.formats.lines import TextFile, lines
from clsviz.errors import CorpusError

# JSON lines


def _objects(file: TextFile) -> Iterator[list[dict[str, Any]]]:
    """The objects of a file, as many at once as a chunk holds; raises CorpusError at a line that is none."""
    number = 0
    for found in lines(file.chunks(), b"\n", file.name):
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
        problem = "is no JSON object"
    raise CorpusError(f'Line {number:,} of {name} {problem}. Give one object a line, as {{"text": "…"}}.')


def sample_of_objects(file: TextFile) -> dict[str, list[str]]:
    """The strings in the first lines, by their keys."""
    sample: dict[str, list[str]] = {}
    for found in itertools.islice(itertools.chain.from_iterable(_objects(file)), SAMPLE_ROWS):
        for key, value in found.items():
            if isinstance(value, str):
                sample.setdefault(key, []).append(value)
    check_width(len(sample), file.name)
    return sample


def json_values(file: TextFile, key: str) -> Values:
    for objects in _objects(file):
        yield [value for found in objects if isinstance(value := found.get(key), str)]
