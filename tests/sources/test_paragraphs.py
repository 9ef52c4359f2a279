import random
from collections import Counter
from pathlib import Path

import pytest
from support.files import put, read
from support.wrapped import WRAPPED, book, not_wrapped, paragraphs, sentences, wrap

from clsviz.errors import CorpusError
from clsviz.settings import Reading
from clsviz.sources import segmentation
from clsviz.sources.files import Limits
from clsviz.sources.tables import open_table


def cut(texts: list[str]) -> Counter[str]:
    return Counter(segmentation.sentences(texts, cut=True))


@pytest.mark.parametrize("kind", WRAPPED)
def test_the_sentences_of_wrapped_paragraphs_are_found_again(tmp_path: Path, kind: str) -> None:
    whole = paragraphs()
    table = open_table(put(tmp_path / "a.txt", WRAPPED[kind](whole).encode()))
    assert table.reading is Reading.PARAGRAPHS
    assert table.wrapped.width == pytest.approx(int("".join(filter(str.isdigit, kind)) or 70), abs=1)
    found, wanted = cut(read(table)), cut(whole)
    assert (found & wanted).total() >= 0.995 * wanted.total()
    assert (found & Counter(sentences())).total() >= 0.97 * wanted.total()  # what cutting itself leaves of them


@pytest.mark.parametrize("kind", not_wrapped())
def test_what_has_one_text_a_line_is_left_as_it_is(tmp_path: Path, kind: str) -> None:
    text = not_wrapped()[kind]
    table = open_table(put(tmp_path / "a.txt", text.encode()))
    assert (table.reading, table.wrapped) == (Reading.LINES, None)
    assert read(table) == [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def test_a_book_is_its_prose(tmp_path: Path) -> None:
    path = put(tmp_path / "book.txt", book().encode())
    table = open_table(path)
    found = read(table)
    assert found == paragraphs()
    n_lines = sum(bool(line.strip()) for line in book().split("\n"))
    assert table.wrapped.n_left_out == n_lines - sum(len(wrap(text).split("\n")) for text in paragraphs())
    for limits in (Limits(chunk_bytes=7), Limits(chunk_bytes=997)):  # wherever the pieces of a file end
        assert read(open_table(path, limits=limits)) == found


def test_the_users_choice_comes_before_what_was_found(tmp_path: Path) -> None:
    path = put(tmp_path / "book.txt", book().encode())
    by_line = open_table(path, reading=Reading.LINES)
    assert by_line.reading is Reading.LINES
    assert "by Somebody" in read(by_line)
    one_each = put(
        tmp_path / "lines.txt", "\n".join(["one cat sat here.", "Two dogs ran there.", "", "Three."]).encode()
    )
    joined = open_table(one_each, reading=Reading.PARAGRAPHS)
    assert joined.reading is Reading.PARAGRAPHS
    assert read(joined) == ["one cat sat here. Two dogs ran there."]  # and a single word is no sentence
    nothing = put(tmp_path / "names.txt", b"ANN\nBOB\n\nCLEO\n")
    with pytest.raises(CorpusError, match=r"names\.txt holds no paragraphs of prose\. Choose to read each"):
        read(open_table(nothing, reading=Reading.PARAGRAPHS))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_is_not_read_in_lines(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(CorpusError, match="is a table, which is not read in lines"):
        open_table(put(tmp_path / f"a{suffix}", b"text\nA cat.\n"), reading=Reading.LINES)


def test_words_cut_in_two_are_whole_again_only_where_that_is_the_habit(tmp_path: Path) -> None:
    compound = "He had come to see her in the narrow drawing-\nroom of that house. And he had not gone there\n"
    rest = "for the last time, as they were all of them to\nlearn. It was so long ago that nobody knew it.\n" * 60
    (kept,) = read(open_table(put(tmp_path / "a.txt", (compound + rest).encode()), reading=Reading.PARAGRAPHS))
    assert kept.startswith("He had come to see her in the narrow drawing-room of that house.")
    printed = "He had come to see her in that narrow draw-\ning room. And they had not gone there in sum-\nmer at all. "
    (joined,) = read(open_table(put(tmp_path / "b.txt", (printed * 20).encode()), reading=Reading.PARAGRAPHS))
    assert joined.startswith(
        "He had come to see her in that narrow drawing room. And they had not gone there in summer at"
    )


def test_a_sentence_that_goes_on_over_the_page_is_one(tmp_path: Path) -> None:
    first, second = (
        wrap(text) for text in ("They saw the cat that " * 20 + "the dog", "had seen before. " + "It ran. " * 40)
    )
    pages = put(tmp_path / "a.txt", f"{first}\n\n12\n\nA BOOK\n\n{second}\n".encode())
    (joined,) = read(open_table(pages, reading=Reading.PARAGRAPHS))
    assert "cat that the dog had seen before. It ran." in joined


def test_no_paragraph_grows_without_end(tmp_path: Path) -> None:
    choose = random.Random(0)
    endless = "\n".join(" ".join(choose.choices(["some", "words", "without", "any"], k=12)) for _ in range(20_000))
    texts = read(open_table(put(tmp_path / "a.txt", endless.encode()), reading=Reading.PARAGRAPHS))
    assert max(map(len, texts)) < 120_000
    assert " ".join(texts).split() == endless.split()
