"""What sentences are coloured by."""

import numpy as np
import pytest

from clsviz.analysis import fields
from clsviz.analysis.fields import MOST_NAMES, NOTHING, OTHER, field
from clsviz.settings import Trait


def test_the_most_frequent_values_have_names() -> None:
    values = [f"v{at}" for at in range(10) for _ in range(20 - at)] + [None, None]
    found = field(values)
    assert found.names == tuple(f"v{at}" for at in range(MOST_NAMES))
    expected = [*(min(int(value[1:]), OTHER) for value in values if value), NOTHING, NOTHING]
    assert found.codes.tolist() == expected
    assert np.isnan(found.numbers).all()


def test_many_different_numbers_are_numbers() -> None:
    values = [*(str(at / 2) for at in range(-10, 10)), "1e3", None]
    found = field(values)
    assert found.names == ()
    np.testing.assert_array_equal(found.numbers, [float(value) if value else np.nan for value in values])
    assert found.codes.tolist() == [OTHER] * 21 + [NOTHING]
    assert found.of(np.array([21, 0])).numbers.tolist()[1] == -5


def test_few_numbers_and_what_only_looks_like_numbers_are_names() -> None:
    assert field(["1", "0", "1", None]).names == ("1", "0")
    for odd in ("nan", "inf", "1e999", "x"):
        assert len(field([*map(str, range(20)), odd]).names) == MOST_NAMES


def test_nothing_at_all_has_no_names() -> None:
    found = field([None, None])
    assert (found.names, found.codes.tolist()) == ((), [NOTHING, NOTHING])
    assert field([]).codes.shape == (0,)


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
