"""Inputs and commands of the answers that golden.json records.

Any careful reader gets the same sentences from them: they are far below the length at which a model
truncates, and the prose, which alone is cut into sentences, has no quotation marks, abbreviations
or lists.
"""

import csv
import json
import re
import textwrap
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

COMMANDS = {
    "text": ["measure", "--corpus", "prose.txt", "--segmentation", "sentences"],
    "json_lines": ["measure", "--corpus", "notes.jsonl", "--segmentation", "lines"],
    "parquet": [
        *("measure", "--corpus", "table.parquet", "--column", "body", "--segmentation", "lines"),
        *("--sample-size", "300", "--seed", "3"),
    ],
    "near_duplicates": ["measure", "--corpus", "copies.txt", "--segmentation", "lines"],
    "untrained": [
        *("measure", "--corpus", "notes.jsonl", "--segmentation", "lines"),
        *("--model", "untrained:minilm", "--pooling", "mean"),
    ],
    "layer": [
        *("measure", "--corpus", "python-docs", "--sample-size", "400", "--layer", "5"),
        *("--unit", "characters", "--length-cutoff", "40"),
    ],
    "fast": [
        *("measure", "--corpus", "notes.jsonl", "--segmentation", "lines", "--precision", "fast")
    ],
    "probe": ["probe", "--corpus", "notes.jsonl", "--segmentation", "lines"],
    "search_cosine": [
        *("search-test", "--corpus", "pairs.csv", "--column", "body", "--segmentation", "lines"),
        *("--task", "titles", "--titles", "title", "--pooling", "mean"),
    ],
    "search_dot": [
        *("search-test", "--corpus", "pairs.csv", "--column", "body", "--segmentation", "lines"),
        *("--task", "titles", "--titles", "title", "--pooling", "mean", "--similarity", "dot"),
    ],
    "compare": [
        *("compare", "--models", "minilm,untrained:minilm"),
        *("--corpus", "notes.jsonl", "--segmentation", "lines"),
    ],
}
"""The words of each command, which runs in the folder of the inputs."""


def make_inputs(folder: Path) -> None:
    """Write the inputs of COMMANDS, the same bytes each time, from the corpora that are shipped."""
    docs = shipped("python-docs")["sentence"]
    sentences = sorted({text for text in docs if 15 <= len(text) <= 300 and "\n" not in text})[::19]
    clear = sorted(
        {text for text in docs if re.fullmatch(r"[A-Z][a-z]+( [a-z]+,?){3,40} [a-z]{3,}\.", text)}
    )
    write_prose(folder / "prose.txt", clear[:420])
    write_notes(folder / "notes.jsonl", sentences[320:])
    columns = {
        "id": range(len(sentences)),
        "title": [text[:9] for text in sentences],
        "body": sentences,
    }
    pq.write_table(pa.table(columns), folder / "table.parquet", row_group_size=100)
    copies = [
        copy for text in sentences[1::3] for copy in (text, text.rstrip(".") + "!", text.upper())
    ]
    (folder / "copies.txt").write_text("\n".join(copies), encoding="utf-8")
    api = shipped("python-api")
    pairs = sorted(zip(api["title"], api["sentence"], strict=True))
    pairs = [pair for pair in pairs if 40 <= len(pair[1]) <= 600 and "\n" not in pair[1]][::4]
    with open(folder / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("title", "body"), *pairs])


def shipped(name: str) -> dict[str, list[str]]:
    """The columns of a shipped corpus."""
    file = resources.files("clsviz.sources") / "data" / f"{name}.parquet"
    columns: dict[str, list[str]] = pq.read_table(str(file)).to_pydict()
    return columns


def write_prose(path: Path, sentences: list[str]) -> None:
    """Paragraphs of seven sentences, wrapped at 72 characters, with an empty line between them."""
    starts = range(0, len(sentences), 7)
    paragraphs = [textwrap.fill(" ".join(sentences[i : i + 7]), 72) for i in starts]
    path.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def write_notes(path: Path, sentences: list[str]) -> None:
    """An object a line, with nested and missing values, and empty lines between some."""
    lines = []
    for i, text in enumerate(sentences):
        note = {"id": i, "meta": {"tags": ["a", "b"][: i % 3]}, "text": text if i % 50 else None}
        lines.append(json.dumps(note, ensure_ascii=False) + "\n" * (i % 40 == 0))
    path.write_text("\n".join(lines), encoding="utf-8")
