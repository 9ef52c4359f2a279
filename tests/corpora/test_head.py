from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.corpora import SENTENCES, shrink

from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.sources import sampling, sentence_files


@pytest.fixture(autouse=True)
def few_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred sentences 40 are shuffled, and 10 of these are in memory."""
    shrink(monkeypatch, 40, 10)


def whole(name: str, kept: Path, seed: int = 3) -> sampling.Sample:
    return sampling.find_sample(Selection(name), ALL, seed, kept, Progress())


def expected(seed: int = 3) -> list[str]:
    return [SENTENCES[number] for number in np.random.RandomState(seed).permutation(100)[:10]]


def test_the_first_sentences_are_read_without_the_others(
    hundred: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert whole(hundred, kept).sentences == expected()
    (head,) = kept.glob("*-head-*")
    read: list[Path] = []
    rows = sentence_files.rows
    monkeypatch.setattr(sentence_files, "rows", lambda path, order: read.append(path) or rows(path, order))
    again = whole(hundred, kept)
    assert again.sentences == expected()
    assert read == [head]
    assert again.read(5, 100) == [*whole(hundred, kept).whole.read(5, 100)]  # type: ignore[union-attr]
    assert whole(hundred, kept, seed=4).sentences == expected(4)
    assert len([*kept.glob("*-head-*")]) == 2


def test_a_damaged_head_is_taken_from_the_corpus_again(hundred: str, kept: Path) -> None:
    whole(hundred, kept)
    (head,) = kept.glob("*-head-*")
    for content in (b"", b"PAR1", head.read_bytes()[:-40]):
        head.write_bytes(content)
        assert whole(hundred, kept).sentences == expected()
        assert pq.read_table(head)["sentence"].to_pylist() == expected()


def test_the_rows_of_a_table_are_kept_beside_its_first_sentences(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("text,kind\n" + "\n".join(f"{sentence},{index % 3}" for index, sentence in enumerate(SENTENCES)))
    for _ in range(2):
        sample = whole(str(path), kept)
        assert sample.sentences == expected()
        assert sample.rows is not None
        assert sample.rows.tolist() == np.random.RandomState(3).permutation(100)[:10].tolist()
        of_kind = sampling.values_beside(sample, Selection(str(path)), 3, "kind", kept, Progress())
        assert of_kind == [str(row % 3) for row in sample.rows.tolist()]
