import numpy as np
import pytest

from clsviz.figures import Axes, Palette, Points, colouring, labels_of, scatter


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
