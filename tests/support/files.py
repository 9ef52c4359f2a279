"""Small local files of text, written by other libraries than read them."""

import csv
import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from clsviz.corpora.formats import Limits, Table, open_table


def read(table: Table, column: str = "") -> list[str]:
    return [text for batch in table.texts(column) for text in batch]


def read_file(path: Path, column: str = "", **limits: int) -> list[str]:
    return read(open_table(path, limits=Limits(**limits)), column)


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def rows_as_csv(rows: Iterable[Iterable[object]], **settings: Any) -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, **settings).writerows(rows)
    return stream.getvalue().encode()


def write_texts(path: Path, texts: list[str]) -> Path:
    """A file of the format that its ending says, written by another library than reads it."""
    match path.name.removesuffix(".gz").rpartition(".")[2]:
        case "txt":
            content = "\n".join(texts).encode()
        case "csv":
            content = rows_as_csv([["id", "text"], *enumerate(texts)])
        case "tsv":
            content = rows_as_csv([["id", "text"], *enumerate(texts)], delimiter="\t")
        case "parquet":
            pd.DataFrame({"id": range(len(texts)), "text": texts}).to_parquet(path)
            return path
        case _:
            content = b"\n".join(json.dumps({"id": n, "text": text}).encode() for n, text in enumerate(texts))
    return put(path, content)


def write_frame(path: Path, frame: pd.DataFrame) -> Path:
    match path.suffix:
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        case ".parquet":
            frame.to_parquet(path)
        case suffix:
            frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    return path
