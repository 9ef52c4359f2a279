from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from support.figures import EVIL, PALETTE

from clsviz import figures


def profile(values: dict[str, list[float]], first: int = 0) -> pd.DataFrame:
    """R² by line and layer, with folds 0.05 below and 0.01 above."""
    rows = [
        (line, first + at, value, value - 0.05, value + 0.01)
        for line in values
        for at, value in enumerate(values[line])
    ]
    return pd.DataFrame(rows, columns=["line", "layer", "r_squared", "lowest", "highest"])


def lines_of(figure: go.Figure) -> dict[str, Any]:
    """The traces that a legend would name."""
    return {trace.name: trace for trace in figure.data if trace.name}


def bands_of(figure: go.Figure) -> list[Any]:
    return [trace for trace in figure.data if trace.fill == "toself"]


def spread_table(means: list[float], sds: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"layer": range(len(means)), "mean": means, "sd": sds})


def path_of(name: str, norms: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"name": name, "layer": range(len(norms)), "norm": norms})


def depths(models: dict[str, int]) -> pd.DataFrame:
    rows = [(name, layer, layer / n, 1 - 0.5 * layer / n) for name, n in models.items() for layer in range(n + 1)]
    return pd.DataFrame(rows, columns=["model", "layer", "depth", "value"])


def growing(variant: str, words: list[str], tokens: list[int]) -> pd.DataFrame:
    norms = [8 + 0.1 * n for n in tokens]
    return pd.DataFrame(
        {"variant": variant, "n_words": range(1, len(words) + 1), "tokens": tokens, "norm": norms, "added": words}
    )


QUARTILES = pd.DataFrame({"length": range(2, 80), "lower": 7.0, "median": 8.0, "upper": 8.5})


def test_layer_lines_show_every_value_with_the_range_of_its_folds() -> None:
    table = profile({"whole vector": [np.nan, 0.99, 0.62], "norm alone": [np.nan, 0.3, 0.02]})
    figure = figures.layer_lines(table.sample(frac=1, random_state=1), PALETTE)
    whole = lines_of(figure)["whole vector"]
    np.testing.assert_array_equal(whole.x, [0, 1, 2])
    np.testing.assert_array_equal(whole.y, [np.nan, 0.99, 0.62])
    np.testing.assert_allclose(whole.customdata[1:], [[0.94, 1.0], [0.57, 0.63]])
    assert not whole.connectgaps
    assert figure.layout.yaxis.title.text == "R² of length in tokens"
    assert figure.layout.xaxis.tick0 == 0
    assert figure.layout.xaxis.dtick == 1


def test_lines_of_other_settings_are_faint_and_say_so() -> None:
    table = profile({"whole vector": [0.5, 0.99]})
    figure = figures.layer_lines(table, PALETTE, faded="Of before")
    assert {trace.opacity for trace in figure.data} == {0.3}
    assert [annotation.text for annotation in figure.layout.annotations] == ["Of before"]
    plain = figures.layer_lines(table, PALETTE)
    assert not plain.layout.annotations
    assert {trace.opacity for trace in plain.data} == {None}


def test_bands_reach_from_the_lowest_fold_to_the_highest_and_have_gaps() -> None:
    (band,) = bands_of(figures.layer_lines(profile({"norm": [0.5, 0.4, np.nan, 0.3]}), PALETTE))
    corners = list(zip(band.x, band.y, strict=True))
    gap = corners.index((None, None))
    area = {(0, 0.51), (1, 0.41), (1, 0.35), (0, 0.45)}
    assert {(x, round(y, 6)) for x, y in corners[:gap]} == area
    alone = np.array([corner for corner in corners[gap + 1 :] if corner[0] is not None], float)
    assert alone[:, 0].min() < 3 < alone[:, 0].max()  # a lone layer has an area too
    np.testing.assert_allclose(np.unique(alone[:, 1]), [0.25, 0.31])
    assert band.hoverinfo == "skip"


def test_a_table_in_the_making_has_the_axes_and_the_styles_of_the_whole() -> None:
    whole = profile({"norm": [0.5, 0.4, 0.3, 0.2], "direction": [0.9, 0.8, 0.7, 0.6]})
    part = whole[(whole["line"] == "norm") & whole["layer"].isin([0, 3]) | (whole["layer"] == 1)]
    full, partial = figures.layer_lines(whole, PALETTE), figures.layer_lines(part, PALETTE, n_layers=3)
    assert partial.layout.xaxis == full.layout.xaxis
    assert partial.layout.yaxis == full.layout.yaxis
    assert lines_of(partial)["norm"].line == lines_of(full)["norm"].line
    np.testing.assert_array_equal(lines_of(partial)["norm"].y, [0.5, 0.4, np.nan, 0.2])


def test_the_pooler_is_a_point_at_the_last_layer() -> None:
    table = pd.concat([profile({"whole vector": [0.9, 0.8, 0.7]}), profile({"pooler output": [0.4]}, first=2)])
    pooler = lines_of(figures.layer_lines(table, PALETTE))["pooler output"]
    assert pooler.mode == "markers"
    assert [(x, y) for x, y in zip(pooler.x, pooler.y, strict=True) if np.isfinite(y)] == [(2, 0.4)]


@pytest.mark.parametrize(("values", "low"), [([0.5, 0.4], 0), ([0.5, -0.05], -0.1), ([0.5, -7], -0.2), ([np.nan], 0)])
def test_the_axis_shows_what_is_below_nothing_but_not_without_end(values: list[float], low: float) -> None:
    start, end = figures.layer_lines(profile({"norm": values}), PALETTE).layout.yaxis.range
    assert start == pytest.approx(low - 0.03)
    assert end == pytest.approx(1.03)


def test_lines_differ_by_more_than_their_colour() -> None:
    figure = figures.layer_lines(profile({f"line {index}": [0.1, 0.2] for index in range(6)}), PALETTE)
    lines = list(lines_of(figure).values())
    for look in (lambda line: line.line.color, lambda line: line.line.dash, lambda line: line.marker.symbol):
        assert len({look(line) for line in lines}) == 6


def test_the_spread_is_a_share_of_the_mean_and_none_is_marked_as_such() -> None:
    figure = figures.norm_spread(spread_table([7, 8, 10, 16], [0, 0.0004, 0.02, 0.4]), PALETTE)
    varies, constant = figure.data
    np.testing.assert_allclose(varies.y, [np.nan, 0.00005, 0.002, 0.025])
    np.testing.assert_array_equal(constant.x, [0])
    assert figure.layout.yaxis.type == "log"
    low, high = figure.layout.yaxis.range
    assert low < -5 < -1 < high
    assert np.log10(constant.y[0]) >= low
    assert "standard deviation 4.0 × 10⁻⁴" in varies.text[1]
    assert "mean 8.0000" in varies.text[1]
    assert "the same for every sentence" in constant.hovertemplate
    assert [note.text for note in figure.layout.annotations] == ["▽ the same for every sentence"]


def test_the_largest_shares_come_first() -> None:
    shares = np.array([0.1, 0.5, 0.05, 0.35])
    figure = figures.dimension_shares(shares, np.argsort(-shares), PALETTE, n=3)
    (bars,) = figure.data
    assert list(bars.x) == ["1", "3", "0"]
    np.testing.assert_array_equal(bars.y, [0.5, 0.35, 0.1])
    assert figure.layout.xaxis.type == "category"  # numbers of dimensions are names
    assert len(figures.dimension_shares(shares, np.argsort(-shares), PALETTE).data[0].x) == 4


def test_growth_shows_each_word_over_the_corpus_of_its_lengths() -> None:
    table = pd.concat([growing("as typed", ["The", EVIL, "sat"], [1, 12, 20]), growing("one word", ["a", "a"], [1, 2])])
    figure = figures.growth(table, QUARTILES, PALETTE, "Norm after layer 3")
    lines = lines_of(figure)
    typed = lines["as typed"]
    np.testing.assert_array_equal(typed.x, [1, 12, 20])
    np.testing.assert_allclose(typed.y, [8.1, 9.2, 10.0])
    assert typed.text[0] == "word 1: The"
    assert typed.text[1].startswith("word 2: &lt;b&gt;bold&lt;/b&gt; &amp; ")
    median = next(line for name, line in lines.items() if name.startswith("corpus"))
    assert max(median.x) == 20  # longer sentences would squeeze the visitor's
    np.testing.assert_array_equal(np.unique(median.y), [8.0])
    (band,) = bands_of(figure)
    assert set(band.y) - {None} == {7.0, 8.5}
    assert figure.layout.yaxis.title.text == "Norm after layer 3"
    start, end = figure.layout.xaxis.range
    assert start == 0
    assert 20 < end < 22


def test_growth_without_a_corpus_has_no_band() -> None:
    figure = figures.growth(growing("as typed", ["a"], [1]), None, PALETTE, "Norm")
    assert list(lines_of(figure)) == ["as typed"]
    assert not bands_of(figure)


def test_paths_of_the_visitors_sentences_lie_over_the_band_of_the_corpus() -> None:
    band = pd.DataFrame({"layer": [0, 1, 2], "lower": [6, 7, 8], "median": [6.5, 7.5, 8.5], "upper": [7, 8, 9]})
    figure = figures.layer_path(pd.concat([path_of(EVIL, [7, 8, 9]), path_of("two", [6, 6, 6])]), band, PALETTE)
    corpus, evil, two = [trace for trace in figure.data if trace.name]
    np.testing.assert_array_equal(corpus.y, [6.5, 7.5, 8.5])
    np.testing.assert_array_equal(corpus.customdata, [[6, 7], [7, 8], [8, 9]])
    np.testing.assert_array_equal(evil.y, [7, 8, 9])
    assert evil.name == "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a…"
    assert evil.hovertemplate.startswith("&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a href")
    assert evil.line.color == PALETTE.own
    assert two.line.color != evil.line.color
    assert not bands_of(figures.layer_path(path_of("one", [6, 7]), None, PALETTE))


def test_models_of_different_depth_share_an_axis() -> None:
    figure = figures.relative_depth(depths({"bert": 12, EVIL: 3, "one layer": 1}), PALETTE, y_title="R²")
    bert, evil, shallow = figure.data
    np.testing.assert_allclose(bert.x, np.arange(13) / 12)
    np.testing.assert_array_equal(evil.customdata, [0, 1, 2, 3])
    np.testing.assert_allclose(shallow.y, [1, 0.5])
    assert "<" not in evil.name
    assert len({(trace.line.color, trace.line.dash, trace.marker.symbol) for trace in figure.data}) == 3
