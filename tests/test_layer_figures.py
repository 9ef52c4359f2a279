import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from clsviz import layer_figures as drawn
from clsviz.analysis import fit
from clsviz.figures import Palette, Points, labels_of

PALETTE = Palette()
DARK = Palette("#7fb2dd", "#ff6b5e", "#eef2f6", "#ffc53d", "#191919")
PLACEHOLDERS = Palette("#000001", "#000002", "#000003", "#000004", "#000038")
EVIL = "<b>bold</b> & <a href='x'>a link</a>"


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


def points(n: int, slope: float = 0.02, seed: int = 0) -> Points:
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 60, n).astype(np.int32)
    norms = (7 + slope * lengths + random.normal(size=n)).astype(np.float32)
    return Points(labels_of([f"Sentence {index}." for index in range(n)]), lengths, norms)


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
    figure = drawn.layer_lines(table.sample(frac=1, random_state=1), PALETTE)
    whole = lines_of(figure)["whole vector"]
    np.testing.assert_array_equal(whole.x, [0, 1, 2])
    np.testing.assert_array_equal(whole.y, [np.nan, 0.99, 0.62])
    np.testing.assert_allclose(whole.customdata[1:], [[0.94, 1.0], [0.57, 0.63]])
    assert not whole.connectgaps
    assert figure.layout.yaxis.title.text == "R² of length in tokens"
    assert figure.layout.xaxis.tick0 == 0
    assert figure.layout.xaxis.dtick == 1


def test_bands_reach_from_the_lowest_fold_to_the_highest_and_have_gaps() -> None:
    (band,) = bands_of(drawn.layer_lines(profile({"norm": [0.5, 0.4, np.nan, 0.3]}), PALETTE))
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
    full, partial = drawn.layer_lines(whole, PALETTE), drawn.layer_lines(part, PALETTE, n_layers=3)
    assert partial.layout.xaxis == full.layout.xaxis
    assert partial.layout.yaxis == full.layout.yaxis
    assert lines_of(partial)["norm"].line == lines_of(full)["norm"].line
    np.testing.assert_array_equal(lines_of(partial)["norm"].y, [0.5, 0.4, np.nan, 0.2])


def test_the_pooler_is_a_point_at_the_last_layer() -> None:
    table = pd.concat([profile({"whole vector": [0.9, 0.8, 0.7]}), profile({"pooler output": [0.4]}, first=2)])
    pooler = lines_of(drawn.layer_lines(table, PALETTE))["pooler output"]
    assert pooler.mode == "markers"
    assert [(x, y) for x, y in zip(pooler.x, pooler.y, strict=True) if np.isfinite(y)] == [(2, 0.4)]


@pytest.mark.parametrize(("values", "low"), [([0.5, 0.4], 0), ([0.5, -0.05], -0.1), ([0.5, -7], -0.2), ([np.nan], 0)])
def test_the_axis_shows_what_is_below_nothing_but_not_without_end(values: list[float], low: float) -> None:
    start, end = drawn.layer_lines(profile({"norm": values}), PALETTE).layout.yaxis.range
    assert start == pytest.approx(low - 0.03)
    assert end == pytest.approx(1.03)


def test_lines_differ_by_more_than_their_colour() -> None:
    figure = drawn.layer_lines(profile({f"line {index}": [0.1, 0.2] for index in range(6)}), PALETTE)
    lines = list(lines_of(figure).values())
    for look in (lambda line: line.line.color, lambda line: line.line.dash, lambda line: line.marker.symbol):
        assert len({look(line) for line in lines}) == 6


def test_the_spread_is_a_share_of_the_mean_and_none_is_marked_as_such() -> None:
    figure = drawn.norm_spread(spread_table([7, 8, 10, 16], [0, 0.0004, 0.02, 0.4]), PALETTE)
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


def test_a_spread_that_varies_everywhere_needs_no_note() -> None:
    figure = drawn.norm_spread(spread_table([7, 8], [0.1, 0.1]), PALETTE)
    assert not figure.layout.annotations
    assert not len(figure.data[1].x)


def test_a_heat_map_shows_numbers_and_leaves_the_undefined_blank() -> None:
    values = np.array([[np.nan, 0.987, -0.041], [0.2, 1, 0.5]])
    figure = drawn.heat_map(values, ["[CLS]", "mean of tokens"], ["0", "1", "2"], PALETTE)
    cells, targets = figure.data
    np.testing.assert_array_equal(cells.z, values)
    assert np.array(cells.text).tolist() == [["", ".99", "−.04"], [".20", "1.00", ".50"]]
    assert (cells.zmin, cells.zmax) == (0, 1)
    np.testing.assert_array_equal(targets.customdata, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])
    assert targets.text[0] == "[CLS]<br>layer 0<br>undefined"
    assert targets.text[2] == "[CLS]<br>layer 2<br>−0.04"
    assert list(figure.layout.yaxis.ticktext) == ["[CLS]", "mean<br>of tokens"]


def test_a_click_anywhere_in_a_cell_selects_its_point_and_changes_no_colour() -> None:
    cells, targets = drawn.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE).data
    assert cells.hoverinfo == "skip"
    assert targets.type == "scatter"
    assert targets.marker.opacity == targets.selected.marker.opacity == targets.unselected.marker.opacity == 0
    for x, y, (row, column) in zip(targets.x, targets.y, targets.customdata, strict=True):
        assert (x, y) == (column, row)
    layout = drawn.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE).layout
    assert layout.hoverdistance == -1
    assert layout.xaxis.fixedrange
    assert list(layout.yaxis.range) == [1.5, -0.5]  # the first row above


def test_the_marked_cell_has_a_frame() -> None:
    (frame,) = drawn.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE, marked=(1, 2)).layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)
    assert not drawn.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE).layout.shapes


def test_numbers_that_a_phone_has_no_room_for_are_made_smaller() -> None:
    few, many = (drawn.heat_map(np.full((1, n), 0.5), ["a"], [str(at) for at in range(n)], PALETTE) for n in (13, 25))
    assert few.data[0].textfont.size == 11
    assert many.data[0].textfont.size is None  # Plotly's own choice
    assert list(many.layout.xaxis.ticktext)[:3] == ["0", "2", "4"]
    assert list(many.layout.xaxis.tickvals)[:3] == [0, 2, 4]


def luminance(colour: np.ndarray) -> float:
    """Relative luminance of sRGB, as WCAG 2 has it."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255


@pytest.mark.parametrize("palette", [PALETTE, DARK], ids=["light", "dark"])
def test_numbers_can_be_read_on_every_cell_of_either_theme(palette: Palette) -> None:
    cells = drawn.heat_map(np.ones((1, 1)), ["a"], ["0"], palette).data[0]
    text, ground = luminance(rgb(cells.textfont.color)), rgb(palette.background)
    for _, colour in cells.colorscale:
        opacity = int(colour[7:], 16) / 255
        cell = luminance(opacity * rgb(colour[:7]) + (1 - opacity) * ground)
        lighter, darker = max(cell, text), min(cell, text)
        assert (lighter + 0.05) / (darker + 0.05) > 4.5


def test_similarities_are_numbered_while_there_is_room() -> None:
    matrix = np.array([[1, 0.456], [0.456, 1]])
    figure = drawn.similarity(matrix, [EVIL, "Short."], PALETTE, zmin=0.2)
    cells, targets = figure.data
    assert np.array(cells.text).tolist() == [["1.00", ".46"], [".46", "1.00"]]
    assert (cells.zmin, cells.zmax) == (0.2, 1)
    assert targets.text[1].endswith("2: Short.<br>similarity 0.46")
    many = drawn.similarity(np.eye(13), [f"Sentence {at}" for at in range(13)], PALETTE)
    assert set(np.array(many.data[0].text).ravel()) == {""}
    assert "similarity 1.00" in many.data[1].text[0]


def test_the_largest_shares_come_first() -> None:
    shares = np.array([0.1, 0.5, 0.05, 0.35])
    figure = drawn.dimension_shares(shares, np.argsort(-shares), PALETTE, n=3)
    (bars,) = figure.data
    assert list(bars.x) == ["1", "3", "0"]
    np.testing.assert_array_equal(bars.y, [0.5, 0.35, 0.1])
    assert figure.layout.xaxis.type == "category"  # numbers of dimensions are names
    assert len(drawn.dimension_shares(shares, np.argsort(-shares), PALETTE).data[0].x) == 4


def test_growth_shows_each_word_over_the_corpus_of_its_lengths() -> None:
    table = pd.concat([growing("as typed", ["The", EVIL, "sat"], [1, 12, 20]), growing("one word", ["a", "a"], [1, 2])])
    figure = drawn.growth(table, QUARTILES, PALETTE, "Norm after layer 3")
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
    figure = drawn.growth(growing("as typed", ["a"], [1]), None, PALETTE, "Norm")
    assert list(lines_of(figure)) == ["as typed"]
    assert not bands_of(figure)


def test_paths_of_the_visitors_sentences_lie_over_the_band_of_the_corpus() -> None:
    band = pd.DataFrame({"layer": [0, 1, 2], "lower": [6, 7, 8], "median": [6.5, 7.5, 8.5], "upper": [7, 8, 9]})
    figure = drawn.layer_path(pd.concat([path_of(EVIL, [7, 8, 9]), path_of("two", [6, 6, 6])]), band, PALETTE)
    corpus, evil, two = [trace for trace in figure.data if trace.name]
    np.testing.assert_array_equal(corpus.y, [6.5, 7.5, 8.5])
    np.testing.assert_array_equal(corpus.customdata, [[6, 7], [7, 8], [8, 9]])
    np.testing.assert_array_equal(evil.y, [7, 8, 9])
    assert evil.name == "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a…"
    assert evil.hovertemplate.startswith("&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a href")
    assert evil.line.color == PALETTE.own
    assert two.line.color != evil.line.color
    assert not bands_of(drawn.layer_path(path_of("one", [6, 7]), None, PALETTE))


def test_many_paths_are_told_apart_by_pointing_at_them() -> None:
    figure = drawn.layer_path(pd.concat([path_of(f"Sentence {at}", [7, 8]) for at in range(20)]), None, PALETTE)
    assert len(figure.data) == 20
    assert not any(trace.showlegend for trace in figure.data)
    assert figure.data[19].hovertemplate.startswith("Sentence 19<br>")


def test_models_of_different_depth_share_an_axis() -> None:
    figure = drawn.relative_depth(depths({"bert": 12, EVIL: 3, "one layer": 1}), PALETTE, y_title="R²")
    bert, evil, shallow = figure.data
    np.testing.assert_allclose(bert.x, np.arange(13) / 12)
    np.testing.assert_array_equal(evil.customdata, [0, 1, 2, 3])
    np.testing.assert_allclose(shallow.y, [1, 0.5])
    assert "<" not in evil.name
    assert len({(trace.line.color, trace.line.dash, trace.marker.symbol) for trace in figure.data}) == 3


def test_every_panel_has_its_points_its_line_and_its_name() -> None:
    clouds = [points(300, slope, seed) for seed, slope in enumerate((0, 0.02, 0.05))]
    line = fit(clouds[1].lengths, clouds[1].norms)
    panels = [("hub/<i>a-name-to-be-cut", clouds[0], None), ("bert", clouds[1], line), ("roberta", clouds[2], None)]
    figure = drawn.small_multiples(panels, PALETTE, shared_y=False, length_title="Tokens")
    shown = [trace for trace in figure.data if trace.mode == "markers"]
    (straight,) = [trace for trace in figure.data if trace.mode == "lines"]
    for trace, cloud in zip(shown, clouds, strict=True):
        assert trace.type == "scatter"  # no WebGL
        np.testing.assert_array_equal(trace.x, cloud.lengths)
        np.testing.assert_array_equal(trace.y, cloud.norms)
    assert len({trace.xaxis for trace in shown}) == 3
    assert straight.xaxis == shown[1].xaxis
    slope = np.polyfit(clouds[1].lengths, clouds[1].norms, 1)[0]
    assert np.diff(straight.y)[0] / np.diff(straight.x)[0] == pytest.approx(slope, rel=1e-4)
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert texts[0] == "&lt;i&gt;a-name-to-be-c…"
    squared = np.corrcoef(clouds[1].lengths, clouds[1].norms)[0, 1] ** 2
    assert texts[3:] == [f"R² {squared:.3f}"]


@pytest.mark.parametrize("n", [1, 2, 4, 5, 6])
def test_axes_are_shared_where_asked_for(n: int) -> None:
    panels = [(f"model {at}", points(20, seed=at), None) for at in range(n)]
    shared = drawn.small_multiples(panels, PALETTE, shared_y=True, length_title="Tokens")
    free = drawn.small_multiples(panels, PALETTE, shared_y=False, length_title="Tokens")
    assert sum(axis.matches is not None for axis in shared.select_yaxes()) == n - 1
    assert not any(axis.matches for axis in free.select_yaxes())
    assert len({tuple(axis.range) for axis in free.select_xaxes()}) == 1
    titles = [axis.title.text for axis in free.select_xaxes()]
    assert titles[-1] == "Tokens"
    assert titles.count("Tokens") == min(n, 2)


NOTHING: dict[str, Callable[[], go.Figure]] = {
    "layer_lines": lambda: drawn.layer_lines(profile({}), PALETTE),
    "layer_lines of one layer": lambda: drawn.layer_lines(profile({"norm": [0.5]}), PALETTE),
    "layer_lines of nothing defined": lambda: drawn.layer_lines(profile({"norm": [np.nan, np.nan]}), PALETTE),
    "norm_spread": lambda: drawn.norm_spread(spread_table([], []), PALETTE),
    "norm_spread of one layer": lambda: drawn.norm_spread(spread_table([7], [0]), PALETTE),
    "norm_spread of nothing": lambda: drawn.norm_spread(spread_table([np.nan, 0], [np.nan, 0]), PALETTE),
    "heat_map": lambda: drawn.heat_map(np.empty((0, 0)), [], [], PALETTE),
    "heat_map of nothing defined": lambda: drawn.heat_map(np.full((1, 2), np.nan), ["a"], ["0", "1"], PALETTE),
    "similarity": lambda: drawn.similarity(np.empty((0, 0)), [], PALETTE),
    "dimension_shares": lambda: drawn.dimension_shares(np.empty(0), np.empty(0, np.intp), PALETTE),
    "growth": lambda: drawn.growth(growing("", [], []), None, PALETTE, "Norm"),
    "growth of the corpus alone": lambda: drawn.growth(growing("", [], []), QUARTILES, PALETTE, "Norm"),
    "layer_path": lambda: drawn.layer_path(path_of("", []), None, PALETTE),
    "relative_depth": lambda: drawn.relative_depth(depths({}), PALETTE, y_title="R²"),
    "small_multiples": lambda: drawn.small_multiples([], PALETTE, shared_y=True, length_title="Tokens"),
    "small_multiples of no points": lambda: drawn.small_multiples(
        [("bert", points(0), None)], PALETTE, shared_y=False, length_title="Tokens"
    ),
}


@pytest.mark.parametrize("draw", NOTHING.values(), ids=NOTHING.keys())
def test_little_or_nothing_to_draw_still_makes_a_figure(draw: Callable[[], go.Figure]) -> None:
    figure = json.loads(draw().to_json())
    for axis in ("xaxis", "yaxis"):
        low, high = figure["layout"][axis].get("range", [0, 1])
        assert np.isfinite([low, high]).all()


def test_colours_are_those_of_the_palette_or_fixed_so_that_a_theme_can_exchange_them() -> None:
    table = profile({"norm": [0.5, 0.4], "direction": [0.9, 0.8]})
    figures = [
        drawn.layer_lines(table, PLACEHOLDERS),
        drawn.norm_spread(spread_table([7, 8], [0, 0.1]), PLACEHOLDERS),
        drawn.heat_map(np.ones((1, 1)), ["a"], ["0"], PLACEHOLDERS, marked=(0, 0)),
        drawn.growth(growing("as typed", ["a", "b"], [1, 2]), QUARTILES, PLACEHOLDERS, "Norm"),
        drawn.small_multiples([("bert", points(9), None)], PLACEHOLDERS, shared_y=True, length_title="Tokens"),
    ]
    given = {PLACEHOLDERS.points, PLACEHOLDERS.line, PLACEHOLDERS.summary, PLACEHOLDERS.own, PLACEHOLDERS.background}
    for figure in figures:
        figure.update_layout(template="none")
        colours = set(re.findall(r'"(#[0-9a-f]{6,8})"', json.dumps([json.loads(figure.to_json())["data"]])))
        assert colours
        assert {colour[:7] for colour in colours} <= given
