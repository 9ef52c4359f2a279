"""Figures as the browser gets them."""

import base64
from typing import Any

import numpy as np
import orjson
from support.figures import places_of

from clsviz import figures
from clsviz.figures import Axes, Palette, Points, labels_of, scatter, sent
from clsviz.statistics.line import fit


def drawn(numbers: np.ndarray, **more: Any) -> tuple[Points, dict[str, Any]]:
    """The picture of sentences that have these numbers in the sample, and what of it is sent."""
    n, random = len(numbers), np.random.default_rng(0)
    lengths = random.integers(3, 60, n).astype(np.int32)
    norms = (7 - 0.01 * lengths + random.normal(size=n)).astype(np.float32)
    points = Points(labels_of([f"Sentence {number}." for number in numbers]), lengths, norms)
    line = fit(lengths, norms)
    return points, orjson.loads(sent(scatter(points, Axes(), Palette(), fit=line), numbers, line, **more))


def test_the_browser_gets_what_it_takes_to_draw_the_picture_and_nothing_that_it_can_work_out() -> None:
    numbers = np.flatnonzero(np.random.default_rng(1).random(10_000) < 0.99)
    points, found = drawn(numbers, has_labels=False)
    of_cloud = found["sent"]
    cloud = found["data"][of_cloud["cloud"]]
    for axis, values in (("x", points.lengths), ("y", points.norms)):
        packed = cloud[axis]
        np.testing.assert_array_equal(np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"]), values)
    assert places_of(of_cloud["is_drawn"]) == numbers.tolist()
    slope, intercept = np.polyfit(points.lengths, points.norms.astype(float), 1)
    np.testing.assert_allclose([of_cloud["line"]["slope"], of_cloud["line"]["intercept"]], [slope, intercept], 1e-6)
    assert of_cloud["labels"] is None
    assert not {"text", "customdata"} & cloud.keys()
    assert "template" not in found["layout"]
    assert drawn(numbers)[1]["sent"]["labels"] == points.labels.tolist()


def test_a_density_brings_its_counts_and_the_labels_of_its_few_points() -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(3, 79, 1_000_000).astype(np.int32)
    norms = random.normal(7, 1, len(lengths)).astype(np.float32)
    found = figures.drawn(lengths, norms, len(lengths), (9.5, 40.25, 6.5, 7.0625))
    labels = labels_of(["A sentence of common length, as corpora have them."] * 5_000)
    points = Points(labels, lengths[found.points], norms[found.points])
    figure = scatter(points, Axes(longest=79, zoom_of="this view"), Palette(), density=found.density)
    text = sent(figure, found.points)
    assert len(text) < 1_200_000
    message = orjson.loads(text)
    assert not {"z", "text"} & message["data"][0].keys()
    assert message["sent"]["cloud"] == 1
    assert message["sent"]["labels"] == points.labels.tolist()
    assert message["sent"]["zoom"] == {"of": "this view", "whole": [0, 80]}
    density = message["sent"]["density"]
    assert found.density is not None
    np.testing.assert_array_equal(density["counts"], found.density.counts.T)
    assert density["lengths"] == [f"{n} tokens" for n in range(3, 79)]
    assert len(density["norms"]) == len(found.density.edges) - 1


def test_a_picture_of_nothing_is_sent_as_well() -> None:
    found = orjson.loads(sent(figures.empty(Axes()), np.empty(0, np.intp)))["sent"]
    assert (found["cloud"], found["is_drawn"], found["line"]) == (-1, "", None)
