"""What points are coloured by, and the key to it."""

import numpy as np
import pytest

from clsviz.figures import Axes, Figure, Key, Palette, Points, colouring, labels_of, scatter


def shown(value: float, colours: colouring.Colours) -> str:
    """The colour that a value has on the scale."""
    place = (value - colours.low) / (colours.high - colours.low)
    ends = [end for end, _ in colours.scale]
    parts = [[int(colour[start : start + 2], 16) for _, colour in colours.scale] for start in (1, 3, 5)]
    return "#" + "".join(f"{round(np.interp(place, ends, part)):02x}" for part in parts)


def test_every_name_has_its_own_colour() -> None:
    n = len(colouring.NAMED)
    colours = colouring.by_code(np.arange(n + 2))
    assert [shown(value, colours) for value in colours.values] == [*colouring.NAMED, *[colouring.OTHERS] * 2]
    assert len({*colouring.NAMED, colouring.OTHERS}) == n + 1


def test_numbers_are_on_a_scale_and_what_has_none_is_apart() -> None:
    numbers = np.array([*np.linspace(0, 100, 101), 10_000, np.nan])
    colours = colouring.by_number(numbers)
    low, high = colouring.ends_of(numbers)
    assert (low, high) == pytest.approx(np.quantile(numbers[:-1], [0.02, 0.98]))
    first, middle, last = colouring.SCALE
    assert shown(colours.values[0], colours) == first
    assert shown(colours.values[101], colours) == last
    halfway = colouring.by_number(np.linspace(-1, 1, 101))
    assert shown(halfway.values[50], halfway) == middle
    assert shown(colours.values[102], colours) == colouring.OTHERS


def test_numbers_that_are_all_the_same_or_missing_have_a_colour() -> None:
    for numbers in (np.full(5, 3.0), np.full(5, np.nan), np.zeros(0)):
        assert np.isfinite(colouring.by_number(numbers).values).all()


def test_the_points_of_a_scatter_have_these_colours() -> None:
    lengths, norms = np.arange(3, 43, dtype=np.int32), np.linspace(7, 8, 40).astype(np.float32)
    points = Points(labels_of([str(at) for at in range(40)]), lengths, norms)
    colours = colouring.by_code(np.arange(40) % 4)
    cloud = scatter(points, Axes(), Palette(), colours=colours).data[0]
    np.testing.assert_array_equal(cloud.marker.color, np.arange(40) % 4)
    assert (cloud.marker.cmin, cloud.marker.cmax) == (colours.low, colours.high)
    assert [tuple(step) for step in cloud.marker.colorscale] == colours.scale


NAMES = [("<b>calm</b>", 1200, "#e69f00"), ("a name that is much longer than there is room for", 3, "#3f9fd8")]


def picture() -> Figure:
    points = Points(
        labels_of(["one", "two", "three"]), np.array([3, 4, 9], np.int32), np.array([7, 8, 7.5], np.float32)
    )
    return scatter(points, Axes(), Palette(), colours=colouring.by_code(np.array([0, 1, 1])))


def test_names_stand_with_their_colours_and_numbers_and_are_text() -> None:
    traces = colouring.traces(Key("Column “mood”", NAMES))
    assert [trace["marker"]["color"] for trace in traces] == ["#e69f00", "#3f9fd8"]
    assert [trace["name"] for trace in traces] == ["&lt;b&gt;calm&lt;/b&gt; (1,200)", "a name that is mu… (3)"]
    assert all(trace["x"] == [None] for trace in traces)  # nothing is drawn in the picture itself


def test_a_scale_has_its_ends_and_what_has_no_number_its_name() -> None:
    *named, scale = colouring.traces(Key("Column “score”", [("no value", 5, colouring.OTHERS)], (1.0, 4.5)))
    assert [trace["name"] for trace in named] == ["no value (5)"]
    marker = scale["marker"]
    assert (marker["cmin"], marker["cmax"]) == (1.0, 4.5)
    assert [colour for _, colour in marker["colorscale"]] == [*colouring.SCALE]
    assert marker["colorbar"]["title"]["text"] == "Column “score”"
    assert scale["showlegend"] is False
    (same,) = colouring.traces(Key("Column “score”", [], (2.0, 2.0)))
    assert same["marker"]["cmin"] < same["marker"]["cmax"]


def test_below_a_picture_it_names_nothing_else() -> None:
    figure = picture()
    before = figure.to_dict()
    colouring.add(figure, Key("Column “mood”", NAMES))
    after = figure.to_dict()
    n = len(before["data"])
    assert [trace.get("showlegend") for trace in after["data"]] == [False] * n + [True] * 2
    assert after["data"][0]["text"] == before["data"][0]["text"]
    assert after["layout"]["showlegend"] is True
    assert after["layout"]["legend"]["title"]["text"] == "Column “mood”"
    assert after["layout"]["margin"]["b"] == before["layout"]["margin"]["b"] + colouring.ROOM
