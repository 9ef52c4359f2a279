import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.files import put, read, read_file, write_texts

from clsviz.errors import CorpusError
from clsviz.sources.files import SUFFIXES, open_table
from clsviz.sources.tables import BATCH_SIZE
from clsviz.sources.text_files import Limits

TEXTS = ["Der Löwe schläft heute Nacht.", "Ein zweiter Satz, für größere Gewissheit.", "Übermäßig „süße“ Äpfel."]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_its_texts(tmp_path: Path, suffix: str) -> None:
    table = open_table(write_texts(tmp_path / f"Some.Texts{suffix}", TEXTS))
    assert read(table) == TEXTS
    assert read(table) == TEXTS  # again, and the same
    assert table.name == f"Some.Texts{suffix}"
    assert table.encoding == "utf-8"
    assert table.columns == (() if ".txt" in suffix else ("text",))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_format_is_that_of_the_name(tmp_path: Path, suffix: str) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", TEXTS).rename(tmp_path / "0f3a.upload")
    table = open_table(path, f"MINE{suffix.upper()}")
    assert table.name == f"MINE{suffix.upper()}"
    assert table.path == path
    assert read(table) == TEXTS


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_batches_are_not_larger_than_they_may_be(tmp_path: Path, suffix: str) -> None:
    texts = [f"Sentence number {index}." for index in range(2 * BATCH_SIZE + 7)]
    batches = list(open_table(write_texts(tmp_path / f"texts{suffix}", texts)).texts())
    assert max(map(len, batches)) <= BATCH_SIZE
    assert [text for batch in batches for text in batch] == texts


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".jsonl", ".parquet"])
def test_white_space_is_one_space_and_blanks_are_left_out(tmp_path: Path, suffix: str) -> None:
    texts = [' One\n\n text,\t"quoted" \r\n and\u2028broken. ', "", " \n", "Another; one | more."]
    assert read_file(write_texts(tmp_path / f"texts{suffix}", texts)) == [
        'One text, "quoted" and broken.',
        "Another; one | more.",
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("texts", [[], [""], [" ", "\t "]])
def test_a_file_without_text_is_refused(tmp_path: Path, suffix: str, texts: list[str]) -> None:
    path = write_texts(tmp_path / f"texts{suffix}", texts)
    with pytest.raises(CorpusError, match=r"texts\..* holds no text"):
        read_file(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"texts{suffix}"
    path.write_bytes(b"")
    with pytest.raises(CorpusError, match=r"texts\."):
        read_file(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_reading_may_end_early(tmp_path: Path, suffix: str) -> None:
    """Nothing is left open: a warning would be an error here."""
    texts = [f"Sentence number {index}." for index in range(2 * BATCH_SIZE)]
    found = open_table(write_texts(tmp_path / f"texts{suffix}", texts)).texts()
    assert next(found)[0] == texts[0]
    del found


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(' \n\r\t",;|äß€𝄞'), max_size=20)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".tsv", ".jsonl", ".txt.gz", ".csv.gz", ".jsonl.gz"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(TEXT, max_size=8), chunk=st.integers(1, 9))
def test_what_is_written_comes_back(tmp_path_factory: Any, suffix: str, texts: list[str], chunk: int) -> None:
    first = ["Letters, as in most texts."] * 9
    texts = first + [text.replace("\0", "") for text in texts]  # which a file holds only if it is no text
    if ".txt" in suffix:
        texts = [text.replace("\n", " ").replace("\r", " ") for text in texts]  # where a line would end
    if suffix == ".tsv":  # a tab and a line break in quotes look like two rows of a table without quoting
        texts = [text.replace("\t", " ") for text in texts]
    path = write_texts(tmp_path_factory.mktemp("texts") / f"texts{suffix}", texts)
    assert read_file(path, "" if ".txt" in suffix else "text", chunk_bytes=chunk) == [
        " ".join(text.split()) for text in texts if text.strip()
    ]


@pytest.mark.parametrize("name", ["texts.xyz", "texts", "texts.gz", "texts.parquet.gz", "a\x1b[2Jb.xyz"])
def test_an_unknown_ending_is_refused_and_the_known_are_listed(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / "texts.txt", b"One sentence.")
    with pytest.raises(CorpusError, match=r"in no known format.*\.txt, \.csv, .*\.parquet") as caught:
        open_table(path, name)
    assert str(caught.value).isprintable()


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "texts.txt", b"Ten bytes.")
    assert read_file(path, file_bytes=10) == ["Ten bytes."]
    with pytest.raises(CorpusError, match=r"texts\.txt is larger than"):
        open_table(path, limits=Limits(file_bytes=9))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_file_is_refused(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CorpusError, match="There is no file"):
        open_table(tmp_path / f"none{suffix}")
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    for path in [folder, pipe]:
        with pytest.raises(CorpusError, match="not a regular file"):
            open_table(path)
    with pytest.raises(CorpusError, match="not a regular file"):
        open_table(Path("/dev/zero"), f"zero{suffix}")


@pytest.mark.parametrize("name", ["a\0b.txt", "a" * 5000 + ".txt"])
def test_an_impossible_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorpusError, match="cannot be read"):
        open_table(tmp_path / name)


def test_nothing_heavy_is_loaded() -> None:
    program = "import sys, clsviz.sources.files; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "transformers", "datasets", "streamlit", "pandas"} & set(loaded)


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".jsonl.gz": lambda path: pd.read_json(path, lines=True),
    ".parquet": pd.read_parquet,
}


@pytest.mark.parametrize("suffix", READERS)
def test_pandas_reads_the_same(tmp_path: Path, suffix: str) -> None:
    draw = random.Random(1)
    texts = ["Letters " + "".join(draw.choices('ab "c,;äß€𝄞\n', k=40)) for _ in range(500)]
    path = write_texts(tmp_path / f"a{suffix}", texts)
    assert read_file(path) == [" ".join(text.split()) for text in READERS[suffix](path)["text"]]
