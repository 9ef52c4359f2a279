"""Sentences and paragraphs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsviz.sources.sentences import cut, is_wrapped, paragraphs

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
It was a bright cold day in April, and the clocks were striking. The man
slipped quickly through the glass doors of the house, though not quickly
enough to prevent a swirl of gritty dust from entering along with him. He
went up the stairs. At each landing the poster with the enormous face was
gazing from the wall, and it was one of those pictures which are drawn so
carefully that the eyes follow you about when you move.

Inside the flat a fruity voice was reading out a list of figures. It had
something to do with iron."""


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


def test_paragraphs_end_at_blank_lines() -> None:
    lines = ["", "one", " two", "", " ", "three", "four\n", ""]
    assert list(paragraphs(lines)) == ["one two", "three four"]


def test_pieces_without_letters_are_counted(read: Read) -> None:
    corpus = read("list.txt", "1. One is here. 2. Two. * * *\n" * 20, segmentation="sentences")
    assert any(caveat.startswith("Pieces without letters") for caveat in corpus.reading.caveats)
    assert all(re.search("[a-z]", text) for text in texts(corpus))
