import math

import numpy as np
import pytest
from PIL import Image

from clsviz.figures import Palette
from clsviz.web.plot import Frame, draw_line, draw_points, ends_of_norms, labels_of, ticks

FRAME = Frame(left=100, top=50, right=500, bottom=250, lengths=(0, 80), norms=(6, 8))


def test_the_ends_of_the_axes_are_the_corners_of_the_frame() -> None:
    np.testing.assert_allclose(FRAME.across(np.array([0.0, 40, 80])), [100, 300, 500])
    np.testing.assert_allclose(FRAME.down(np.array([6.0, 7, 8])), [250, 150, 50])


@pytest.mark.parametrize("norms", [[7.0, 7.5, 9.0], [7.0], [6.938932, 6.938934], [0.0, 0.0], [1e-8, 2e-8], [1e6, 2e6]])
def test_the_axis_of_norms_holds_all_of_them_and_is_never_empty(norms: list[float]) -> None:
    low, high = ends_of_norms(np.array(norms))
    assert low < min(norms) <= max(norms) < high
    assert len(set(labels_of(ticks(low, high, 4)))) >= 2


@pytest.mark.parametrize(
    ("ticks", "labels"),
    [
        ([0.0, 10, 20], ["0", "10", "20"]),
        ([19.5958, 19.5959, 19.596], ["19.5958", "19.5959", "19.5960"]),
        ([-1.0, -0.5, 0.0], ["−1.0", "−0.5", "0.0"]),
        ([1e6, 2e6], ["1,000,000", "2,000,000"]),
    ],
)
def test_labels_of_one_axis_have_as_many_decimals(ticks: list[float], labels: list[str]) -> None:
    assert labels_of(ticks) == labels


@pytest.mark.parametrize(("low", "high"), [(0, 80), (0, 8), (6.4, 9.1), (-3, 5), (0, 513), (7.0001, 7.0002)])
def test_ticks_are_round_evenly_apart_and_few(low: float, high: float) -> None:
    found = ticks(low, high, 5)
    assert 2 <= len(found) <= 6
    assert low <= found[0]
    assert found[-1] <= high + 1e-9
    steps = np.diff(found)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    significand = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
    assert min(abs(significand - round_step) for round_step in (1, 2, 5, 10)) < 1e-6


def test_a_point_is_where_it_belongs_and_many_in_one_place_are_darker() -> None:
    image = Image.new("RGB", (200, 100), "white")
    draw_points(image, np.array([50.0, *[150.0] * 30]), np.array([20.0, *[70.0] * 30]), Palette())
    pixels = np.asarray(image).astype(int)
    assert pixels[20, 50].sum() > pixels[70, 150].sum()
    rows, columns = np.nonzero((pixels != 255).any(axis=2))
    assert {(round(columns[columns < 100].mean()), round(rows[columns < 100].mean()))} == {(50, 20)}
    assert {(round(columns[columns > 100].mean()), round(rows[columns > 100].mean()))} == {(150, 70)}
    blue = np.array([int(Palette().points[k : k + 2], 16) for k in (1, 3, 5)])
    assert np.abs(pixels[70, 150] - blue).max() <= 2


def test_points_at_the_edges_are_drawn_too() -> None:
    image = Image.new("RGB", (40, 30), "white")
    draw_points(image, np.array([0.0, 39.0]), np.array([29.0, 0.0]), Palette())
    assert image.getpixel((0, 29)) != image.getpixel((20, 15)) == (255, 255, 255) != image.getpixel((39, 0))


def test_a_line_goes_from_one_end_to_the_other() -> None:
    image = Image.new("RGB", (200, 100), "white")
    draw_line(image, ((20, 80), (180, 10)), "#ff0000")
    pixels = np.asarray(image).astype(int)
    red = (pixels[:, :, 0] == 255) & (pixels[:, :, 1] < 128)
    for x in (21, 60, 100, 140, 179):
        assert np.nonzero(red[:, x])[0].mean() == pytest.approx(80 - (x - 20) * 70 / 160, abs=1)
    assert not red[:, :18].any()
    assert not red[:, 183:].any()
