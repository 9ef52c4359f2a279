import numpy as np
import pytest

from clsviz.settings import Unit
from clsviz.statistics.lengths import lengths_in

SENTENCES = ["One, two.", " a\tb \n c ", "Übergröße", ""]
N_TOKENS = np.array([5, 3, 4, 0], np.int32)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [(Unit.TOKENS, [5, 3, 4, 0]), (Unit.WORDS, [2, 3, 1, 0]), (Unit.CHARACTERS, [9, 9, 9, 0])],
)
def test_lengths_are_in_the_unit_that_was_asked(unit: Unit, expected: list[int]) -> None:
    found = lengths_in(unit, SENTENCES, N_TOKENS)
    assert found.tolist() == expected
    assert found.dtype == np.int32


def test_no_sentence_has_no_length() -> None:
    assert lengths_in(Unit.WORDS, [], N_TOKENS[:0]).shape == (0,)
