"""Sentences and paragraphs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.sources.sentences import cut, is_wrapped

from .conftest import Read, texts

SENTENCES = [
    *("He looked up.", '"It is late.', 'We must go," he said.', "She wasn't sure."),
    *('"Why?" she asked.', "\"The boys' dog barked.", "'Tis gone.\"", "He left.", '"Come!"'),
    "It rained.",
]
DIALOGUE = " ".join(SENTENCES)


@pytest.mark.parametrize(
    "marks", ['""', "“”", "''", "‘’", "„“", "‚‘", "«»", "»«", "‹›", ("« ", " »")]
)
def test_sentences_end_within_quotations_of_every_kind(marks: str) -> None:
    quoted = re.sub('"([^"]*)"', f"{marks[0]}\\1{marks[1]}", DIALOGUE).replace('"', marks[1])
    assert " ".join(cut(quoted)) == quoted
    words, expected = (
        [re.sub(r"\W", "", one) for one in some] for some in (cut(quoted), SENTENCES)
    )
    assert words == expected


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (DIALOGUE, SENTENCES),
        ("Mr. Smith lives at 5.5 Main St. in Rome.", ["Mr. Smith lives at 5.5 Main St. in Rome."]),
        ("Great film!<br /><br>I liked it.", ["Great film!", "I liked it."]),
        ("One line\n\nAnother", ["One line", "Another"]),
        ("small letters. they go on. so it is", ["small letters.", "they go on.", "so it is"]),
        ("L’été est là. C’est l’heure.", ["L’été est là.", "C’est l’heure."]),
        ("\"\n\n'Tis so.", ['"', "'Tis so."]),
        (" \n ", []),
    ],
)
def test_texts_are_cut_and_marks_stay_with_their_sentences(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


@given(st.text(st.sampled_from("aB1 .!?\n\"'“”‘’«»„<br>"), max_size=80))
def test_nothing_is_lost_or_reordered(text: str) -> None:
    without_breaks = re.sub(r"<br\s*/?>", "", text, flags=re.IGNORECASE)
    assert re.sub(r"\s", "", "".join(cut(text))) == re.sub(r"\s", "", without_breaks)


WRAPPED = """\
The gauge at the bridge was read twice a day, and the figures were kept. Its
keeper wrote them down with a pencil on a slate, and in the evening he copied
them into a book that nobody had asked for. He was a careful man. In a dry
summer the line of his figures fell slowly from page to page, and whoever
turned the pages quickly could see the river sink between its banks.


  After his death the book was found in a cupboard of the mill. It holds
the readings of thirty years."""


def test_wrapped_prose_is_joined_and_cut(read: Read) -> None:
    corpus = read("book.txt", WRAPPED)
    assert corpus.reading.segmentation == "sentences"
    assert corpus.reading.n_texts == 2
    assert texts(corpus) == re.split(r"(?<=\.)\s+", " ".join(WRAPPED.split()))


def test_lines_that_are_sentences_stay_lines(read: Read) -> None:
    lines = [f"This is remark number {n}, and it ends on its own line." for n in range(30)]
    corpus = read("lines.txt", "\n".join(lines))
    assert (corpus.reading.segmentation, texts(corpus)) == ("lines", lines)
    assert not is_wrapped([line.lower() for line in lines])
