"""Files of texts, written and read."""

import io
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clsviz.settings import Experiment
from clsviz.sources.corpora import Corpus, open_corpus

hypothesis.settings.register_profile("busy", deadline=None)
hypothesis.settings.load_profile("busy")

Read = Callable[..., Corpus]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Writes a file and opens it as a corpus: read(name, content, setting=…)."""

    def read(name: str, content: bytes | str, **settings: str) -> Corpus:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return open_corpus(Experiment(corpus=str(path), **settings), tmp_path / "store")

    return read


def parquet(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def texts(corpus: Corpus) -> list[str]:
    sentences: list[str] = corpus.table["sentence"].to_pylist()
    return sentences
