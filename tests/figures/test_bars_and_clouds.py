"""Bars, cutoffs, histograms and projections."""

import numpy as np
import pandas as pd
import pytest
from support.figures import EVIL, PALETTE
from support.lines import sample

from clsviz import figures
from clsviz.figures import Axes, Palette, Points, cutoff_lines, labels_of, projection, scatter
from clsviz.figures.density import CLOUD_HEIGHT, CLOUD_WIDTH
from clsviz.statistics.line import by_cutoff

GROUPS = pd.DataFrame(
    {
        "group": ["Embeddings", "Layer 1", "Pooler"],
        "weights": [50, 40, 10],
        "share": [0.5, 0.4, 0.1],
        "attention": [0, 15, 0],
        "feed_forward": [0, 25, 0],
    }
)


def test_every_weight_is_in_one_bar_of_its_group() -> None:
    figure = figures.weights_by_group(GROUPS, PALETTE)
    attention, feed_forward, other, labels = figure.data
    assert [bar.name for bar in (attention, feed_forward, other)] == ["Attention", "Feed-forward", "Other"]
    assert [sum(parts) for parts in zip(attention.x, feed_forward.x, other.x, strict=True)] == [50, 40, 10]
    assert list(other.x) == [50, 0, 10]
    assert list(labels.text) == ["50.0%", "40.0%", "10.0%"]
    assert all(list(bar.y) == GROUPS["group"].tolist() for bar in figure.data)
    assert figure.layout.yaxis.autorange == "reversed"  # the first group above


def test_every_cutoff_has_its_r_squared_with_interval_and_its_slope() -> None:
    lengths, norms = sample(500)
    table = by_cutoff(lengths, lengths, norms)
    figure = cutoff_lines(table, 30, Palette(), unit="word")
    band, r_squared, slope = figure.data
    for line, column in ((r_squared, "r_squared"), (slope, "slope")):
        np.testing.assert_array_equal(line.x, table["length_cutoff"])
        np.testing.assert_array_equal(line.y, table[column])
    np.testing.assert_array_equal(r_squared.customdata, table[["n", "lower", "upper"]])
    assert sorted(band.y) == sorted([*table["lower"], *table["upper"]])
    assert figure.layout.yaxis2.title.text == "Slope per word"
    assert any(shape.x0 == shape.x1 == 30 for shape in figure.layout.shapes)
    assert figure.layout.annotations[0].text == "under 30"


def test_a_cutoff_above_all_sentences_is_marked_where_the_last_is() -> None:
    lengths, norms = sample(500)
    table = by_cutoff(lengths, lengths, norms)
    figure = cutoff_lines(table, 400, Palette())
    assert figure.layout.annotations[0].x == table["length_cutoff"].max()
    assert figure.layout.annotations[0].text == "under 400"


@pytest.mark.parametrize("longest", [40, 500])
def test_every_sentence_is_counted_once_in_each_histogram(longest: int) -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(1, longest + 1, 800).astype(np.int32)
    norms = random.normal(7, 1, 800).astype(np.float32)
    figure = scatter(Points(labels_of(["x"] * 800), lengths, norms), Axes(longest=longest), Palette())
    of_lengths, of_norms = [trace for trace in figure.data if trace.type == "bar"]
    assert of_lengths.y.sum() == of_norms.x.sum() == 800
    width = of_lengths.width
    for middle, count in zip(of_lengths.x, of_lengths.y, strict=True):
        assert count == ((middle - width / 2 < lengths) & (lengths < middle + width / 2)).sum()
    middles, widths = np.asarray(of_norms.y), np.asarray(of_norms.width)
    for middle, width, count in zip(middles, widths, of_norms.x, strict=True):
        among = (middle - width / 2 - 1e-6 <= norms) & (norms <= middle + width / 2 + 1e-6)
        assert abs(int(among.sum()) - count) <= 1  # a norm on an edge counts on either side


def test_the_histograms_lie_beside_the_cloud_and_share_its_axes() -> None:
    shown = Points(labels_of(["a", "b"]), np.array([3, 9], np.int32), np.array([7, 8], np.float32))
    layout = scatter(shown, Axes(), Palette()).layout
    assert (layout.xaxis.domain, layout.yaxis.domain) == ((0, CLOUD_WIDTH), (0, CLOUD_HEIGHT))
    assert layout.xaxis2.domain[0] > CLOUD_WIDTH
    assert layout.yaxis2.domain[0] > CLOUD_HEIGHT
    assert (layout.xaxis2.anchor, layout.yaxis2.anchor) == ("y", "x")


def test_norms_that_are_all_the_same_have_a_histogram_too() -> None:
    shown = Points(labels_of(["a"] * 3), np.array([3, 4, 5], np.int32), np.full(3, 16, np.float32))
    _, of_norms = [trace for trace in scatter(shown, Axes(), Palette()).data if trace.type == "bar"]
    assert of_norms.x.sum() == 3


RANDOM = np.random.default_rng(2)


def figure(lengths: list[int], unit: str = "tokens"):
    n = len(lengths)
    coordinates = RANDOM.normal(size=(n, 2))
    labels = labels_of([EVIL] * n)
    drawn = projection(coordinates, np.array(lengths, np.int32), labels, PALETTE, shares=(0.234, 0.05), unit=unit)
    return drawn, coordinates


def test_every_vector_is_a_point_in_the_colour_of_its_length() -> None:
    lengths = list(range(3, 103))
    drawn, coordinates = figure(lengths, "words")
    (trace,) = drawn.data
    assert trace.type == "scattergl"
    np.testing.assert_allclose(np.stack([trace.x, trace.y], axis=1), coordinates, rtol=1e-6)
    np.testing.assert_array_equal(trace.marker.color, lengths)
    assert "%{customdata} words" in trace.hovertemplate
    np.testing.assert_array_equal(trace.customdata, lengths)
    assert "&lt;b&gt;bold" in trace.text[0]
    titles = [axis.title.text for axis in (drawn.layout.xaxis, drawn.layout.yaxis)]
    assert titles == ["Principal component 1 (23% of variance)", "Principal component 2 (5.0% of variance)"]


def test_a_few_long_sentences_do_not_take_all_the_colours() -> None:
    (trace,) = figure([*range(3, 103), 500])[0].data
    assert trace.marker.cmin == 3
    assert 95 <= trace.marker.cmax <= 102
    assert trace.marker.colorbar.ticktext[-1] == f"{trace.marker.cmax}+"
    (even,) = figure([5] * 50 + [9] * 50)[0].data
    assert (even.marker.cmin, even.marker.cmax, even.marker.colorbar.ticktext[-1]) == (5, 9, "9")
