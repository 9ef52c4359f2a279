import io
from pathlib import Path

import pytest
from support.corpora import SENTENCES, content_of, opened, sentences_of

from clsviz import corpora
from clsviz.corpora import formats, keep_upload
from clsviz.errors import CorpusError


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


def test_an_upload_is_content_addressed(tmp_path: Path, kept: Path) -> None:
    content = b"text,title\nOne sentence,\nAnother one,\n"
    name = keep_upload(io.BytesIO(content), "mine.csv", kept)
    assert keep_upload(io.BytesIO(content), "same.csv", kept) == name
    assert corpora.upload_label(name, kept) == "same.csv"
    other = keep_upload(io.BytesIO(content), "mine.txt", kept)
    assert other != name
    assert len(sentences_of(other, kept)) == 3  # with the header
    assert opened(other, kept).fingerprint != opened(name, kept).fingerprint
    with pytest.raises(CorpusError, match=r"no longer, on this server\. Upload the file again"):
        opened(name, tmp_path / "elsewhere")
    with pytest.raises(CorpusError, match=r"no longer, on this server\. Upload the file again"):
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
    with pytest.raises(CorpusError, match=r"Upload (the file|it) again"):
        sentences_of(name, kept)
    assert keep_upload(io.BytesIO(b"One sentence.\nAnother one.\n"), "mine.txt", kept) == name
    assert len(sentences_of(name, kept)) == 2


@pytest.mark.parametrize("name", ["../../outside.txt", "/etc/passwd.txt", "a\0b.txt", "x" * 3000 + ".txt", "é\n.txt"])
def test_the_name_of_an_upload_leads_nowhere(kept: Path, name: str) -> None:
    upload = keep_upload(io.BytesIO(b"One sentence."), name, kept)
    assert {path.name for path in kept.iterdir()} == {upload, f"{upload}.json"}
    assert corpora.upload_label(upload, kept) == name
    assert sentences_of(upload, kept) == ["One sentence."]
