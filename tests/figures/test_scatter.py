"""Figures of norms against lengths, by their data."""

import html
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clsviz.figures import scatter
from clsviz.figures.style import LABEL_SIZE, LINE, LONGEST_LABEL, POINTS, hover_label
from clsviz.results.result import Result

Draw = Callable[..., Result]


def trace(figure: Any, name: str = "sentences") -> Any:
    (one,) = [one for one in figure.data if one.name == name]
    return one


def test_points_are_the_used_rows_by_their_place_whatever_the_index_is(result_of: Draw) -> None:
    table = result_of().table
    used = np.flatnonzero(table["is_used"])
    points = trace(scatter.norms(result_of(table=table.set_index(table.index[::-1]))))
    assert points.customdata.tolist() == used.tolist()
    for values, column in ((points.x, "length"), (points.y, "norm")):
        assert values.tolist() == table[column].iloc[used].tolist()
    dtypes = [str(points.to_plotly_json()[name].dtype) for name in ("x", "y", "customdata")]
    assert dtypes == ["int32", "float32", "int32"]  # typed arrays for the browser


def test_the_line_runs_from_the_shortest_to_the_longest_sentence(result_of: Draw) -> None:
    result = result_of()
    line = trace(scatter.norms(result), "━ line, R² 20%")
    lengths = result.table.query("is_used")["length"]
    assert line.x.tolist() == [lengths.min(), lengths.max()]
    np.testing.assert_allclose(line.y, np.polyval([-0.01, 8], line.x), rtol=1e-6)


def test_the_curve_is_bold_where_it_is_the_answer(result_of: Draw) -> None:
    picture = result_of().picture
    answer = {**picture, "curve": {**picture["curve"], "is_answer": True}}
    for changes, name, width in (({}, "┅", 2), ({"picture": answer}, "━", 3)):
        curve = trace(scatter.norms(result_of(**changes)), f"{name} smooth curve")
        assert curve.line.width == width
        assert curve.line.color != LINE


@pytest.mark.parametrize(
    ("is_used", "types"), [(True, ["scattergl", "bar", "bar"]), (False, ["scattergl"])]
)
def test_a_result_without_an_answer_has_points_alone(result_of, is_used, types) -> None:
    table = result_of().table.assign(is_used=is_used)
    figure = scatter.norms(result_of(table=table, facts=(), picture={}, details={}))
    assert [one.type for one in figure.data] == types
    assert len(trace(figure).x) == is_used * len(table)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("<b>bold</b> & <a href='x'>link</a>", "<b>bold</b> & <a href='x'>link</a>"),
        ("right \u202eto\u2066 left\u200f", "right to left"),
        ("bell\x07 and\nline\tends", "bell and line ends"),
        ("word " * 100, ("word " * 100)[: LONGEST_LABEL - 1].rstrip() + "…"),
        ("漢" * 100, "漢" * 100),
        ("&lt; stays", "&lt; stays"),
    ],
)
def test_a_hover_label_shows_a_sentence_letter_by_letter(sentence: str, text: str) -> None:
    lines = hover_label(sentence).split("<br>")
    assert "<" not in "".join(lines)
    joint = "" if sentence.startswith("漢") else " "
    assert html.unescape(joint.join(lines)) == text
    assert max(len(html.unescape(line)) for line in lines) <= 44


@pytest.mark.parametrize("n", [200, 60_000])
def test_histograms_count_every_sentence(result_of: Draw, n: int) -> None:
    result = result_of(n)
    figure = scatter.norms(result)
    top, right = figure.data[-2:]
    assert top.y.sum() == right.x.sum() == result.table["is_used"].sum()
    if n > scatter.MOST_POINTS:
        counts, points = 10 ** figure.data[0].z.astype(float), trace(figure)
        assert round(np.nansum(counts)) == result.table["is_used"].sum()
        assert len(points.x) == scatter.FEW_POINTS
        assert points.y.tolist() == result.table["norm"].iloc[points.customdata].tolist()


@pytest.mark.parametrize("norm", [0.0, 1e-4, 19.6, 1e6])
def test_an_axis_is_wider_than_rounding(result_of: Draw, norm: float) -> None:
    result = result_of(table=result_of().table.assign(norm=np.float32(norm)), picture={}, facts=())
    span = scatter.norms(result).layout.yaxis.autorangeoptions
    assert span.maxallowed - span.minallowed >= 2e-5 * norm
    assert 0 <= span.minallowed <= np.float32(norm) < span.maxallowed


def test_stars_lie_where_the_sentences_do_within_the_axes(result_of: Draw) -> None:
    typed = [{"sentence": "A <i>long</i> one", "length": 200, "norm": 12.0}]
    figure = scatter.norms(result_of(picture={"typed": typed}))
    star = trace(figure, "your sentences")
    assert (star.x.tolist(), star.y.tolist()) == ([200], [12])
    assert figure.layout.xaxis.autorangeoptions.maxallowed > 200
    assert figure.layout.yaxis.autorangeoptions.maxallowed > 12
    assert "A &lt;i&gt;long&lt;/i&gt; one" in [note.text for note in figure.layout.annotations]


def test_labels_of_stars_do_not_overlap(result_of: Draw) -> None:
    norms = [7.5, 7.51, 7.5, 7.6, 7.58]
    typed = [{"sentence": "sentence", "length": 20, "norm": norm} for norm in norms]
    figure = scatter.norms(result_of(picture={"typed": typed}, facts=()))
    span = figure.layout.yaxis.autorangeoptions
    pixels = 330 / (span.maxallowed - span.minallowed)
    heights = sorted(note.y * pixels + note.yshift for note in figure.layout.annotations)
    assert len(heights) == len(norms)
    assert all(b - a > LABEL_SIZE for a, b in itertools.pairwise(heights))


@pytest.mark.parametrize(
    ("about", "chosen"), [({}, 2), ({"layer": 1}, 1), ({"layer": None, "pooling": "mean"}, 3)]
)
def test_the_strip_marks_the_layer_of_the_result(result_of, about, chosen) -> None:
    (bars,) = scatter.strip(result_of(about=about)).data
    assert list(bars.y) == [0, 0.1, 0.2, 0.3]
    constant = "layer 1: R² 10%, of nearly constant norms"
    assert list(bars.hovertext) == [
        "layer 0: R² undefined",
        constant,
        "layer 2: R² 20%",
        "mean: R² 30%",
    ]
    assert list(bars.marker.pattern.shape) == ["", "/", "", ""]
    assert bars.customdata.tolist() == [0, 1, 2, 3]
    assert list(bars.marker.color) == [LINE if n == chosen else POINTS for n in range(4)]
