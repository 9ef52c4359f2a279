from pathlib import Path

import pytest
from support.corpora import opened
from support.wrapped import book

from clsviz import words
from clsviz.experiment import Selection
from clsviz.settings import Reading, Segmentation
from clsviz.sources import local_files


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "They were joined into paragraphs, and those cut into sentences. 245 lines were left out, such as"),
        (
            {"segmentation": Segmentation.NONE},
            "joined into paragraphs, and each paragraph is taken as one sentence. 245",
        ),
        ({"reading": Reading.LINES}, "Each line is taken as one sentence."),
        ({"reading": Reading.LINES, "segmentation": Segmentation.SENTENCES}, "Each line was cut into sentences."),
    ],
)
def test_how_a_file_was_read_is_said_in_a_sentence(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    path = tmp_path / "book.txt"
    path.write_text(book())
    found = words.reading.how(opened(str(path), tmp_path / "kept", **settings))
    assert said in found
    assert words.reading.how(local_files.preview(Selection(str(path), **settings), tmp_path).corpus) == found
    assert ("wrapped at about 70 characters" in found) == ("LINES" not in repr(settings))


def test_a_column_is_named_and_the_beginning_of_a_large_file_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("body\n" + "A cat sat on the mat.\n" * 60_000)
    preview = local_files.preview(Selection(str(path)), tmp_path)
    assert words.reading.how(preview.corpus) == "Each text in its column “body” is taken as one sentence."
    n = len(preview.sentences)
    assert n < 60_000
    assert words.reading.counted(preview) == f"{n:,} sentences in the first {n * 21 / 1e6:.1f} MB of its text"
    corpus = opened(str(path), tmp_path / "kept")
    assert words.reading.notes(corpus) == [f"a.csv: {words.reading.how(preview.corpus)} 60,000 sentences."]
    assert words.reading.notes(opened("python-docs", tmp_path)) == []


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a cat sat"] * 9, "Every sentence has 3 words."),
        (["cat"], "The sentence has 1 word."),
        (["a cat sat"] * 99 + ["a cat"], "Words in a sentence: nine in ten have 3, half of them 3 or fewer."),
    ],
)
def test_lengths_that_are_all_one_are_no_range(tmp_path: Path, texts: list[str], said: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\n".join(texts))
    assert words.reading.lengths(local_files.preview(Selection(str(path)), tmp_path)) == said
