import json
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpora import SENTENCES, Stopping, fetched, opened, publish, sentences_of
from support.files import put, write_frame
from support.hub import Hub

from clsviz.errors import CancelledError, CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation
from clsviz.sources import hub_dataset, local_files, sampling
from clsviz.sources.hub_rounds import Limits
from clsviz.sources.local_files import DamagedFileError
from clsviz.sources.sampling import Sample


def test_a_sample_is_the_same_for_ever_and_a_larger_one_begins_with_it(hundred: str, kept: Path) -> None:
    """The store outlives an upgrade of NumPy only if the permutation does."""
    assert sentences_of(hundred, kept, 5) == [SENTENCES[index] for index in (26, 86, 2, 55, 75)]
    large = [SENTENCES[index] for index in np.random.RandomState(7).permutation(100)]
    sample = sampling.find_sample(Selection(hundred), 1000, 7, kept, Progress())
    assert (sample.sentences, sample.drawn) == (large, "drawn at random from 100, seed 7")
    assert sentences_of(hundred, kept, 30, seed=7) == large[:30]


def test_a_damaged_copy_of_a_file_is_made_again(hundred: str, kept: Path) -> None:
    (path,) = (opened(hundred, kept), *kept.glob("file-*"))[1:]
    content = path.read_bytes()
    path.write_bytes(content.replace(b"number 4", b"number 5"))
    assert sorted(sentences_of(hundred, kept)) == sorted(SENTENCES)
    assert path.read_bytes() == content


def test_a_folder_that_damages_what_it_keeps_is_named(
    hundred: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path, *_: object) -> list[str]:
        raise DamagedFileError(path)

    monkeypatch.setattr(sampling, "read_column", read)
    with pytest.raises(CorpusError, match=r"hundred\.txt cannot be kept in .*Choose another place for the store"):
        sentences_of(hundred, kept)


def test_reading_a_large_file_can_be_cancelled(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_text("\n".join(f"Sentence number {index} of many." for index in range(200_000)))
    for looks in (0, 1, 5):
        with pytest.raises(CancelledError):
            sampling.find_sample(Selection(str(path)), 10, 0, kept, Stopping(looks))
    assert [file.suffix for file in kept.iterdir()] == [".unfinished"]
    next(kept.iterdir()).unlink()
    stopping = Stopping(1000)
    sampling.find_sample(Selection(str(path)), 10, 0, kept, stopping)
    assert stopping.looks < 1000 - 20  # it is looked at for every batch


def test_how_a_sample_was_drawn_is_said_with_the_bytes_it_took(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    texts = [np.random.RandomState(index).bytes(900).hex() for index in range(600)]
    publish(hub, repo, tmp_path, {"default": {"train": texts}})
    size = (tmp_path / "own" / "default" / "train" / "0000.parquet").stat().st_size
    sample = fetched(repo, kept, 50)
    sent = hub.bytes_sent("*.parquet")
    assert sent > 5e5
    assert sample.drawn == (
        "from 6 of 6 row groups of the Hub's conversion in random order, each round of them shuffled, seed 0; "
        f"{sent / 1e6:.1f} of {size / 1e6:.1f} MB were read"
    )
    assert fetched(repo, kept, 50).drawn == sample.drawn  # as it was drawn then


def test_two_at_once_draw_the_same(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path, {"default": {"train": [f"{text} {i}" for i in range(20) for text in SENTENCES]}})
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(fetched(repo, kept).sentences)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == 4
    assert all(sentences == found[0] for sentences in found)
    assert len(found[0]) == 2000
    assert not list(kept.rglob(".new-*"))


def test_waiting_for_the_hub_can_be_cancelled(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path, {"default": {"train": SENTENCES}})
    for what in ("/api/*", "*.parquet"):
        hub.misbehave(what, "stall")
        progress = Progress()
        threading.Timer(0.3, progress.cancel).start()
        began = time.monotonic()
        with pytest.raises(CancelledError):
            sampling.find_sample(Selection(repo), 10, 0, kept, progress, online=True)
        assert time.monotonic() - began < 2
        hub.behave()
        sampling.find_corpus(Selection(repo), kept, Progress(), online=True) if what == "/api/*" else None
    assert len(fetched(repo, kept).sentences) == 100


CLASS = b'{"info": {"features": {"class": {"_type": "ClassLabel"%s}}}}'
TEXTS = [None if at % 7 == 3 else f"Sentence {at} is here. And {at} has another one." for at in range(50)]
TOPICS = [None if at % 11 == 5 else f"topic {at % 4}" for at in range(50)]
SCORES = [at / 4 for at in range(50)]


def write_table(path: Path) -> Path:
    frame = pd.DataFrame({"text": TEXTS, "topic": TOPICS, "score": SCORES}).astype({"topic": "category"})
    if path.suffix == ".gz":
        return put(path, write_table(path.with_suffix("")).read_bytes())
    if path.suffix == ".parquet":
        frame["list"] = [[1]] * 50
        frame.to_parquet(path, row_group_size=8)
        return path
    return write_frame(path, frame)


def draw(path: Path, kept: Path, segmentation: Segmentation = Segmentation.NONE) -> tuple[Sample, Selection]:
    selection = Selection(str(path), segmentation=segmentation)
    return sampling.find_sample(selection, 1000, 0, kept, Progress()), selection


@pytest.mark.parametrize("cut", [Segmentation.NONE, Segmentation.SENTENCES])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.csv.gz"])
def test_every_sentence_has_the_value_of_its_row(name: str, cut: Segmentation, tmp_path: Path, kept: Path) -> None:
    sample, selection = draw(write_table(tmp_path / name), kept, cut)
    assert sample.corpus.fields == ("topic", "score")
    n_rows = sum(text is not None for text in TEXTS)
    assert len(sample.sentences) == (n_rows if cut is Segmentation.NONE else 2 * n_rows)
    rows = [int(next(word for word in sentence.split() if word.isdigit())) for sentence in sample.sentences]
    assert sample.rows is not None
    assert sample.rows.tolist() == rows
    topics, scores = (
        sampling.values_beside(sample, selection, 0, field, kept, Progress()) for field in sample.corpus.fields
    )
    assert topics == [TOPICS[row] for row in rows]
    assert [float(score or "nan") for score in scores] == [SCORES[row] for row in rows]
    few = sample.head(5)
    assert sampling.values_beside(few, selection, 0, "topic", kept, Progress()) == topics[:5]


def test_a_column_that_is_not_there_is_one_sentence(tmp_path: Path, kept: Path) -> None:
    sample, selection = draw(write_table(tmp_path / "a.csv"), kept)
    for field in ("nothing", "text"):
        with pytest.raises(CorpusError, match=f"^a.csv has no other column “{field}” to colour by.$"):
            sampling.values_beside(sample, selection, 0, field, kept, Progress())
    (tmp_path / "a.txt").write_text("A cat sat.\nA dog ran.\n")
    sample, selection = draw(tmp_path / "a.txt", kept)
    assert (sample.rows, sample.corpus.fields) == (None, ())
    with pytest.raises(CorpusError, match=r"^a.txt has no other column “topic” to colour by.$"):
        sampling.values_beside(sample, selection, 0, "topic", kept, Progress())


def publish_table(hub: Hub, repo: str, folder: Path) -> None:
    """The same table as a dataset of two files, with classes as the datasets library writes them, and a long column."""
    features = {"class": {"names": ["calm", "  loud\n", "calm again"], "_type": "ClassLabel"}}
    table = pa.table(
        {
            "text": TEXTS,
            "topic": pa.array(TOPICS).dictionary_encode(),
            "score": SCORES,
            "class": [None if at % 9 == 2 else at % 5 - 1 for at in range(50)],
            "essay": [f"{at} " * 300 for at in range(50)],
            "list": [[1]] * 50,
        }
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    (folder / "data").mkdir(parents=True)
    for number, part in enumerate((table[:30], table[30:])):
        pq.write_table(part, folder / "data" / f"train-{number}.parquet", row_group_size=8)
    hub.add(repo, folder, kind="dataset")


CLASSES = [None if at % 9 == 2 else (None, "calm", "loud", "calm again", None)[at % 5] for at in range(50)]


@pytest.mark.parametrize("cut", [Segmentation.NONE, Segmentation.SENTENCES])
def test_a_dataset_on_the_hub_has_them_too_and_only_the_column_is_fetched(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, cut: Segmentation
) -> None:
    publish_table(hub, repo, tmp_path / "own")
    selection = Selection(repo, segmentation=cut)
    sample = fetched(repo, kept, segmentation=cut)
    assert sample.corpus.fields == ("topic", "score", "class")
    rows = [int(next(word for word in sentence.split() if word.isdigit())) for sentence in sample.sentences]
    assert len(rows) == (1 + (cut is Segmentation.SENTENCES)) * sum(text is not None for text in TEXTS)
    before = len(hub.requests)
    expected = {"topic": TOPICS, "score": SCORES, "class": CLASSES}
    for column, values in expected.items():
        found = sampling.values_beside(sample, selection, 0, column, kept, Progress())
        found = [value and float(value) for value in found] if column == "score" else found
        assert found == [values[row] for row in rows]
    asked = [request for request in hub.requests[before:] if request.status == 206]
    assert len(asked) == len(hub.requests) - before == len(expected) * 7  # row groups, of 8 rows or fewer
    assert sum(request.n_bytes for request in asked) < 5_000 < hub.bytes_sent("*.parquet")
    # What was read is kept, for a sample that is smaller as well, and needs no network.
    hub.misbehave("*", "500")
    few = sample.head(5)
    assert sampling.values_beside(few, selection, 0, "topic", kept, Progress()) == [TOPICS[row] for row in rows[:5]]


def test_a_part_of_the_dataset_is_read_for_a_part_of_its_sentences(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_dataset, "Limits", partial(Limits, round_texts=8))
    publish_table(hub, repo, tmp_path / "own")
    sample = fetched(repo, kept, size=10)
    before = len(hub.requests)
    sampling.values_beside(sample, Selection(repo), 0, "topic", kept, Progress())
    n_read = len(hub.requests) - before
    assert n_read < 7
    assert sample.drawn.startswith(f"from {n_read} of 7 row groups")


def test_a_dataset_that_cannot_be_reached_or_has_no_such_column_is_one_sentence(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    publish_table(hub, repo, tmp_path / "own")
    sample = fetched(repo, kept)
    for field in ("nothing", "essay", "list", "text"):
        with pytest.raises(CorpusError, match=f"^{repo} has no other column “{field}” to colour by.$"):
            sampling.values_beside(sample, Selection(repo), 0, field, kept, Progress())
    hub.misbehave("*.parquet", "403")
    with pytest.raises(CorpusError, match=repo):
        sampling.values_beside(sample, Selection(repo), 0, "topic", kept, Progress())
    hub.behave()
    assert set(sampling.values_beside(sample, Selection(repo), 0, "topic", kept, Progress())) == set(TOPICS)


@pytest.mark.parametrize(
    ("said", "values"),
    [
        *((said, ["0", "1", "-1"]) for said in (b"", b"[", b"[]", CLASS % b"")),
        (CLASS % b', "names": ["cat", "dog"]', ["cat", "dog", None]),
    ],
)
def test_numbers_of_classes_are_named_where_the_datasets_library_noted_them(
    said: bytes, values: list[str | None], tmp_path: Path, kept: Path
) -> None:
    table = pa.table({"text": ["A cat sat.", "A dog ran.", "It rained."], "class": [0, 1, -1]})
    pq.write_table(table.replace_schema_metadata({b"huggingface": said}), tmp_path / "a.parquet")
    sample, selection = draw(tmp_path / "a.parquet", kept)
    found = sampling.values_beside(sample, selection, 0, "class", kept, Progress())
    assert [value for _, value in sorted(zip(sample.sentences, found, strict=True))] == values


def test_a_file_that_has_changed_since_is_not_taken_for_the_same(tmp_path: Path, kept: Path) -> None:
    path = write_table(tmp_path / "a.csv")
    sample, selection = draw(path, kept)
    path.write_text(path.read_text().replace("Sentence 7 ", "Another "))
    with pytest.raises(CorpusError, match="has changed since its sentences were read"):
        sampling.values_beside(sample, selection, 0, "topic", kept, Progress())


def test_what_was_kept_without_rows_is_read_again(tmp_path: Path, kept: Path) -> None:
    sample, _ = draw(write_table(tmp_path / "a.csv"), kept)
    (path,) = kept.glob("file-*.parquet")
    about = local_files.read_about(path)
    assert about is not None
    batches = [local_files.read_column(path, np.arange(about.n_sentences), "sentence")]
    local_files.write_sentences(batches, path, lambda: replace(about, fields=[]))
    with_rows = pq.read_table(path).column_names
    assert with_rows == ["sentence"]
    with pytest.raises(DamagedFileError):
        local_files.read_column(path, np.arange(3), "row")
    again, _ = draw(tmp_path / "a.csv", kept)
    assert again.sentences == sample.sentences
    assert again.corpus.fingerprint == sample.corpus.fingerprint  # so that what was measured of them stays
