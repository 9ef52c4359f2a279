import numpy as np
import pytest

from clsviz.analysis import fields
from clsviz.settings import Trait

SENTENCES = ["It ends.", "He said “so.”", "Does it?", "no 3 here", "(Yes.)", "", "٤ is a digit too", "CAPITAL"]


@pytest.mark.parametrize(
    ("trait", "expected"),
    [
        (Trait.FULL_STOP, [1, 1, 0, 0, 1, 0, 0, 0]),
        (Trait.QUESTION, [0, 0, 1, 0, 0, 0, 0, 0]),
        (Trait.DIGIT, [0, 0, 0, 1, 0, 0, 1, 0]),
        (Trait.CAPITAL, [1, 1, 1, 0, 0, 0, 0, 1]),
    ],
)
def test_sentences_have_the_traits_that_their_text_has(trait: Trait, expected: list[int]) -> None:
    np.testing.assert_array_equal(fields.having(trait, SENTENCES), np.array(expected, bool))


def test_a_search_takes_no_notice_of_case_or_of_white_space_around_it() -> None:
    assert fields.holding("  YES ", SENTENCES).tolist() == ["yes" in sentence.lower() for sentence in SENTENCES]
    assert fields.holding("<b>", SENTENCES).sum() == 0
    assert fields.holding("said “so", SENTENCES).sum() == 1
