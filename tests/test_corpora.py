import hashlib
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from clsviz import corpora
from clsviz.corpora import CORPORA, Corpus, Source, is_upload, keep_upload, open_corpus, read_text_file
from clsviz.errors import CancelledError, CorpusError
from clsviz.progress import Progress

SENTENCES = [f"Sentence number {index}." for index in range(100)]


def test_a_larger_sample_begins_with_the_smaller() -> None:
    corpus = Corpus("test", "Test", SENTENCES)
    large = corpus.sample(80, seed=5)
    assert corpus.sample(30, seed=5) == large[:30]
    assert len(set(large)) == 80
    assert large != corpus.sample(80, seed=6)


def test_a_sample_is_the_same_for_ever() -> None:
    """The store outlives an upgrade of NumPy only if the permutation does."""
    assert Corpus("test", "Test", SENTENCES).sample(5, seed=0) == [SENTENCES[index] for index in (26, 86, 2, 55, 75)]


def test_a_small_corpus_is_used_whole() -> None:
    assert sorted(Corpus("test", "Test", SENTENCES).sample(1000, seed=0)) == sorted(SENTENCES)


def test_the_fingerprint_is_of_the_content() -> None:
    expected = hashlib.sha256("\n".join(SENTENCES).encode()).hexdigest()
    assert Corpus("one", "One", SENTENCES).fingerprint == expected
    assert Corpus("one", "One", SENTENCES[1:]).fingerprint != expected


def test_the_standard_library_gives_thousands_of_sentences_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress()
    corpus = open_corpus("python-docs", tmp_path, progress)
    assert len(corpus.sentences) > 5000
    assert len(set(corpus.sentences)) == len(corpus.sentences)
    assert progress.done == progress.total > 100
    assert corpora.is_ready("python-docs", tmp_path)
    monkeypatch.setattr(corpora, "_gather", None)  # what is kept is not gathered again
    assert open_corpus("python-docs", tmp_path, Progress()).sentences == corpus.sentences


def test_package_docs_hold_those_of_the_installed_packages_as_well() -> None:
    files = CORPORA["package-docs"].files()
    library = CORPORA["python-docs"].files()
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
    monkeypatch.setitem(CORPORA, "small", Source("Small", "", files, lambda: "1", build_seconds=0))
    return folder


@pytest.mark.usefixtures("small_source")
def test_sentences_are_kept_once_and_in_order(tmp_path: Path) -> None:
    corpus = open_corpus("small", tmp_path, Progress())
    assert corpus.sentences == ["The first sentence.", "The second sentence.", "The third sentence."]


@pytest.mark.usefixtures("small_source")
def test_a_damaged_corpus_is_built_again(tmp_path: Path) -> None:
    whole = open_corpus("small", tmp_path, Progress()).sentences
    (path,) = tmp_path.glob("small-*.parquet")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert open_corpus("small", tmp_path, Progress()).sentences == whole
    path.write_bytes(content.replace(b"second", b"Second"))
    assert open_corpus("small", tmp_path, Progress()).sentences == whole


@pytest.mark.usefixtures("small_source")
def test_building_a_corpus_can_be_cancelled(tmp_path: Path) -> None:
    progress = Progress()
    progress.cancel()
    with pytest.raises(CancelledError):
        open_corpus("small", tmp_path, progress)
    assert not corpora.is_ready("small", tmp_path)


def test_no_docstrings_at_all_is_explained(small_source: Path, tmp_path: Path) -> None:
    for path in small_source.iterdir():
        path.write_text("x = 1")
    with pytest.raises(CorpusError, match="without its sources"):
        open_corpus("small", tmp_path, Progress())


def test_a_worker_that_dies_is_reported(small_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(CorpusError, match="broke off"):
        open_corpus("small", tmp_path, Progress())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_text_file_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    sentences = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz für größere Gewissheit.", "Übermäßig süße Äpfel."]
    path = tmp_path / "text.txt"
    path.write_bytes("\r\n".join(["", *sentences, "   ", ""]).encode(encoding))
    assert read_text_file(path).sentences == sentences


def test_a_stray_byte_is_named_with_its_line(tmp_path: Path) -> None:
    """Read in another encoding, all the other lines would silently be wrong."""
    path = tmp_path / "text.txt"
    path.write_bytes("Übermäßig süße Äpfel.\nEin zweiter Satz.\n".encode() + b"Caf\xe9.\n" + "Größe.\n".encode())
    with pytest.raises(CorpusError, match=r"Line 3 of text\.txt is damaged: its byte 0xe9"):
        read_text_file(path)


@pytest.mark.parametrize("content", [b"", b"\n \n\t\n", b"PNG\0\0\0"])
def test_a_file_without_sentences_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="text\\.txt"):
        open_corpus(str(path), tmp_path, Progress())


def test_what_is_neither_a_file_nor_in_the_catalogue_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="python-docs, package-docs"):
        open_corpus(str(tmp_path / "none.txt"), tmp_path, Progress())
    with pytest.raises(CorpusError, match="cannot be read"):
        open_corpus(str(tmp_path), tmp_path, Progress())


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "MAX_FILE_BYTES", 10)
    path = tmp_path / "text.txt"
    path.write_text("More than ten bytes.")
    with pytest.raises(CorpusError, match="larger than"):
        read_text_file(path)


def test_a_line_that_is_no_sentence_by_its_length_is_named(tmp_path: Path) -> None:
    longest = "a" * corpora.MAX_CHARACTERS
    assert keep_upload(f"{longest}\n".encode(), "long.txt", tmp_path).sentences == [longest]
    with pytest.raises(CorpusError, match="Line 2 of long"):
        keep_upload(f"One.\n{longest}a\n".encode(), "long.txt", tmp_path)


def test_an_upload_is_found_again_by_its_name(tmp_path: Path) -> None:
    kept = keep_upload(b"One sentence.\n\nAnother one.\n", "mine.txt", tmp_path)
    assert is_upload(kept.name)
    again = open_corpus(kept.name, tmp_path, Progress())
    assert again.sentences == ["One sentence.", "Another one."]
    assert again.label == "mine.txt"
    assert keep_upload(b"One sentence.\nAnother one.", "same.txt", tmp_path).name == kept.name
    with pytest.raises(CorpusError, match="Upload its file again"):
        open_corpus(kept.name, tmp_path / "elsewhere", Progress())


@pytest.mark.parametrize("name", ["upload-", "upload-../../etc/passwd", "upload-" + "g" * 32, "python-docs"])
def test_only_a_digest_names_an_upload(name: str) -> None:
    assert not is_upload(name)
