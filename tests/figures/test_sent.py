import base64
from typing import Any

import numpy as np
import orjson
import plotly.graph_objects as go

from clsviz import figures
from clsviz.figures import Axes, Palette, Points, labels_of, scatter, sent
from clsviz.statistics import fit


def drawn(n: int, numbers: np.ndarray, **more: Any) -> tuple[Points, dict[str, Any]]:
    """The picture of n sentences that have these numbers in the sample, and what of it is sent."""
    random = np.random.default_rng(0)
    lengths = random.integers(3, 60, n).astype(np.int32)
    norms = (7 - 0.01 * lengths + random.normal(size=n)).astype(np.float32)
    points = Points(labels_of([f"Sentence {number}." for number in numbers]), lengths, norms)
    line = fit(lengths, norms)
    figure = scatter(points, Axes(), Palette(points="#000001"), fit=line, **more)
    return points, orjson.loads(sent(figure, numbers, "sample", {"#000001": "0"}, line))


def test_the_browser_gets_what_it_takes_to_draw_the_picture() -> None:
    numbers = np.flatnonzero(np.random.default_rng(1).random(61_000) < 0.99)
    points, found = drawn(len(numbers), numbers)
    clouds = found["figure"]["data"][: found["n_clouds"]]
    assert [cloud["type"] for cloud in clouds] == ["scattergl"] * 2  # none of more than 50,000 points
    assert found["figure"]["data"][2]["type"] == "bar"
    arrays = [[cloud[axis] for cloud in clouds] for axis in "xy"]
    x, y = (
        np.concatenate([np.frombuffer(base64.b64decode(part["bdata"]), part["dtype"]) for part in parts])
        for parts in arrays
    )
    np.testing.assert_array_equal(x, points.lengths)
    np.testing.assert_array_equal(y, points.norms)
    bits = np.frombuffer(base64.b64decode(found["is_drawn"]), np.uint8)
    is_drawn = [bool(bits[number // 8] & (1 << number % 8)) for number in range(8 * len(bits))]
    np.testing.assert_array_equal(np.flatnonzero(is_drawn), numbers)
    slope, intercept = np.polyfit(points.lengths, points.norms.astype(float), 1)
    np.testing.assert_allclose([found["line"]["slope"], found["line"]["intercept"]], [slope, intercept], rtol=1e-6)
    assert clouds[0]["marker"]["color"] == "#000001"
    assert found["colours"] == {"#000001": "0"}


def test_neither_labels_nor_what_can_be_computed_nor_the_template_are_sent_with_it() -> None:
    _, found = drawn(300, np.arange(300))
    assert not {"text", "customdata"} & found["figure"]["data"][0].keys()
    assert "template" not in found["figure"]["layout"]
    labels = labels_of(["One.", "Two <b>."])
    assert orjson.loads(figures.labels_sent("sample", labels)) == {"sample": "sample", "labels": labels.tolist()}


def test_a_density_brings_its_counts_and_the_labels_of_its_few_points() -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(3, 79, 1_000_000).astype(np.int32)
    norms = random.normal(7, 1, len(lengths)).astype(np.float32)
    zoom = (9.5, 40.25, 6.5, 7.0625)
    found = figures.drawn(lengths, norms, len(lengths), zoom)
    points = Points(
        labels_of(["A sentence of common length, as corpora have them."] * 5_000), *_at(found, lengths, norms)
    )
    axes = Axes(longest=79, zoom_of="this view")
    text = sent(scatter(points, axes, Palette(), density=found.density), found.points, "sample", {})
    assert len(text) < 1_000_000
    message = orjson.loads(text)
    assert not {"sample", "is_drawn"} & message.keys()
    assert not {"z", "text"} & message["figure"]["data"][0].keys()
    assert message["labels"] == points.labels.tolist()
    assert message["zoom"] == {"of": "this view", "ends": list(zoom), "whole": [0, 80]}
    assert found.density is not None
    np.testing.assert_array_equal(message["density"]["counts"], found.density.counts.T)
    assert message["density"]["lengths"] == [f"{n} tokens" for n in range(3, 79)]
    assert len(message["density"]["norms"]) == len(found.density.edges) - 1


def _at(found: figures.Drawn, lengths: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return lengths[found.points], norms[found.points]


def test_pictures_have_the_same_name_only_if_they_are_the_same() -> None:
    names = [drawn(300, numbers)[1]["name"] for numbers in (np.arange(300), np.arange(300), np.arange(1, 301))]
    assert names[0] == names[1] != names[2]
    assert drawn(300, np.arange(300), selected=np.array([1]))[1]["name"] != names[0]


def test_a_picture_of_nothing_is_sent_as_well() -> None:
    found = orjson.loads(sent(figures.empty(Axes()), np.empty(0, np.intp), "", {}))
    assert (found["n_clouds"], found["is_drawn"], found["line"]) == (0, "", None)


def test_the_chart_before_it_has_the_margins_of_the_picture_so_that_it_is_drawn_once() -> None:
    _, found = drawn(300, np.arange(300))
    blank = figures.blank(470).to_dict()["layout"]
    assert blank["margin"] == found["figure"]["layout"]["margin"]
    assert blank["height"] == 470


def test_the_chart_before_it_is_the_same_each_time_and_made_of_nothing_else_than_any_figure() -> None:
    chart = figures.blank(470, 3)
    assert chart.to_dict() is chart.to_dict()
    assert chart.to_dict() == go.Figure(chart.data, chart.layout).to_dict()
