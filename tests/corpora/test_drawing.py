import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.corpora import SENTENCES, Stopping, fetched, opened, publish, sentences_of
from support.hub import Hub

from clsviz.errors import CancelledError, CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.sources import sampling


def test_a_larger_sample_begins_with_the_smaller(hundred: str, kept: Path) -> None:
    large = sentences_of(hundred, kept, 80, seed=5)
    assert sentences_of(hundred, kept, 30, seed=5) == large[:30]
    assert len(set(large)) == 80
    assert large != sentences_of(hundred, kept, 80, seed=6)


def test_a_sample_is_the_same_for_ever(hundred: str, kept: Path) -> None:
    """The store outlives an upgrade of NumPy only if the permutation does."""
    assert sentences_of(hundred, kept, 5) == [SENTENCES[index] for index in (26, 86, 2, 55, 75)]
    order = np.random.RandomState(7).permutation(100)
    assert sentences_of(hundred, kept, seed=7) == [SENTENCES[index] for index in order]


def test_a_small_corpus_is_used_whole(hundred: str, kept: Path) -> None:
    sample = sampling.find_sample(Selection(hundred), 1000, 0, kept, Progress())
    assert sorted(sample.sentences) == sorted(SENTENCES)
    assert sample.drawn == "drawn at random from 100, seed 0"


def test_a_damaged_copy_of_a_file_is_made_again(hundred: str, kept: Path) -> None:
    (path,) = (opened(hundred, kept), *kept.glob("file-*"))[1:]
    content = path.read_bytes()
    path.write_bytes(content.replace(b"number 4", b"number 5"))
    assert sorted(sentences_of(hundred, kept)) == sorted(SENTENCES)
    assert path.read_bytes() == content


def test_a_folder_that_damages_what_it_keeps_is_named(
    hundred: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.sources.sentence_files.rows", lambda *_: None)
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
            sampling.fetch_sample(Selection(repo), 10, 0, kept, progress)
        assert time.monotonic() - began < 2
        hub.behave()
        sampling.fetch_corpus(Selection(repo), kept, Progress()) if what == "/api/*" else None
    assert len(fetched(repo, kept).sentences) == 100
