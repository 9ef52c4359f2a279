import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.corpora import SENTENCES, content_of, opened, sentences_of

from clsviz.errors import CorpusError
from clsviz.sources import catalogue, files, uploads
from clsviz.sources.uploads import keep_upload


@pytest.mark.parametrize("suffix", files.SUFFIXES)
def test_an_upload_of_every_format_is_kept_and_found_again(tmp_path: Path, kept: Path, suffix: str) -> None:
    content = content_of(suffix, SENTENCES)
    name = keep_upload(io.BytesIO(content), f"Mine{suffix.upper()}", kept)
    assert catalogue.is_upload(name)
    assert (kept / name).read_bytes() == content
    corpus = opened(name, kept)
    assert (corpus.label, corpus.pinned, corpus.n_sentences) == (f"Mine{suffix.upper()}", name, 100)
    assert uploads.upload_label(name, kept) == f"Mine{suffix.upper()}"
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
    assert uploads.upload_label(name, kept) == "same.csv"
    other = keep_upload(io.BytesIO(content), "mine.txt", kept)
    assert other != name
    assert len(sentences_of(other, kept)) == 3  # with the header
    assert opened(other, kept).fingerprint != opened(name, kept).fingerprint
    with pytest.raises(CorpusError, match=r"no longer, on this server\. Upload the file again"):
        opened(name, tmp_path / "elsewhere")
    with pytest.raises(CorpusError, match=r"no longer, on this server\. Upload the file again"):
        uploads.upload_label(name, tmp_path / "elsewhere")


@pytest.mark.parametrize(
    "damage", ["removed", "changed", "unnamed", "", "[]", '["mine.txt"]', "[" * 100_000, '{"file_name"', "{}"]
)
def test_an_upload_that_is_damaged_is_asked_for_again(kept: Path, damage: str) -> None:
    name = keep_upload(io.BytesIO(b"One sentence.\nAnother one.\n"), "mine.txt", kept)
    match damage:
        case "removed":
            (kept / name).unlink()
        case "changed":
            (kept / name).write_bytes(b"One sentence!\nAnother one!\n")
        case "unnamed":
            (kept / f"{name}.json").unlink()
        case content:
            (kept / f"{name}.json").write_text(content)
            with pytest.raises(CorpusError, match="Upload the file again"):
                uploads.upload_label(name, kept)
    with pytest.raises(CorpusError, match=r"Upload (the file|it) again"):
        sentences_of(name, kept)
    assert keep_upload(io.BytesIO(b"One sentence.\nAnother one.\n"), "mine.txt", kept) == name
    assert len(sentences_of(name, kept)) == 2


@pytest.mark.parametrize("name", ["../../outside.txt", "/etc/passwd.txt", "a\0b.txt", "x" * 3000 + ".txt", "é\n.txt"])
def test_the_name_of_an_upload_leads_nowhere(kept: Path, name: str) -> None:
    upload = keep_upload(io.BytesIO(b"One sentence."), name, kept)
    assert {path.name for path in kept.iterdir()} == {upload, f"{upload}.json"}
    assert uploads.upload_label(upload, kept) == name
    assert sentences_of(upload, kept) == ["One sentence."]


def bomb(body: bytes, n_times: int) -> bytes:
    """A gzip file of that many copies of a text."""
    return gzip.compress(body) * n_times


def test_a_gigabyte_of_zeros_in_a_megabyte_is_refused_in_little_memory(tmp_path: Path) -> None:
    """In a process of its own, whose memory the system has counted from its start."""
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b'{"text": "One."}\n') + bomb(b"\n" * 2**20, 1024))
    script = """
import io, resource, sys
from pathlib import Path
from clsviz.sources import files
from clsviz.sources.uploads import keep_upload
from clsviz.errors import CorpusError
path = Path(sys.argv[1])
keep_upload(io.BytesIO(b'{"text": "One sentence."}'), "small.jsonl", path.parent / "kept")  # loads the libraries
content = path.read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
limits = files.Limits(file_bytes=20 * 2**20, text_bytes=200 * 2**20)
try:
    keep_upload(io.BytesIO(content), path.name, path.parent / "kept", limits)
except CorpusError as error:
    print(error)
print(len(content) // 2**20, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run([sys.executable, "-c", script, tmp_path / "bomb.jsonl.gz"], capture_output=True, text=True)
    said, numbers = run.stdout.splitlines()
    assert said == "bomb.jsonl.gz holds over 200 MB when unpacked. Take a part of it."
    packed, grown = map(int, numbers.split())
    assert packed <= 1
    assert grown < 40  # megabytes
    assert len(list((tmp_path / "kept").iterdir())) == 2  # the small one's


def test_a_table_that_repeats_one_text_beyond_what_is_allowed_is_refused(kept: Path) -> None:
    table = pa.table({"text": pa.array(["The same sentence over and over."] * 200_000)})
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", use_dictionary=True)
    assert len(content.getvalue()) < 10_000
    with pytest.raises(CorpusError, match="holds over 2 MB when unpacked"):
        keep_upload(content, "mine.parquet", kept, files.Limits(text_bytes=2 * 2**20))
    empty = io.BytesIO()
    pq.write_table(pa.table({"text": ["One."] + [None] * 600_000}), empty)
    with pytest.raises(CorpusError, match="holds over 2 MB when unpacked"):
        keep_upload(empty, "mine.parquet", kept, files.Limits(text_bytes=2 * 2**20))
    assert not list(kept.iterdir())
    assert opened(keep_upload(content, "mine.parquet", kept), kept).n_sentences == 200_000


def test_an_upload_that_nobody_looks_at_is_deleted_with_all_that_was_read_from_it(kept: Path) -> None:
    other = keep_upload(io.BytesIO(b"Another one.\n"), "other.txt", kept)
    name = keep_upload(io.BytesIO("\n".join(SENTENCES).encode()), "mine.txt", kept)
    opened(name, kept)
    opened(other, kept)
    others = {path for path in kept.iterdir() if path.name.startswith(other)}
    assert len(others) == 3
    for path in kept.iterdir():
        os.utime(path, (0, 0))
    uploads.look_at_upload(other, kept)
    assert uploads.delete_uploads(kept, 60) == [name]
    assert {*kept.iterdir()} == others
    with pytest.raises(CorpusError, match="Upload the file again"):
        opened(name, kept)
    assert opened(other, kept).n_sentences == 1
    assert uploads.delete_uploads(kept, 60) == []
    (kept / f"{other}.json").unlink()  # as where a process was killed in between
    assert uploads.delete_uploads(kept, 60) == [other]
    assert not list(kept.iterdir())
