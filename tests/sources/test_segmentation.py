"""Texts cut into sentences, also where somebody speaks, or left whole."""

import pytest

from clsviz.sources.segmentation import MAX_CHARACTERS, sentences

SAID = [
    "“I doubt it.| She has two sons of her own.| She is a proud woman.”",
    "“Come in!” cried the old man.",
    "“Come in,” said the old man.| “It is cold outside.”",
    "“Come in”, said the old man.| “It is cold outside.”",
    "He said: “The door is open.| Go in.”| Nobody moved.",
    "“Where were you?” she asked.| “At home.”",
    "“Stop.| Do you hear me?| Stop!”| The dog ran on.",
    "“It rained all day.| We stayed inside,” she wrote.| “Then the sun came out.”",
    "The sign said “Closed.”| They went home.",
    "“No,” he said, “I will not.| It is too late.”",
    "She called it “a small thing”.| Nobody agreed.",
    "“You say that it isn’t yours.| Prove it.”",
    "They shouted “Fire!” and ran.",
    "“The bill is $3.50.| Pay it at once.”",
    "“Mr. Hill is here.| He wants to see Dr. Moon.”",
    "He wrote: “I was there.| I saw it.”| Then he left.",
    "“Well!”| She did not finish.",
    "“Who’s there?| It’s me!”| The boys’ dog barked.",
    "“One.”| “Two.”| “Three.”",
]
"""Marked where a sentence ends; whichever the quotation marks are, of those below."""

MARKS = ["“”", "‘’", '""', "''", "„“", "»«", ("« ", " »"), "«»", "‹›"]

OTHERS = [
    "“Have you read ‘The Lamp’?| It is short.”| “I have.”",
    "‘Have you read “The Lamp”?| It is short.’| ‘I have.’",
    "„Have you read ‚The Lamp‘?| It is short.“| „I have.“",
    "« Have you read “The Lamp”?| It is short. »| « I have. »",
    *(f"A quotation without an end: {mark}It began in May.| It ended in June." for mark in ("“", "„", "« ")),
    "’Twas late.| The boys’ coats were wet.| They’d lost their hats.",
    "'Tis the season.| The '90s are over.| Rock 'n' roll is not.",
    "The dogs' bowls were empty.| The cats' were full.",
    "‘The workers’ hall is closed.| Try the workers’ club.’",
    "Don't go.| It's late.| I'm tired.",
]


def pieces_of(marked: str) -> list[str]:
    return [piece.strip() for piece in marked.split("|")]


@pytest.mark.parametrize("marks", MARKS)
def test_what_is_said_is_cut_into_sentences(marks: str | tuple[str, str]) -> None:
    for of in SAID:
        marked = of.replace("“", marks[0]).replace("”", marks[1])
        assert sentences([marked.replace("|", "")], cut=True) == pieces_of(marked)


@pytest.mark.parametrize("marked", OTHERS)
def test_marks_within_marks_and_apostrophes_end_no_sentence(marked: str) -> None:
    assert sentences([marked.replace("|", "")], cut=True) == pieces_of(marked)


TEXT = "The cat sat on the mat. Dr. Smith, of the U.S. embassy, came at 3.30 p.m. with $2.50!  Was he late?"


def test_texts_are_cut_into_sentences_in_order_or_left_whole() -> None:
    cut = ["The cat sat on the mat.", "Dr. Smith, of the U.S. embassy, came at 3.30 p.m. with $2.50!", "Was he late?"]
    assert sentences([TEXT, "A second text. It is short."], cut=True) == [*cut, "A second text.", "It is short."]
    assert sentences([TEXT, "One.<br />Two."], cut=False) == [TEXT.replace("  ", " "), "One.<br />Two."]


@pytest.mark.parametrize("mark", ["<br />", "<br>", "<BR/>", "<br /><br />", "\n\n", "\r\n\r\n"])
def test_a_break_ends_a_sentence(mark: str) -> None:
    found = sentences([f"A title without an end{mark}The cat sat."], cut=True)
    assert found == ["A title without an end", "The cat sat."]


@pytest.mark.parametrize("cut", [False, True])
def test_white_space_is_one_space_and_what_no_reader_would_take_for_a_sentence_is_left_out(cut: bool) -> None:
    longest = "a" * MAX_CHARACTERS
    scripts = ["Ein süßer Löwe schläft.", "彼は猫を見た。", "Кошка спит.", "👩‍👩‍👧 a family 🎉!", "e\u0301te\u0301"]
    blank = ["", " \n\t", "\u00a0\u2003", "<br />" if cut else ""]
    spaced = "  The cat\n sat\ton \u00a0 the\u2003mat. "
    texts = [*scripts, *blank, spaced, longest + "a", longest + "   "]  # white space does not count
    assert sentences(texts, cut=cut) == [*scripts, "The cat sat on the mat.", longest]
    assert sentences(["A cat sat. " * (MAX_CHARACTERS // 10)], cut=True) == ["A cat sat."] * (MAX_CHARACTERS // 10)
