"""Small local files of text, written by other libraries than read them."""

import csv
import gzip
import io
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from clsviz.sources.files import Limits, Table
from clsviz.sources.tables import open_table
from clsviz.statistics.sentlen import BINS
from support.tiny import WORDS


def read(table: Table, column: str = "") -> list[str]:
    return [text for texts, _ in table.numbered_texts(column) for text in texts]


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


def write_task(path: Path, n_per_class: int = 100, seed: int = 0) -> Path:
    """A file of the SentLen task like the published one, of the tiny model’s words: 60%, 20% and 20% of each class."""
    choose = random.Random(seed)
    rows: dict[str, tuple[str, int]] = {}
    for label, (low, high) in enumerate(BINS):
        while len(rows) < n_per_class * (label + 1):
            rows.setdefault(" ".join(choose.choices(WORDS, k=choose.randint(low, high))), ("", label))
    places = ["tr"] * (n_per_class * 3 // 5) + ["va"] * (n_per_class // 5) + ["te"] * (n_per_class // 5)
    found = [(places[i % n_per_class], label, text) for i, (text, (_, label)) in enumerate(rows.items())]
    choose.shuffle(found)
    found.sort(key=lambda row: ["tr", "va", "te"].index(row[0]))
    path.write_text("".join(f"{place}\t{label}\t{text}\n" for place, label, text in found), encoding="utf-8")
    return path
