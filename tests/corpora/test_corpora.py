import csv
import gzip
import hashlib
import io
import json
import os
import sys
import sysconfig
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.hub import Hub
from support.tiny import write_dataset

from clsviz import corpora
from clsviz.corpora import CORPORA, Corpus, Dataset, NotDownloadedError, Source, formats, keep_upload
from clsviz.corpora.segmentation import MAX_CHARACTERS
from clsviz.errors import CancelledError, CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation

SENTENCES = [f"Sentence number {index}." for index in range(100)]
LONG = [f"This is the beginning of text {index}. " + "It goes on and on. " * 20 + "Here it ends." for index in range(8)]


def sentences_of(name: str, folder: Path, size: int = 10**6, seed: int = 0, **settings: str) -> list[str]:
    return corpora.find_sample(Selection(name, **settings), size, seed, folder, Progress()).sentences


def opened(name: str, folder: Path, **settings: str) -> Corpus:
    return corpora.find_corpus(Selection(name, **settings), folder, Progress())


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def hundred(tmp_path: Path) -> str:
    path = tmp_path / "hundred.txt"
    path.write_text("\n".join(SENTENCES))
    return str(path)


# Samples of what is on this machine


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
    sample = corpora.find_sample(Selection(hundred), 1000, 0, kept, Progress())
    assert sorted(sample.sentences) == sorted(SENTENCES)
    assert sample.drawn == "drawn at random from 100, seed 0"


def test_the_fingerprint_is_of_the_content(hundred: str, kept: Path) -> None:
    corpus = opened(hundred, kept)
    assert corpus.fingerprint == hashlib.sha256("\n".join(SENTENCES).encode()).hexdigest()
    assert (corpus.n_sentences, corpus.label, corpus.pinned) == (100, "hundred.txt", hundred)
    assert (corpus.columns, corpus.splits, corpus.configurations) == ((), (), ())


# The documentation


def test_the_standard_library_gives_thousands_of_sentences_and_is_kept(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress()
    assert corpora.build_seconds("python-docs", kept) > 0
    sample = corpora.find_sample(Selection("python-docs"), 10**6, 0, kept, progress)
    assert len(sample.sentences) > 5000
    assert len(set(sample.sentences)) == len(sample.sentences) == sample.corpus.n_sentences
    assert progress.done == progress.total > 100
    assert corpora.build_seconds("python-docs", kept) == 0
    monkeypatch.setattr("clsviz.corpora.docstrings.gather", None)  # what is kept is not gathered again
    again = corpora.find_sample(Selection("python-docs"), 10**6, 0, kept, Progress())
    assert (again.sentences, again.corpus) == (sample.sentences, sample.corpus)


def test_package_docs_hold_those_of_the_installed_packages_as_well() -> None:
    package, python = CORPORA["package-docs"], CORPORA["python-docs"]
    assert isinstance(package, Source)
    assert isinstance(python, Source)
    files, library = package.files(), python.files()
    assert files[: len(library)] == library
    assert any(path.startswith(sysconfig.get_path("purelib")) for path in files)
    assert len(files) == len(set(files)) > 5 * len(library)


@pytest.fixture
def small_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue entry “small”, of two files in a folder."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.py").write_text('"""The first sentence. The second sentence."""')
    (folder / "b.py").write_text('"""The second sentence. The third sentence."""')
    files: Callable[[], list[str]] = lambda: sorted(map(str, folder.glob("*.py")))  # noqa: E731
    monkeypatch.setitem(CORPORA, "small", Source("Small", "", files, lambda: "1", build_seconds=1))
    return folder


@pytest.mark.usefixtures("small_source")
def test_sentences_are_kept_once_and_in_order(kept: Path) -> None:
    corpus = opened("small", kept)
    (path,) = kept.glob("small-*.parquet")
    assert corpora.kept.rows(path, np.arange(3)) == [
        "The first sentence.",
        "The second sentence.",
        "The third sentence.",
    ]
    assert (corpus.label, corpus.n_sentences, corpus.pinned) == ("Small", 3, "small")
    assert corpus.selection == Selection("small", segmentation=Segmentation.NONE)


@pytest.mark.usefixtures("small_source")
def test_a_damaged_corpus_is_built_again(kept: Path) -> None:
    whole = sentences_of("small", kept)
    (path,) = kept.glob("small-*.parquet")
    content = path.read_bytes()
    for damaged in (b"", content[: len(content) // 2], content.replace(b"second", b"Second")):
        path.write_bytes(damaged)
        assert sentences_of("small", kept) == whole
        assert path.read_bytes() == content


def test_a_damaged_copy_of_a_file_is_made_again(hundred: str, kept: Path) -> None:
    (path,) = (opened(hundred, kept), *kept.glob("file-*"))[1:]
    content = path.read_bytes()
    path.write_bytes(content.replace(b"number 4", b"number 5"))
    assert sorted(sentences_of(hundred, kept)) == sorted(SENTENCES)
    assert path.read_bytes() == content


def test_a_folder_that_damages_what_it_keeps_is_named(
    hundred: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.corpora.kept.rows", lambda *_: None)
    with pytest.raises(CorpusError, match=r"hundred\.txt cannot be kept in .*Choose another place for the store"):
        sentences_of(hundred, kept)


@pytest.mark.usefixtures("small_source")
def test_building_a_corpus_can_be_cancelled(kept: Path) -> None:
    progress = Progress()
    progress.cancel()
    with pytest.raises(CancelledError):
        corpora.find_corpus(Selection("small"), kept, progress)
    assert corpora.build_seconds("small", kept) == 1
    assert not kept.exists()


def test_no_docstrings_at_all_is_explained(small_source: Path, kept: Path) -> None:
    for path in small_source.iterdir():
        path.write_text("x = 1")
    with pytest.raises(CorpusError, match="without its sources"):
        opened("small", kept)


@pytest.mark.usefixtures("small_source")
def test_a_worker_that_dies_is_reported(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(CorpusError, match="broke off"):
        opened("small", kept)


@pytest.mark.usefixtures("small_source")
@pytest.mark.parametrize("setting", ["configuration", "split", "column"])
def test_documentation_has_none_of_the_settings_of_a_dataset(kept: Path, setting: str) -> None:
    with pytest.raises(CorpusError, match=f"Small has no {setting} “x”. Leave that setting out"):
        opened("small", kept, **{setting: "x"})


# Files


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


@pytest.mark.parametrize("suffix", formats.SUFFIXES)
def test_a_file_of_every_format(tmp_path: Path, kept: Path, suffix: str) -> None:
    path = tmp_path / f"texts{suffix}"
    path.write_bytes(content_of(suffix, SENTENCES))
    corpus = opened(str(path), kept)
    assert corpus.fingerprint == hashlib.sha256("\n".join(SENTENCES).encode()).hexdigest()
    assert corpus.columns == (() if suffix.startswith(".txt") else ("text", "title"))
    assert corpus.selection.column == ("" if suffix.startswith(".txt") else "text")
    assert sorted(sentences_of(str(path), kept)) == sorted(SENTENCES)
    assert [file.suffix for file in kept.iterdir()] == [".parquet"]


@pytest.mark.parametrize("suffix", formats.SUFFIXES)
def test_an_upload_of_every_format_is_kept_and_found_again(tmp_path: Path, kept: Path, suffix: str) -> None:
    content = content_of(suffix, SENTENCES)
    name = keep_upload(io.BytesIO(content), f"Mine{suffix.upper()}", kept)
    assert corpora.is_upload(name)
    assert (kept / name).read_bytes() == content
    corpus = opened(name, kept)
    assert (corpus.label, corpus.pinned, corpus.n_sentences) == (f"Mine{suffix.upper()}", name, 100)
    assert corpora.upload_label(name, kept) == f"Mine{suffix.upper()}"
    path = tmp_path / f"other{suffix}"
    path.write_bytes(content)
    assert opened(str(path), kept).fingerprint == corpus.fingerprint
    assert sentences_of(name, kept, 10) == sentences_of(str(path), kept, 10)
    assert not list(kept.glob(".new-*"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_text_file_in_any_encoding(tmp_path: Path, kept: Path, encoding: str) -> None:
    sentences = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz für größere Gewissheit.", "Übermäßig süße Äpfel."]
    path = tmp_path / "text.txt"
    path.write_bytes("\r\n".join(["", *sentences, "   ", ""]).encode(encoding))
    assert sorted(sentences_of(str(path), kept)) == sorted(sentences)
    assert opened(str(path), kept).fingerprint == hashlib.sha256("\n".join(sentences).encode()).hexdigest()


def test_a_stray_byte_is_named_with_its_line(tmp_path: Path, kept: Path) -> None:
    """Read in another encoding, all the other lines would silently be wrong."""
    content = "Übermäßig süße Äpfel.\nEin zweiter Satz.\n".encode() + b"Caf\xe9.\n" + "Größe.\n".encode()
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"Line 3 of text\.txt is damaged: its byte 0xe9"):
        opened(str(path), kept)
    with pytest.raises(CorpusError, match=r"Line 3 of mine\.txt is damaged"):
        keep_upload(io.BytesIO(content), "mine.txt", kept)
    assert not kept.exists() or not list(kept.iterdir())


@pytest.mark.parametrize("content", [b"", b"\n \n\t\n", b"PNG\0\0\0"])
def test_a_file_without_sentences_is_refused_and_not_kept(tmp_path: Path, kept: Path, content: bytes) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"text\.txt"):
        opened(str(path), kept)
    with pytest.raises(CorpusError, match=r"mine\.txt"):
        keep_upload(io.BytesIO(content), "mine.txt", kept)
    assert not kept.exists() or not list(kept.iterdir())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.csv", b"text\n\n \n"),
        ("mine.jsonl", b"{}\n"),
        ("mine.parquet", b"PAR1"),
        ("mine.txt.gz", b"no gzip"),
        ("mine.docx", b"Some text."),
        ("mine", b"Some text."),
    ],
)
def test_an_upload_that_cannot_be_read_is_not_kept(kept: Path, name: str, content: bytes) -> None:
    with pytest.raises(CorpusError, match=name):
        keep_upload(io.BytesIO(content), name, kept)
    assert not kept.exists() or not list(kept.iterdir())


def test_what_is_not_there_or_no_file_is_named(tmp_path: Path, kept: Path) -> None:
    with pytest.raises(CorpusError, match=r"There is no file “.*none\.txt”"):
        opened(str(tmp_path / "none.txt"), kept)
    with pytest.raises(CorpusError, match="it is no regular file"):
        opened(str(tmp_path), kept)
    other = tmp_path / "text.docx"
    other.write_text("Some text.")
    with pytest.raises(CorpusError, match=r"text\.docx is of no known format"):
        opened(str(other), kept)
    with pytest.raises(CorpusError, match="cannot be read"):
        opened("./a\0b.txt", kept)
    for setting in ("configuration", "split"):
        with pytest.raises(CorpusError, match=f"has no {setting} “x”"):
            opened(str(other), kept, **{setting: "x"})


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "text.txt"
    path.symlink_to("/proc/self/mem")  # a regular file that even root cannot read from its start
    with pytest.raises(CorpusError, match=r"text\.txt cannot be read: Input/output error"):
        opened(str(path), kept)


@pytest.mark.timeout(20)
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "pipe.txt"
    os.mkfifo(path)
    with pytest.raises(CorpusError, match="it is no regular file"):
        opened(str(path), kept)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clsviz.corpora.formats.table.MAX_FILE_BYTES", 10)
    path = tmp_path / "text.txt"
    path.write_text("More than ten bytes.")
    with pytest.raises(CorpusError, match=r"text\.txt is larger than"):
        opened(str(path), kept)
    with pytest.raises(CorpusError, match=r"mine\.txt is larger than"):
        keep_upload(io.BytesIO(path.read_bytes()), "mine.txt", kept)
    assert not kept.exists() or not list(kept.iterdir())


def test_what_is_no_sentence_by_its_length_is_left_out(kept: Path) -> None:
    longest = "a" * MAX_CHARACTERS
    name = keep_upload(io.BytesIO(f"One.\n{longest}a\n{longest}\n".encode()), "long.txt", kept)
    assert sorted(sentences_of(name, kept, segmentation=Segmentation.NONE)) == ["One.", longest]
    only = keep_upload(io.BytesIO(f"{longest}a".encode()), "long.txt", kept)
    with pytest.raises(CorpusError, match=r"long\.txt holds no sentence of up to 100,000 characters"):
        sentences_of(only, kept)
    with pytest.raises(CorpusError, match="holds no sentence"):
        sentences_of(only, kept)  # of what is kept by now


def test_a_column_is_chosen_or_named(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(content_of(".csv", SENTENCES))
    likeliest = opened(str(path), kept)
    assert (likeliest.selection.column, likeliest.columns) == ("text", ("text", "title"))
    title = opened(str(path), kept, column="title")
    assert title.selection.column == "title"
    assert title.fingerprint == hashlib.sha256("\n".join(f"Title {i}" for i in range(100)).encode()).hexdigest()
    assert opened(str(path), kept, column="text").fingerprint == likeliest.fingerprint
    assert sorted(sentences_of(str(path), kept, column="title")) == sorted(f"Title {i}" for i in range(100))
    with pytest.raises(CorpusError, match=r"has no column “x” that holds text\. Choose one of these: text, title"):
        opened(str(path), kept, column="x")


def test_long_texts_are_cut_into_sentences_unless_told_otherwise(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(content_of(".jsonl", LONG))
    pieces = Counter(piece.rstrip(".") + "." for text in LONG for piece in text.split(". "))
    assert max(map(len, pieces)) < 50
    auto = opened(str(path), kept)
    assert auto.selection.segmentation is Segmentation.SENTENCES
    assert Counter(sentences_of(str(path), kept)) == pieces
    explicit = opened(str(path), kept, segmentation=Segmentation.SENTENCES)
    assert (explicit.fingerprint, explicit.selection) == (auto.fingerprint, auto.selection)
    whole = opened(str(path), kept, segmentation=Segmentation.NONE)
    assert whole.selection.segmentation is Segmentation.NONE
    assert whole.fingerprint == hashlib.sha256("\n".join(LONG).encode()).hexdigest() != auto.fingerprint
    assert sorted(sentences_of(str(path), kept, segmentation=Segmentation.NONE)) == sorted(LONG)
    titles = opened(str(path), kept, column="title")
    assert titles.selection.segmentation is Segmentation.NONE


def test_short_texts_are_left_whole_unless_told_otherwise(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("One cat. Two dogs.\nThree trees.\n")
    assert opened(str(path), kept).selection.segmentation is Segmentation.NONE
    assert sorted(sentences_of(str(path), kept)) == ["One cat. Two dogs.", "Three trees."]
    cut = sentences_of(str(path), kept, segmentation=Segmentation.SENTENCES)
    assert sorted(cut) == ["One cat.", "Three trees.", "Two dogs."]


def test_a_file_that_changes_is_read_anew(hundred: str, kept: Path) -> None:
    first = opened(hundred, kept)
    status = Path(hundred).stat()
    Path(hundred).write_text("\n".join(SENTENCES).replace("number 4", "number 5"))
    os.utime(hundred, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert Path(hundred).stat().st_size == status.st_size
    second = opened(hundred, kept)
    assert second.fingerprint != first.fingerprint
    assert "Sentence number 4." not in sentences_of(hundred, kept)
    Path(hundred).write_text("\n".join(SENTENCES))
    assert opened(hundred, kept).fingerprint == first.fingerprint


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


def test_reading_a_large_file_can_be_cancelled(tmp_path: Path, kept: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_text("\n".join(f"Sentence number {index} of many." for index in range(200_000)))
    for looks in (0, 1, 5):
        with pytest.raises(CancelledError):
            corpora.find_sample(Selection(str(path)), 10, 0, kept, Stopping(looks))
    assert not kept.exists() or not list(kept.iterdir())
    stopping = Stopping(1000)
    corpora.find_sample(Selection(str(path)), 10, 0, kept, stopping)
    assert stopping.looks < 1000 - 20  # it is looked at for every batch


def test_an_upload_is_content_addressed(tmp_path: Path, kept: Path) -> None:
    content = b"text,title\nOne sentence,\nAnother one,\n"
    name = keep_upload(io.BytesIO(content), "mine.csv", kept)
    assert keep_upload(io.BytesIO(content), "same.csv", kept) == name
    assert corpora.upload_label(name, kept) == "same.csv"
    other = keep_upload(io.BytesIO(content), "mine.txt", kept)
    assert other != name
    assert len(sentences_of(other, kept)) == 3  # with the header
    assert opened(other, kept).fingerprint != opened(name, kept).fingerprint
    with pytest.raises(CorpusError, match="Upload its file again"):
        opened(name, tmp_path / "elsewhere")
    with pytest.raises(CorpusError, match="Upload its file again"):
        corpora.upload_label(name, tmp_path / "elsewhere")


@pytest.mark.parametrize("damage", ["removed", "changed", "unnamed", "misnamed"])
def test_an_upload_that_is_damaged_is_asked_for_again(kept: Path, damage: str) -> None:
    name = keep_upload(io.BytesIO(b"One sentence.\nAnother one.\n"), "mine.txt", kept)
    match damage:
        case "removed":
            (kept / name).unlink()
        case "changed":
            (kept / name).write_bytes(b"One sentence!\nAnother one!\n")
        case "unnamed":
            (kept / f"{name}.json").unlink()
        case _:
            (kept / f"{name}.json").write_text('["mine.txt"]')
    with pytest.raises(CorpusError, match=r"Upload (its file|it) again"):
        sentences_of(name, kept)
    assert keep_upload(io.BytesIO(b"One sentence.\nAnother one.\n"), "mine.txt", kept) == name
    assert len(sentences_of(name, kept)) == 2


@pytest.mark.parametrize(
    "name", ["upload-", "upload-../../etc/passwd", "upload-" + "g" * 32, "upload-" + "0" * 32 + "\n", "python-docs"]
)
def test_only_a_digest_names_an_upload(name: str) -> None:
    assert not corpora.is_upload(name)


@pytest.mark.parametrize("name", ["../../outside.txt", "/etc/passwd.txt", "a\0b.txt", "x" * 3000 + ".txt", "é\n.txt"])
def test_the_name_of_an_upload_leads_nowhere(kept: Path, name: str) -> None:
    upload = keep_upload(io.BytesIO(b"One sentence."), name, kept)
    assert {path.name for path in kept.iterdir()} == {upload, f"{upload}.json"}
    assert corpora.upload_label(upload, kept) == name
    assert sentences_of(upload, kept) == ["One sentence."]


# Datasets of the Hub


@pytest.fixture
def repo(request: pytest.FixtureRequest) -> str:
    """The name of a dataset that no other test has."""
    return f"you/{zlib.crc32(request.node.nodeid.encode()):08x}"


def publish(hub: Hub, repo: str, folder: Path, splits: dict[str, dict[str, list[str]]]) -> str:
    """A dataset that comes with a script, and the commit of its conversion."""
    (folder / "script").mkdir(parents=True)
    (folder / "script" / f"{repo.rpartition('/')[2]}.py").write_text("raise SystemExit('it ran')")
    hub.add(repo, folder / "script", kind="dataset")
    return hub.add(repo, write_dataset(folder / "own", splits), kind="dataset", revision="refs/convert/parquet")


def fetched(name: str, folder: Path, size: int = 10**6, **settings: str) -> corpora.Sample:
    return corpora.fetch_sample(Selection(name, **settings), size, 0, folder, Progress())


def test_what_a_dataset_declares_is_offered_and_the_likeliest_taken(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    splits = {"de": {"test": ["Ein Satz."], "train": LONG}, "en": {"train": SENTENCES}}
    commit = publish(hub, repo, tmp_path, splits)
    corpus = corpora.fetch_corpus(Selection(repo), kept, Progress())
    assert corpus.selection == Selection(repo, "de", "train", "text", Segmentation.SENTENCES)
    assert (corpus.configurations, corpus.splits, corpus.columns) == (("de", "en"), ("test", "train"), ("text",))
    assert (corpus.label, corpus.n_sentences, corpus.pinned) == (repo, None, f"{repo}@{commit}")
    english = fetched(repo, kept, configuration="en")
    assert english.corpus.selection == Selection(repo, "en", "train", "text", Segmentation.NONE)
    assert Counter(english.sentences) == Counter(SENTENCES)
    assert fetched(repo, kept, split="test").sentences == ["Ein Satz."]
    for setting, message in (
        ("configuration", r"no configuration “x”\. Choose de, en"),
        ("split", r"no split “x” in de\. Choose test, train"),
        ("column", r"no column “x” that holds text\. Choose text"),
    ):
        with pytest.raises(CorpusError, match=message):
            corpora.fetch_corpus(Selection(repo, **{setting: "x"}), kept, Progress())


def test_the_segmentation_of_a_dataset_is_part_of_the_experiment(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    publish(hub, repo, tmp_path, {"default": {"train": LONG}})
    pieces = Counter(piece.rstrip(".") + "." for text in LONG for piece in text.split(". "))
    cut, whole = (fetched(repo, kept, segmentation=way) for way in (Segmentation.AUTO, Segmentation.NONE))
    assert (Counter(cut.sentences), Counter(whole.sentences)) == (pieces, Counter(LONG))
    assert cut.corpus.fingerprint != whole.corpus.fingerprint
    assert fetched(repo, kept, segmentation=Segmentation.SENTENCES).corpus == cut.corpus


def test_a_commit_gives_the_same_corpus_and_another_commit_another(
    hub: Hub, repo: str, tmp_path: Path, kept: Path
) -> None:
    publish(hub, repo, tmp_path / "first", {"default": {"train": SENTENCES}})
    first = fetched(repo, kept)
    second_commit = publish(hub, repo, tmp_path / "second", {"default": {"train": SENTENCES[::-1]}})
    pinned = fetched(first.corpus.pinned, tmp_path / "elsewhere")
    assert pinned.sentences == first.sentences
    assert pinned.corpus.fingerprint == first.corpus.fingerprint
    assert pinned.corpus.pinned == first.corpus.pinned == pinned.corpus.selection.corpus
    assert pinned.corpus.label == f"{repo}@{first.corpus.pinned.rpartition('@')[2]}"
    second = fetched(repo, tmp_path / "later")
    assert second.corpus.pinned == f"{repo}@{second_commit}"
    assert second.corpus.fingerprint != first.corpus.fingerprint
    # What is kept stays as it was, and is not asked for again; the other corpus has its own place.
    hub.requests.clear()
    assert fetched(repo, kept).sentences == first.sentences
    assert fetched(first.corpus.pinned, kept).sentences == first.sentences
    assert hub.requests == []


def test_each_part_of_a_dataset_has_a_fingerprint_of_its_own(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    for split in ("train", "test"):
        pq.write_table(pa.table({"text": SENTENCES, "title": SENTENCES}), folder / f"{split}.parquet")
    hub.add(repo, folder, kind="dataset")
    fingerprints = {
        opened_on_hub.fingerprint
        for settings in ({}, {"column": "title"}, {"split": "test"}, {"segmentation": Segmentation.SENTENCES})
        if (opened_on_hub := corpora.fetch_corpus(Selection(repo, **settings), kept, Progress()))
    }
    assert len(fingerprints) == 4


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


def test_without_the_network_what_is_not_kept_is_told(hub: Hub, repo: str, tmp_path: Path, kept: Path) -> None:
    publish(hub, repo, tmp_path, {"default": {"train": SENTENCES}})
    for name in (repo, f"{repo}@main", "bookcorpus", "me/nothing"):
        with pytest.raises(NotDownloadedError, match="has to be read from the Hugging Face Hub first"):
            corpora.find_sample(Selection(name), 10, 0, kept, Progress())
        with pytest.raises(NotDownloadedError):
            corpora.find_corpus(Selection(name), kept, Progress())
    assert hub.requests == []
    corpora.fetch_corpus(Selection(repo), kept, Progress())
    n_requests = len(hub.requests)
    assert corpora.find_corpus(Selection(repo), kept, Progress()).selection.split == "train"
    with pytest.raises(NotDownloadedError):
        corpora.find_sample(Selection(repo), 10, 0, kept, Progress())
    assert len(hub.requests) == n_requests
    whole = fetched(repo, kept).sentences
    assert corpora.find_sample(Selection(repo), 10, 0, kept, Progress()).sentences == whole[:10]


@pytest.mark.parametrize("name", [name for name, entry in CORPORA.items() if isinstance(entry, Dataset)])
def test_a_dataset_of_the_catalogue_is_what_its_entry_says(hub: Hub, tmp_path: Path, kept: Path, name: str) -> None:
    """Of a configuration, a split and a column that would not be taken without the entry."""
    entry = CORPORA[name]
    assert isinstance(entry, Dataset)
    path = tmp_path / "own" / entry.configuration / entry.split / "0000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"text": ["Not this."] * 100, entry.column: SENTENCES}), path)
    for other in (f"a-first/{entry.split}", f"{entry.configuration}/a-first"):
        (tmp_path / "own" / other).mkdir(parents=True)
        pq.write_table(pa.table({entry.column: ["Not this."]}), tmp_path / "own" / other / "0000.parquet")
    commit = hub.add(entry.repo, tmp_path / "own", kind="dataset", revision="refs/convert/parquet")
    hub.add(entry.repo, tmp_path / "own" / "a-first", kind="dataset")
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / f"{entry.repo.rpartition('/')[2]}.py").write_text("raise SystemExit('it ran')")
    hub.add(entry.repo, tmp_path / "script", kind="dataset")
    assert corpora.is_on_hub(name)
    assert corpora.download_megabytes(name, 100_000) >= 5
    sample = fetched(name, kept)
    corpus = sample.corpus
    assert corpus.selection == Selection(name, entry.configuration, entry.split, entry.column, Segmentation.NONE)
    assert Counter(sample.sentences) == Counter(SENTENCES)
    assert (corpus.label, corpus.pinned) == (entry.label, f"{name}@{commit}")
    pinned = fetched(corpus.pinned, tmp_path / "elsewhere")
    assert (pinned.sentences, pinned.corpus.fingerprint) == (sample.sentences, corpus.fingerprint)
    assert pinned.corpus.label == f"{entry.label} @ {commit[:7]}"


@pytest.mark.parametrize("name", ["..", "@", "@main", "a/b@../..", "a/b@", "x" * 400, "datasets/x", "a/b/c", "a b"])
def test_what_is_no_dataset_leads_nowhere(hub: Hub, kept: Path, name: str) -> None:
    if name == "..":
        assert corpora.is_file(name)
        with pytest.raises(CorpusError, match="no regular file"):
            fetched(name, kept)
        return
    assert corpora.is_on_hub(name)
    with pytest.raises(CorpusError, match=r"is not the name of a dataset|has no dataset|has no revision"):
        fetched(name, kept)
    assert not kept.exists() or not list(kept.iterdir())


def test_what_a_name_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("x")
    for name in ("here", "none.txt", "a/b.csv", "/a", "./a", "../a", "~/a", "A.PARQUET", "x.txt.gz"):
        assert corpora.is_file(name)
        assert not corpora.is_on_hub(name)
    for name in ("owner/name", "name", "owner/name@main", "imdb", "imdb@refs/convert/parquet"):
        assert corpora.is_on_hub(name)
        assert not corpora.is_file(name)
    assert corpora.is_in_catalogue("imdb@main")
    assert not corpora.is_in_catalogue("stanfordnlp/imdb")
    assert corpora.is_built_in("python-docs")
    assert not corpora.is_built_in("imdb")
    assert corpora.label("imdb@" + "0123456789" * 4) == "IMDb reviews @ 0123456"
    assert corpora.label("/some/where.txt") == "where.txt"
    assert corpora.label("upload-" + "0" * 32) == "Uploaded file"
    assert corpora.build_seconds("imdb", tmp_path) == corpora.download_megabytes("python-docs", 10) == 0


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
            corpora.fetch_sample(Selection(repo), 10, 0, kept, progress)
        assert time.monotonic() - began < 2
        hub.behave()
        corpora.fetch_corpus(Selection(repo), kept, Progress()) if what == "/api/*" else None
    assert len(fetched(repo, kept).sentences) == 100


def test_a_misspelt_name_is_answered_with_the_one_that_is_near(hub: Hub, kept: Path) -> None:
    with pytest.raises(CorpusError, match="Perhaps ag-news was meant"):
        corpora.fetch_sample(Selection("ag_news"), 10, 0, kept, Progress())


def test_a_built_in_corpus_has_no_revisions(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no revisions"):
        corpora.find_sample(Selection("python-docs@main"), 10, 0, tmp_path, Progress())
