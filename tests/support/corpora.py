"""Corpora to be opened and drawn from."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.sources import sampling
from clsviz.sources.catalogue import Corpus
from support.hub import Hub
from support.tiny import write_dataset

SENTENCES = [f"Sentence number {index}." for index in range(100)]
LONG = [f"This is the beginning of text {index}. " + "It goes on and on. " * 20 + "Here it ends." for index in range(8)]


def sentences_of(name: str, folder: Path, size: int = 10**6, seed: int = 0, **settings: str) -> list[str]:
    return sampling.find_sample(Selection(name, **settings), size, seed, folder, Progress()).sentences


def opened(name: str, folder: Path, **settings: str) -> Corpus:
    return sampling.find_corpus(Selection(name, **settings), folder, Progress())


def content_of(suffix: str, texts: list[str]) -> bytes:
    """A file of texts, in a column “text” where it has columns, and of titles beside them."""
    packed = suffix.endswith(".gz")
    rows = [{"title": f"Title {index}", "text": text} for index, text in enumerate(texts)]
    match suffix.removesuffix(".gz"):
        case ".txt":
            content = "\n".join(texts).encode()
        case ".parquet":
            stream = io.BytesIO()
            pq.write_table(pa.Table.from_pylist(rows), stream)
            content = stream.getvalue()
        case ".csv" | ".tsv" as kind:
            lines = io.StringIO()
            writer = csv.DictWriter(lines, ["title", "text"], delimiter="\t" if kind == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
            content = lines.getvalue().encode()
        case _:
            content = "\n".join(map(json.dumps, rows)).encode()
    return gzip.compress(content) if packed else content


class Stopping(Progress):
    """Cancelled at the so manieth look at it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    def check(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            self.cancel()
        super().check()


def publish(hub: Hub, repo: str, folder: Path, splits: dict[str, dict[str, list[str]]]) -> str:
    """A dataset that comes with a script, and the commit of its conversion."""
    (folder / "script").mkdir(parents=True)
    (folder / "script" / f"{repo.rpartition('/')[2]}.py").write_text("raise SystemExit('it ran')")
    hub.add(repo, folder / "script", kind="dataset")
    return hub.add(repo, write_dataset(folder / "own", splits), kind="dataset", revision="refs/convert/parquet")


def fetched(name: str, folder: Path, size: int = 10**6, **settings: str) -> sampling.Sample:
    return sampling.find_sample(Selection(name, **settings), size, 0, folder, Progress(), online=True)


def shrink(monkeypatch: pytest.MonkeyPatch, n_shuffled: int, head: int) -> None:
    """Take fewer sentences of a whole corpus in random order, and fewer into memory, so that a small one is large."""
    for module in ("sampling",):
        monkeypatch.setattr(f"clsviz.sources.{module}.N_SHUFFLED", n_shuffled)
    monkeypatch.setattr("clsviz.sources.sampling.HEAD", head)
