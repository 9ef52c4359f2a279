import json

import numpy as np
import pytest
from support.figures import EVIL, PALETTE

from clsviz.figures import labels_of, projection

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


@pytest.mark.parametrize("lengths", [[], [7], [7, 7]])
def test_little_or_nothing_to_draw_still_makes_a_figure(lengths: list[int]) -> None:
    assert "NaN" not in json.dumps(json.loads(figure(lengths)[0].to_json()))
