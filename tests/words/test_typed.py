from dataclasses import replace

import numpy as np
import pytest

from clsviz import export, words
from clsviz.analysis import ViewData
from clsviz.experiment import View
from clsviz.settings import Unit
from clsviz.statistics.line import fit
from clsviz.statistics.similarity import nearest

LENGTHS = np.repeat(np.arange(5, 15, dtype=np.int32), 30)
NORMS = np.linspace(6, 8, len(LENGTHS), dtype=np.float32)
SHOWN = ViewData(np.arange(len(LENGTHS)), LENGTHS, NORMS, None, "no line", 0)


def test_a_sentence_is_set_beside_those_of_about_its_length() -> None:
    text = words.typed.facts(10, 9.0, Unit.TOKENS, SHOWN, is_truncated=False)
    n = np.sum(np.abs(LENGTHS - 10) <= 1)
    among = f"higher than 100% of the {n} corpus sentences of about this length"
    assert text == f"**10 tokens** · norm **9.0000** · {among}"


def test_a_norm_that_all_sentences_have_is_higher_than_none_of_theirs() -> None:
    same = replace(SHOWN, norms=np.full(len(LENGTHS), 6.9389334, np.float32))
    text = words.typed.facts(10, 6.938934, Unit.TOKENS, same, is_truncated=False)
    assert text.endswith("the same as that of all 90 corpus sentences of about this length, up to rounding")


def test_a_norm_is_higher_than_all_only_if_it_is() -> None:
    lengths, norms = np.full(1000, 9, np.int32), np.arange(1000, dtype=np.float32)
    said = [words.typed.among(9, norm, lengths, norms).split(" of ")[0] for norm in (-1, 0.5, 500.5, 998.5, 1000)]
    assert said == [f"higher than {percent}%" for percent in ("0", "0.1", "50", "99.9", "100")]


def test_ties_and_zero_vectors_are_told_beside_the_nearest() -> None:
    vectors = np.array([[1, 0], [1, 1], [1, 1], [1, 1], [0, 0]], np.float32)
    near = nearest(np.array([1, 0], np.float32), vectors, list("abcde"), n=2)
    text = words.try_a_sentence.nearest("A.", View(), near, float("nan"))
    assert "among 4 sentences. A tie: 2 more sentences are as near as the last one listed." in text
    assert text.endswith(" One sentence has a zero vector, which is near nothing.")
    near = nearest(np.array([1, 0], np.float32), vectors[:2], ["a", "b"], n=2)
    assert words.try_a_sentence.nearest("A.", View(), near, float("nan")).endswith("among 2 sentences.")


@pytest.mark.parametrize(
    ("length", "is_truncated", "said"),
    [
        (1, False, "**1 word** · norm"),
        (40, False, "too few corpus sentences of about this length"),
        (40, False, "outside the lengths of the picture (5 to 14 words), so nothing is predicted"),
        (4, False, "outside the lengths of the picture (5 to 14 words), so nothing is predicted"),
        (10, True, "the model reads only the beginning"),
    ],
)
def test_what_is_unusual_about_a_sentence_is_said(length: int, is_truncated: bool, said: str) -> None:
    assert said in words.typed.facts(length, 7.0, Unit.WORDS, SHOWN, is_truncated=is_truncated)


def test_one_length_is_no_range() -> None:
    alike = replace(SHOWN, lengths=np.full(len(LENGTHS), 6, np.int32))
    text = words.typed.facts(40, 7.0, Unit.TOKENS, alike, is_truncated=False)
    assert "outside the lengths of the picture (6 tokens)" in text


def test_the_line_predicts_only_where_there_are_sentences() -> None:
    shown = replace(SHOWN, fit=fit(LENGTHS, NORMS))
    slope, intercept = np.polyfit(LENGTHS, NORMS, 1)
    for length in (5, 14):
        said = f"the line predicts {intercept + slope * length:.4f} for this length"
        assert said in words.typed.facts(length, 7.0, Unit.TOKENS, shown, is_truncated=False)
    for length in (4, 15, 960):
        assert "the line predicts" not in words.typed.facts(length, 7.0, Unit.TOKENS, shown, is_truncated=False)
    lengths = np.array([4, 5, 14, 15, 960], dtype=np.int32)
    table = export.tables.typed(["a"] * 5, [["a"]] * 5, lengths, np.ones(5, np.float32), Unit.TOKENS, shown)
    np.testing.assert_allclose(
        table["Norm on the line"], [np.nan, intercept + slope * 5, intercept + slope * 14, np.nan, np.nan], rtol=1e-5
    )


def test_long_lists_of_tokens_end_early() -> None:
    assert words.typed.tokens(["a", "b"]) == "a  b"
    assert words.typed.tokens(["a"] * 100).endswith("a  … and 20 more")
