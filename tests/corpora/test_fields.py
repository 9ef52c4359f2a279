import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpora import SENTENCES, fetched, publish
from support.hub import Hub

from clsviz import corpora
from clsviz.corpora import Sample
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation

TEXTS = [None if at % 7 == 3 else f"Sentence {at} is here. And {at} has another one." for at in range(50)]
TOPICS = [None if at % 11 == 5 else f"topic {at % 4}" for at in range(50)]
SCORES = [at / 4 for at in range(50)]


def write_csv(path: Path, delimiter: str = ",") -> Path:
    rows = zip(TEXTS, TOPICS, SCORES, strict=True)
    lines = [delimiter.join([text or "", topic or "", str(score)]) for text, topic, score in rows]
    path.write_text("\n".join([delimiter.join(["text", "topic", "score"]), *lines]))
    return path


def write_json_lines(path: Path) -> Path:
    rows = zip(TEXTS, TOPICS, SCORES, strict=True)
    path.write_text(
        "\n\n".join(json.dumps({"text": text, "topic": topic, "score": score}) for text, topic, score in rows)
    )
    return path


def write_parquet(path: Path) -> Path:
    table = pa.table(
        {"text": TEXTS, "topic": pa.array(TOPICS).dictionary_encode(), "score": SCORES, "list": [[1]] * 50}
    )
    pq.write_table(table, path, row_group_size=8)
    return path


def write_packed(path: Path) -> Path:
    path.write_bytes(gzip.compress(write_csv(path.with_name("plain.csv")).read_bytes()))
    return path


def draw(path: Path, kept: Path, segmentation: Segmentation = Segmentation.NONE) -> tuple[Sample, Selection]:
    selection = Selection(str(path), segmentation=segmentation)
    return corpora.find_sample(selection, 1000, 0, kept, Progress()), selection


@pytest.mark.parametrize("cut", [Segmentation.NONE, Segmentation.SENTENCES])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.csv", write_csv),
        ("a.tsv", lambda path: write_csv(path, "\t")),
        ("a.jsonl", write_json_lines),
        ("a.parquet", write_parquet),
        ("a.csv.gz", write_packed),
    ],
)
def test_every_sentence_has_the_value_of_its_row(
    name: str, write: Callable[[Path], Path], cut: Segmentation, tmp_path: Path, kept: Path
) -> None:
    sample, selection = draw(write(tmp_path / name), kept, cut)
    assert sample.corpus.fields == ("topic", "score")
    n_rows = sum(text is not None for text in TEXTS)
    assert len(sample.sentences) == (n_rows if cut is Segmentation.NONE else 2 * n_rows)
    rows = [int(next(word for word in sentence.split() if word.isdigit())) for sentence in sample.sentences]
    assert sample.rows is not None
    assert sample.rows.tolist() == rows
    topics, scores = (
        corpora.values_beside(sample, selection, field, kept, Progress()) for field in sample.corpus.fields
    )
    assert topics == [TOPICS[row] for row in rows]
    assert [float(score or "nan") for score in scores] == [SCORES[row] for row in rows]
    few = sample.head(5)
    assert corpora.values_beside(few, selection, "topic", kept, Progress()) == topics[:5]


def test_a_column_that_is_not_there_is_one_sentence(tmp_path: Path, kept: Path) -> None:
    sample, selection = draw(write_csv(tmp_path / "a.csv"), kept)
    for field in ("nothing", "text"):
        with pytest.raises(CorpusError, match=f"^a.csv has no other column “{field}” to colour by.$"):
            corpora.values_beside(sample, selection, field, kept, Progress())
    (tmp_path / "a.txt").write_text("A cat sat.\nA dog ran.\n")
    sample, selection = draw(tmp_path / "a.txt", kept)
    assert (sample.rows, sample.corpus.fields) == (None, ())
    with pytest.raises(CorpusError, match=r"^a.txt has no other column “topic” to colour by.$"):
        corpora.values_beside(sample, selection, "topic", kept, Progress())


def test_a_dataset_on_the_hub_has_its_texts_alone(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path, {"default": {"train": SENTENCES}})
    sample = fetched(repo, kept)
    assert sample.rows is None
    with pytest.raises(CorpusError, match="which is on the Hub, only the texts are read"):
        corpora.values_beside(sample, Selection(repo), "text", kept, Progress())


def test_a_file_that_has_changed_since_is_not_taken_for_the_same(tmp_path: Path, kept: Path) -> None:
    path = write_csv(tmp_path / "a.csv")
    sample, selection = draw(path, kept)
    path.write_text(path.read_text().replace("Sentence 7 ", "Another "))
    with pytest.raises(CorpusError, match="has changed since its sentences were read"):
        corpora.values_beside(sample, selection, "topic", kept, Progress())


def test_values_are_one_short_line_each(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,note\nA cat sat.,"two\n lines"\nA dog ran.,' + "x" * 5000 + "\n")
    sample, selection = draw(path, kept)
    values = corpora.values_beside(sample, selection, "note", kept, Progress())
    assert sorted(map(str, values)) == ["two lines", "x" * 100]


def test_what_was_kept_without_rows_is_read_again(tmp_path: Path, kept: Path) -> None:
    sample, _ = draw(write_csv(tmp_path / "a.csv"), kept)
    (path,) = kept.glob("file-*.parquet")
    about = corpora.kept.about(path)
    assert about is not None
    batches = [corpora.kept.rows(path, np.arange(about.n_sentences)) or []]
    corpora.kept.keep(batches, path, columns=about.columns, column=about.column, cut=about.cut)
    with_rows = pq.read_table(path).column_names
    assert with_rows == ["sentence"]
    assert corpora.kept.rows_of_table(path, np.arange(3)) is None
    again, _ = draw(tmp_path / "a.csv", kept)
    assert again.sentences == sample.sentences
    assert again.corpus.fingerprint == sample.corpus.fingerprint  # so that what was measured of them stays
