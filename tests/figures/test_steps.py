"""Figures of the norm step by step, by their data."""

import pandas as pd
import pytest

from clsviz.figures import steps
from clsviz.results.result import Result

BANDS = {"lengths": [1.0, 2.0, 40.0], "low": [6.5, 7.0, 7.0], "high": [8.0, 8.5, 8.2]}


def typed(texts: list[str]) -> Result:
    lengths = [len(text.split()) for text in texts]
    table = pd.DataFrame({"text": texts, "length": lengths, "norm": [7.0 + n for n in lengths]})
    return Result("typed", "?", ".", table, picture={"bands": BANDS})


def test_a_point_is_a_beginning_and_is_named_by_its_last_word() -> None:
    figure = steps.growth(typed(["a", "a <b>b</b>", "a <b>b</b> c"]))
    _, words, star = figure.data
    assert (words.x.tolist(), words.y.tolist()) == ([1, 2, 3], [8, 9, 10])
    assert (star.x.tolist(), star.y.tolist()) == ([3], [10])
    names = [text.text for text in figure.layout.annotations[1:]]
    assert names == ["a", "&lt;b&gt;b&lt;/b&gt;", "c"]


def test_many_words_have_no_room_for_names() -> None:
    texts = [" ".join("x" * (n + 1)) for n in range(30)]
    assert len(steps.growth(typed(texts)).layout.annotations) == 1


def test_the_band_is_that_of_lengths_like_those_of_the_sentence() -> None:
    band, *_ = steps.growth(typed(["a", "a b", "a b c"])).data
    assert list(band.x) == [1, 2, 5, 5, 2, 1]
    assert list(band.y) == pytest.approx([8.0, 8.5, 8.5 - 0.3 * 3 / 38, 7.0, 7.0, 6.5])


def test_the_way_has_a_bar_for_each_weight_and_norm() -> None:
    parts = [
        {"name": "input vector", "weights": None, "norm": 1.5},
        {"name": "embeddings", "weights": 11_918_592, "norm": 6.94},
        {"name": "other", "weights": 800, "norm": None},
    ]
    result = Result("anatomy", "?", ".", pd.DataFrame(), picture={"steps": parts})
    weights, norms = steps.way(result).data
    assert (list(weights.x), list(norms.x)) == ([0, 11_918_592, 800], [1.5, 6.94, 0])
    texts = [(text.text, text.x, text.y) for text in steps.way(result).layout.annotations]
    assert texts[:2] == [("11.9 M", 11_918_592, -1), ("800", 800, -2)]
    assert texts[2:] == [("1.50", 1.5, 0), ("6.94", 6.94, -1)]
