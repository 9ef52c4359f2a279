"""All sentences of datasets on the stand-in for the Hub."""

import threading
from pathlib import Path

import filelock
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpora import LONG, SENTENCES, Stopping, fetched, shrink
from support.datasets import write
from support.hub import Hub

from clsviz.errors import CancelledError, CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL, Segmentation
from clsviz.sources import local_files, sampling, segmentation
from clsviz.sources.catalogue import NotDownloadedError


@pytest.fixture
def few_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred sentences 40 are shuffled, and 10 of these are in memory."""
    shrink(monkeypatch, 40, 10)


@pytest.mark.usefixtures("few_shuffled")
@pytest.mark.parametrize("step", [1, 7, 33, 100])
def test_a_whole_corpus_begins_like_a_sample_and_goes_on_as_it_is(hundred: str, kept: Path, step: int) -> None:
    sample = sampling.find_sample(Selection(hundred), ALL, 3, kept, Progress())
    read = [sentence for start in range(0, 100, step) for sentence in sample.read(start, min(start + step, 100))]
    order = np.random.RandomState(3).permutation(100)[:40]
    assert read == [SENTENCES[number] for number in order] + [
        sentence for number, sentence in enumerate(SENTENCES) if number not in set(order)
    ]
    assert sample.n_sentences == 100
    assert sample.drawn == "all of the corpus, the first 40 in random order, seed 3"
    assert sample.sentences == read[:10]


def whole(name: str, kept: Path, seed: int = 3) -> sampling.Sample:
    return sampling.find_sample(Selection(name), ALL, seed, kept, Progress())


def expected(seed: int = 3) -> list[str]:
    return [SENTENCES[number] for number in np.random.RandomState(seed).permutation(100)[:10]]


@pytest.mark.usefixtures("few_shuffled")
def test_the_first_sentences_are_read_without_the_others(
    hundred: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert whole(hundred, kept).sentences == expected()
    (head,) = kept.glob("*-head-*")
    read: list[Path] = []
    column = local_files.read_column
    monkeypatch.setattr(sampling, "read_column", lambda path, *rest: read.append(path) or column(path, *rest))
    again = whole(hundred, kept)
    assert again.sentences == expected()
    assert read == [head]
    assert again.read(5, 100) == [*whole(hundred, kept).whole.read(5, 100)]  # type: ignore[union-attr]
    assert whole(hundred, kept, seed=4).sentences == expected(4)
    assert len([*kept.glob("*-head-*")]) == 2
    next(kept.glob("file-????????????????????????????????.parquet")).unlink()
    with pytest.raises(CorpusError, match="was changed or deleted while it was being read"):
        again.read(50, 60)


@pytest.mark.usefixtures("few_shuffled")
def test_a_damaged_head_is_taken_from_the_corpus_again(hundred: str, kept: Path) -> None:
    whole(hundred, kept)
    (head,) = kept.glob("*-head-*")
    for content in (b"", b"PAR1", head.read_bytes()[:-40]):
        head.write_bytes(content)
        assert whole(hundred, kept).sentences == expected()
        assert pq.read_table(head)["sentence"].to_pylist() == expected()


@pytest.mark.usefixtures("few_shuffled")
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


FILES = SENTENCES[:40], [], SENTENCES[40:47], SENTENCES[47:]


def publish(hub: Hub, repo: str, folder: Path, files: tuple[list[str], ...] = FILES, revision: str = "main") -> str:
    """A dataset of several files, one of which is empty; the commit."""
    for number, texts in enumerate(files):
        table = pa.table({"id": range(len(texts)), "text": pa.array(texts, pa.string())})
        write(folder / "data" / f"train-{number:05}-of-{len(files):05}.parquet", table, rows=9)
    return hub.add(repo, folder, kind="dataset", revision=revision)


def read_all(sample: sampling.Sample, step: int = 7) -> list[str]:
    n = sample.n_sentences
    return [sentence for start in range(0, n, step) for sentence in sample.read(start, min(start + step, n))]


def in_order(n_shuffled: int, seed: int = 0) -> list[str]:
    """The hundred sentences as a whole corpus has them, of which so many are shuffled."""
    first = np.random.RandomState(seed).permutation(100)[:n_shuffled].tolist()
    return [SENTENCES[number] for number in first + sorted(set(range(100)) - set(first))]


def got(hub: Hub) -> list[str]:
    """The files whose content was fetched."""
    return [r.path for r in hub.requests if r.method == "GET" and r.path.endswith(".parquet") and not r.range]


def test_all_of_a_dataset_is_read_from_all_its_files(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, 30, 10)
    commit = publish(hub, repo, tmp_path / "own")
    fetched(repo, kept, 10)
    for find in (sampling.find_sample, lambda *of: sampling.find_corpus(of[0], *of[3:], ALL)):
        with pytest.raises(NotDownloadedError):
            find(Selection(repo), ALL, 0, kept, Progress())
    assert got(hub) == []
    sample = fetched(repo, kept, ALL)
    assert (sample.n_sentences, sample.corpus.n_sentences, sample.corpus.pinned) == (100, 100, f"{repo}@{commit}")
    assert sample.corpus.fields == ()  # “id” is in the files, but not known beside a sentence
    assert sample.drawn == "all of the corpus, the first 30 in random order, seed 0"
    assert sample.sentences == in_order(30)[:10]
    assert read_all(sample) == in_order(30)
    assert len(got(hub)) == len(FILES)
    hub.requests.clear()
    later = sampling.find_sample(Selection(repo), ALL, 3, kept, Progress())
    assert read_all(later, 33) == in_order(30, seed=3)
    found = sampling.find_corpus(Selection(repo), kept, Progress(), ALL)
    assert found == later.corpus == sample.corpus
    assert hub.requests == []


def test_all_of_a_small_dataset_is_in_memory_and_no_sample_of_it(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    publish(hub, repo, tmp_path / "own")
    sample = fetched(repo, kept, ALL)
    assert sample.whole is None
    assert sample.sentences == in_order(100)
    part = fetched(repo, kept, 10)
    assert part.sentences != sample.sentences[:10]
    assert part.corpus.fingerprint != sample.corpus.fingerprint  # so that the store does not take one for the other


def test_texts_are_cut_and_chosen_as_those_of_samples_are(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    table = pa.table({"text": LONG, "title": SENTENCES[: len(LONG)]})
    write(tmp_path / "own" / "train.parquet", table)
    write(tmp_path / "own" / "test.parquet", pa.table({"text": ["A test.", None, "  "]}))
    hub.add(repo, tmp_path / "own", kind="dataset")
    cut, texts, titles = (
        fetched(repo, kept, ALL, **settings)
        for settings in ({}, {"segmentation": Segmentation.NONE}, {"column": "title"})
    )
    assert sorted(cut.sentences) == sorted(piece.rstrip(".") + "." for text in LONG for piece in text.split(". "))
    assert cut.corpus.selection.segmentation is Segmentation.SENTENCES
    assert sorted(texts.sentences) == sorted(LONG)
    assert sorted(titles.sentences) == SENTENCES[: len(LONG)]
    assert fetched(repo, kept, ALL, split="test").sentences == ["A test."]
    assert len({sample.corpus.fingerprint for sample in (cut, texts, titles)}) == 3
    with pytest.raises(CorpusError, match="has no column “x” that holds text"):
        fetched(repo, kept, ALL, column="x")


def test_what_it_will_take_is_told_before(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own", (SENTENCES[:50], SENTENCES[50:]))
    corpus = sampling.find_corpus(Selection(repo), kept, Progress(), online=True)
    sizes = [path.stat().st_size for path in (tmp_path / "own").rglob("*.parquet")]
    assert corpus.n_bytes == sum(sizes)
    assert corpus.n_about == pytest.approx(100, abs=5)
    texts = [f"{number} {text}" for number in range(50) for text in LONG]
    publish(hub, f"{repo}-long", tmp_path / "long", (texts,))
    of_long = sampling.find_corpus(Selection(f"{repo}-long"), kept, Progress(), online=True)
    assert of_long.n_about == pytest.approx(sum(map(len, texts)) / 100, rel=0.3)


def test_what_was_fetched_and_cut_before_a_cancellation_is_not_again(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.sources.hub_rounds._WHOLE_TEXTS", 2)
    publish(hub, repo, tmp_path / "own")
    n_cut: list[int] = []
    sentences = segmentation.sentences

    def counted(texts: list[str], *, cut: bool) -> list[str]:
        n_cut.append(len(texts))
        return sentences(texts, cut=cut)

    monkeypatch.setattr(segmentation, "sentences", counted)
    for looks in range(1, 400, 12):
        try:
            sample = sampling.find_sample(Selection(repo), ALL, 0, kept, Stopping(looks), online=True)
            break
        except CancelledError:
            pass
    assert looks > 40  # it was stopped several times
    assert sample.sentences == in_order(100)
    assert sum(n_cut) < 100 + 2 * looks // 12  # what was cut, and no more than a batch for each time
    assert len(got(hub)) <= len(FILES) + 2
    assert not [*kept.rglob("*.unfinished"), *kept.rglob(".new-*")]


def test_a_download_that_breaks_off_goes_on(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    texts = [f"{index} {'word ' * 40}" for index in range(8_000)]
    publish(hub, repo, tmp_path / "own", (texts,))
    sampling.find_corpus(Selection(repo), kept, Progress(), online=True)
    hub.misbehave("*.parquet", "cut", 1)
    sample = fetched(repo, kept, ALL, segmentation=Segmentation.NONE)
    assert sorted(sample.sentences) == sorted(map(str.strip, texts))
    ranges = [r.range for r in hub.requests if r.method == "GET" and r.path.endswith(".parquet") and r.status == 206]
    assert any(wanted.endswith("-") and wanted != "bytes=0-" for wanted in ranges)


def test_what_is_damaged_is_fetched_or_read_again(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    sampling.find_corpus(Selection(repo), kept, Progress(), online=True)
    hub.misbehave("*train-00003*", "damaged", 1)
    with pytest.raises(CorpusError, match="was damaged on its way here"):
        fetched(repo, kept, ALL)
    assert len([*kept.rglob("whole-*/*.parquet")]) == 3
    sample = fetched(repo, kept, ALL)
    assert sample.sentences == in_order(100)
    (path,) = kept.rglob("whole-*/000003.parquet")
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    path.write_bytes(content)
    with pytest.raises(NotDownloadedError):
        sampling.find_sample(Selection(repo), ALL, 0, kept, Progress())
    assert fetched(repo, kept, ALL).sentences == in_order(100)


def test_a_disk_without_room_is_told_before_anything_is_fetched(
    hub: Hub, repo: str, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hub, repo, tmp_path / "own")
    fetched(repo, kept, 10)
    sizes = [path.stat().st_size for path in (tmp_path / "own").rglob("*.parquet")]
    usage = type("Usage", (), {"free": sum(sizes) - 1})
    monkeypatch.setattr("clsviz.sources.hub.shutil.disk_usage", lambda _: usage)
    with pytest.raises(CorpusError, match="The disk is too full"):
        fetched(repo, kept, ALL)
    assert got(hub) == []
    usage.free = sum(sizes)
    assert fetched(repo, kept, ALL).n_sentences == 100


def test_a_dataset_that_is_changed_under_way_is_told_and_fetched_as_it_is_now(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    old = publish(hub, repo, tmp_path / "old", (SENTENCES[:50],))
    fetched(repo, kept, 10)
    new = publish(hub, repo, tmp_path / "new")
    hub.forget(repo, old, kind="dataset")  # as where a branch is rewritten
    with pytest.raises(CorpusError, match=r"was changed on the Hugging Face Hub while it was .* Run the same again"):
        fetched(repo, kept, ALL)
    sample = fetched(repo, kept, ALL)
    assert sample.corpus.pinned == f"{repo}@{new}"
    assert sample.sentences == in_order(100)
    with pytest.raises(CorpusError, match=f"has no revision “{old}”"):
        fetched(f"{repo}@{old}", tmp_path / "elsewhere", ALL)


def test_a_branch_that_moves_on_changes_nothing_of_what_was_begun(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    old = publish(hub, repo, tmp_path / "old")
    fetched(repo, kept, 10)
    publish(hub, repo, tmp_path / "new", (SENTENCES[:50],))
    sample = fetched(repo, kept, ALL)
    assert (sample.n_sentences, sample.corpus.pinned) == (100, f"{repo}@{old}")


def test_several_at_once_fetch_each_file_once(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    samples: list[sampling.Sample] = []
    workers = [threading.Thread(target=lambda: samples.append(fetched(repo, kept, ALL))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [sample.sentences for sample in samples] == [in_order(100)] * 3
    assert len(got(hub)) == len(FILES)


def test_what_another_process_has_in_hand_is_waited_for(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own")
    fetched(repo, tmp_path / "other", ALL)
    made = next((tmp_path / "other").rglob("whole-*"))
    (kept / made.relative_to(tmp_path / "other")).mkdir(parents=True)
    held = filelock.FileLock(kept / made.relative_to(tmp_path / "other") / "000002.lock")
    held.acquire()

    class Waiting(Progress):
        def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
            super().begin(stage, total, done, unit)
            if stage.startswith("Other processes"):
                assert [path.name for path in sorted(kept.rglob("0*.parquet"))] == [
                    f"{number:06}.parquet" for number in (0, 1, 3)
                ]
                held.release()  # it died

    sample = sampling.find_sample(Selection(repo), ALL, 0, kept, Waiting(), online=True)
    assert not held.is_locked
    assert sample.sentences == in_order(100)


def test_a_dataset_without_text_is_refused(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path / "own", (["", " "],))
    with pytest.raises(CorpusError, match="holds no text in “text”"):
        fetched(repo, kept, ALL)
