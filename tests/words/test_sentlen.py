from dataclasses import replace

import numpy as np
import pytest

from clsviz import words
from clsviz.analysis.layers import SentLen
from clsviz.analysis.probes import Published
from clsviz.statistics.sentlen import Code, Result


def result(n_train: int = 600) -> Result:
    return Result(0.5, (0.4, 0.6), 0.55, 1.0, n_train, 12, 24, np.zeros((6, 6), np.intp))


@pytest.mark.parametrize(
    ("draws", "says"),
    [
        ((0.5, 0.6), "From the whole vector, 55.0% on average over 2 draws (50.0% to 60.0%); by guessing, 16.7%."),
        ((0.1, 0.2), "The whole vector is not told apart from guessing: some draws do no better."),
        ((0.1, 0.16), "The whole vector is not told apart from guessing: no draw does better."),
        ((0.1, 0.4), "The whole vector is not told apart from guessing: some draws do no better."),
        ((0.15,), "From the whole vector, 15.0% in one draw; by guessing, 16.7%. The whole vector is not told"),
    ],
)
def test_an_accuracy_is_told_with_its_draws_beside_guessing(draws: tuple[float, ...], says: str) -> None:
    text = words.sentlen.verdict(SentLen(16, result(), None, "", draws))
    assert says in text
    assert "worse" not in text  # the interval of the first draw reaches beyond guessing
    below = replace(result(), accuracy=0.1, interval=(0.05, 0.15))
    worse = "The whole vector does worse than guessing."
    assert (worse in words.sentlen.verdict(SentLen(16, below, None, "", draws))) == (max(draws) < 1 / 6)


@pytest.mark.parametrize(
    ("interval", "says"),
    [
        ((0.4, 0.6), ""),
        ((0.1, 0.3), "The whole vector is not told apart from guessing."),
        ((0.05, 0.15), "The whole vector does worse than guessing."),
    ],
)
def test_on_a_file_less_than_guessing_is_said_to_be_less(interval: tuple[float, float], says: str) -> None:
    vector = replace(result(), accuracy=sum(interval) / 2, interval=interval)
    text = words.sentlen.of_file(Published("own.txt", "", 6, 600, 60, 120, 16, 1 / 6, vector))
    assert text.endswith(says if "vector" in says else "guessing the commonest class 16.7%.")


def test_the_norm_alone_stands_between() -> None:
    text = words.sentlen.verdict(SentLen(16, result(), result(), "", (0.5,), (0.2,)))
    assert "; from its norm alone, 20.0%; by guessing, 16.7%." in text
    assert words.sentlen.verdict(SentLen(16, None, None, "too few")) == ""


def test_the_bits_are_told_beside_those_of_the_norm_and_of_nothing() -> None:
    codes = Code(600, 900.4, 1551.0), Code(600, 1400.2, 1551.0)
    text = words.sentlen.verdict(SentLen(16, result(), result(), "", (0.5,), (0.2,), *codes))
    assert (
        "Coded online, the classes of 600 training sentences take 900 bits given the vector, 1,400 given its norm, "
        "1,551 given nothing."
    ) in text
    assert "norm, " not in words.sentlen.verdict(SentLen(16, result(), None, "", (0.5,), (), codes[0]))


def test_the_warning_says_what_would_make_it_go_away_and_then_does() -> None:
    assert "about 8 times as many would be enough" in words.sentlen.caveat(SentLen(384, result(246), None))
    assert words.sentlen.caveat(SentLen(384, result(8 * 246), None)) == ""
