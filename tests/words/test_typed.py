import numpy as np
import pytest

from clsviz import words
from clsviz.analysis import Shown
from clsviz.settings import Unit

LENGTHS = np.repeat(np.arange(5, 15, dtype=np.int32), 30)
NORMS = np.linspace(6, 8, len(LENGTHS), dtype=np.float32)
SHOWN = Shown(np.arange(len(LENGTHS)), LENGTHS, NORMS, None, "no line", 0)


def test_a_sentence_is_set_beside_those_of_about_its_length() -> None:
    text = words.typed.facts(10, 9.0, Unit.TOKENS, SHOWN, is_truncated=False)
    n = np.sum(np.abs(LENGTHS - 10) <= 1)
    among = f"higher than 100% of the {n} corpus sentences of about this length"
    assert text == f"**10 tokens** · norm **9.0000** · {among}"


@pytest.mark.parametrize(
    ("length", "is_truncated", "said"),
    [
        (1, False, "**1 word** · norm"),
        (40, False, "too few corpus sentences of about this length"),
        (40, False, "longer than any sentence in the picture"),
        (10, True, "the model reads only the beginning"),
    ],
)
def test_what_is_unusual_about_a_sentence_is_said(length: int, is_truncated: bool, said: str) -> None:
    assert said in words.typed.facts(length, 7.0, Unit.WORDS, SHOWN, is_truncated=is_truncated)


def test_long_lists_of_tokens_end_early() -> None:
    assert words.typed.tokens(["a", "b"]) == "a  b"
    assert words.typed.tokens(["a"] * 100).endswith("a  … and 20 more")
