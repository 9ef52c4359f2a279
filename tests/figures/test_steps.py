"""Figures of the norm step by step and of models side by side, by their data; colours."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clsviz.figures import steps, style
from clsviz.figures.image import render
from clsviz.figures.models import models
from clsviz.results.result import Result

BANDS = {"lengths": [1.0, 2.0, 40.0], "low": [6.5, 7.0, 7.0], "high": [8.0, 8.5, 8.2]}

TABLE = pd.DataFrame(
    {
        "label": ["A <b>", "B"],
        "corpus": ["c", "c"],
        "unit": "tokens",
        "recall_at_10": [0.95, 0.91],
        "last_probe_error": [2.1, np.nan],
        "r_squared": np.nan,
        "recall_at_10_low": [0.93, 0.89],
        "recall_at_10_high": [0.97, 0.93],
        "last_probe_error_low": [2.0, np.nan],
        "last_probe_error_high": [2.2, np.nan],
        "r_squared_low": np.nan,
        "r_squared_high": np.nan,
        "chunk_sentences": 3.0,
        "chunk_recall_at_1": [np.nan, 0.75],
        "chunk_recall_at_1_low": [np.nan, 0.7],
        "chunk_recall_at_1_high": [np.nan, 0.8],
    }
)


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
    many = typed([" ".join("x" * (n + 1)) for n in range(30)])
    assert len(steps.growth(many).layout.annotations) == 1


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
    figure = steps.way(Result("anatomy", "?", ".", pd.DataFrame(), picture={"steps": parts}))
    assert [list(bars.x) for bars in figure.data] == [[0, 11_918_592, 800], [1.5, 6.94, 0]]
    texts = [(text.text, text.x, text.y) for text in figure.layout.annotations]
    assert texts[:2] == [("11.9 M", 11_918_592, -1), ("800", 800, -2)]
    assert texts[2:] == [("1.50", 1.5, 0), ("6.94", 6.94, -1)]


def test_every_token_has_its_norms_and_the_attention_of_the_layer() -> None:
    norms, attention = np.array([[1, 10], [100, 1.0]]), np.array([[0.3, 0.7], [0.4, 0.6]])
    picture = {"tokens": ("[CLS]", "<b>"), "norms": norms, "attention": attention}
    cells, bars = steps.tokens(
        Result("anatomy", "?", ".", pd.DataFrame(), picture=picture, about={"layer": 2})
    ).data
    np.testing.assert_allclose(cells.z, [[0, 1], [2, 0]], atol=1e-6)
    assert (cells.text[1][0], list(bars.x)) == ("&lt;b&gt;, layer 0: norm 100", [0.4, 0.6])


@pytest.mark.parametrize("corpora", [["c", "c"], ["c", "d"]])
def test_a_model_has_a_point_with_its_interval_wherever_it_has_a_number(corpora) -> None:
    figure = models(Result("models", "Which?", "A.", TABLE.assign(corpus=corpora)))
    points = [(one.xaxis, one.x[0], one.y[0]) for one in figure.data if one.mode == "markers"]
    assert points == [("x", 0.95, 0), ("x", 0.91, 1), ("x2", 0.75, 1), ("x3", 2.1, 0)]
    lines = [list(one.x) for one in figure.data if one.mode == "lines"]
    assert lines == [[0.93, 0.97], [0.89, 0.93], [0.7, 0.8], [2.0, 2.2]]
    rest = " · d" * (corpora[1] == "d")
    texts = [label.text.removesuffix(" · c") for label in figure.layout.annotations]
    names = {
        "A &lt;b&gt;",
        f"B{rest}",
        "Probe misses<br>by (tokens)",
        "Finds chunks<br>of 3 sentences",
    }
    assert names | {"95%", "91%", "2.1", "undefined"} <= set(texts)


def test_models_without_a_number_are_saved_too() -> None:
    table = TABLE.assign(**dict.fromkeys(TABLE.columns[3:], np.nan))
    assert render(models(Result("models", "Which?", "A.", table))).startswith(b"\x89PNG")


def test_figures_have_the_colours_of_the_light_theme() -> None:
    config = Path(__file__).parents[2] / ".streamlit" / "config.toml"
    theme = tomllib.loads(config.read_text("utf-8"))["theme"]["light"]
    places = {role: colour for colour, role in style.THEME.items()}
    for name in ("Categorical", "Sequential"):
        colours = theme[f"chart{name}Colors"]
        ours = [places[f"chart-{name.lower()}-colors {n}"] for n in range(len(colours))]
        assert ours == colours
