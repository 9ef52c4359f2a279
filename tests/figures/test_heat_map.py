import numpy as np
import pytest
from support.figures import PALETTE

from clsviz import figures
from clsviz.figures import Palette

DARK = Palette("#7fb2dd", "#ff6b5e", "#eef2f6", "#ffc53d", "#191919")


def test_a_heat_map_shows_numbers_and_leaves_the_undefined_blank() -> None:
    values = np.array([[np.nan, 0.987, -0.041], [0.2, 1, 0.5]])
    figure = figures.heat_map(values, ["[CLS]", "mean of tokens"], ["0", "1", "2"], PALETTE)
    cells, targets = figure.data
    np.testing.assert_array_equal(cells.z, values)
    assert np.array(cells.text).tolist() == [["", ".99", "−.04"], [".20", "1.00", ".50"]]
    assert (cells.zmin, cells.zmax) == (0, 1)
    np.testing.assert_array_equal(targets.customdata, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])
    assert targets.text[0] == "[CLS]<br>layer 0<br>undefined"
    assert targets.text[2] == "[CLS]<br>layer 2<br>−0.04"
    assert list(figure.layout.yaxis.ticktext) == ["[CLS]", "mean<br>of tokens"]


def test_a_click_anywhere_in_a_cell_selects_its_point_and_changes_no_colour() -> None:
    cells, targets = figures.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE).data
    assert cells.hoverinfo == "skip"
    assert targets.type == "scatter"
    assert targets.marker.opacity == targets.selected.marker.opacity == targets.unselected.marker.opacity == 0
    for x, y, (row, column) in zip(targets.x, targets.y, targets.customdata, strict=True):
        assert (x, y) == (column, row)
    layout = figures.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE).layout
    assert layout.hoverdistance == -1
    assert layout.xaxis.fixedrange
    assert list(layout.yaxis.range) == [1.5, -0.5]  # the first row above


def test_the_marked_cell_has_a_frame() -> None:
    (frame,) = figures.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE, marked=(1, 2)).layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)
    assert not figures.heat_map(np.ones((2, 3)), ["a", "b"], ["0", "1", "2"], PALETTE).layout.shapes


def test_numbers_that_a_phone_has_no_room_for_are_made_smaller() -> None:
    few, many = (figures.heat_map(np.full((1, n), 0.5), ["a"], [str(at) for at in range(n)], PALETTE) for n in (13, 25))
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
    cells = figures.heat_map(np.ones((1, 1)), ["a"], ["0"], palette).data[0]
    text, ground = luminance(rgb(cells.textfont.color)), rgb(palette.background)
    for _, colour in cells.colorscale:
        opacity = int(colour[7:], 16) / 255
        cell = luminance(opacity * rgb(colour[:7]) + (1 - opacity) * ground)
        lighter, darker = max(cell, text), min(cell, text)
        assert (lighter + 0.05) / (darker + 0.05) > 4.5
