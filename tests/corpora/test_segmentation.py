import pytest

from clsviz.sources import segmentation
from clsviz.sources.segmentation import MAX_CHARACTERS

TEXT = "The cat sat on the mat. Dr. Smith, of the U.S. embassy, came at 3.30 p.m. with $2.50!  Was he late?"
CUT = ["The cat sat on the mat.", "Dr. Smith, of the U.S. embassy, came at 3.30 p.m. with $2.50!", "Was he late?"]


def test_texts_are_cut_into_sentences_in_order() -> None:
    assert segmentation.sentences([TEXT, "A second text. It is short."], cut=True) == [
        *CUT,
        "A second text.",
        "It is short.",
    ]


def test_texts_are_left_whole_otherwise() -> None:
    assert segmentation.sentences([TEXT, "One.<br />Two."], cut=False) == [
        TEXT.replace("  ", " "),
        "One.<br />Two.",
    ]


@pytest.mark.parametrize("mark", ["<br />", "<br>", "<BR/>", "<br /><br />", "\n\n", "\r\n\r\n"])
def test_a_break_ends_a_sentence(mark: str) -> None:
    assert segmentation.sentences([f"A title without an end{mark}The cat sat."], cut=True) == [
        "A title without an end",
        "The cat sat.",
    ]


@pytest.mark.parametrize("cut", [False, True])
def test_white_space_is_one_space(cut: bool) -> None:
    text = "  The cat\n sat\ton \u00a0 the\u2003mat. "
    assert segmentation.sentences([text], cut=cut) == ["The cat sat on the mat."]


@pytest.mark.parametrize("cut", [False, True])
def test_blanks_are_left_out(cut: bool) -> None:
    assert segmentation.sentences(["", " \n\t", "\u00a0\u2003", "<br />" if cut else "", "A cat."], cut=cut) == [
        "A cat."
    ]
    assert segmentation.sentences([], cut=cut) == []


@pytest.mark.parametrize("cut", [False, True])
def test_any_script_is_kept(cut: bool) -> None:
    texts = ["Ein süßer Löwe schläft.", "彼は猫を見た。", "Кошка спит.", "👩‍👩‍👧 a family 🎉!", "e\u0301te\u0301"]
    assert segmentation.sentences(texts, cut=cut) == texts


@pytest.mark.parametrize("cut", [False, True])
def test_what_no_reader_would_take_for_a_sentence_is_left_out(cut: bool) -> None:
    longest = "a" * MAX_CHARACTERS
    assert segmentation.sentences([longest, longest + "a", "A cat."], cut=cut) == [longest, "A cat."]
    # Only what is counted counts: white space is not, and what is cut is measured by its pieces.
    assert segmentation.sentences([longest + "   "], cut=cut) == [longest]
    assert segmentation.sentences(["A cat sat. " * (MAX_CHARACTERS // 10)], cut=True) == ["A cat sat."] * (
        MAX_CHARACTERS // 10
    )
