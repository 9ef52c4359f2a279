import numpy as np
import pytest
from support.figures import PALETTE

from clsviz import figures
from clsviz.figures import Palette

DARK = Palette("#7fb2dd", "#ff6b5e", "#eef2f6", "#ffc53d", "#191919")


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
