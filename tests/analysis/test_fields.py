import numpy as np

from clsviz.analysis.fields import MOST_NAMES, NOTHING, OTHER, field


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
