"""A scatter with its line, drawn into an image."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from clsviz.figures import Palette

QUIET = "#5b6470"
_GRID = "#e3e7ec"

_RADIUS = 3.2
"""Of a point, in pixels."""

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """Where the axes are in the image, in pixels, and what their ends mean."""

    left: float
    top: float
    right: float
    bottom: float
    lengths: tuple[float, float]
    norms: tuple[float, float]

    def across(self, lengths: Floats) -> Floats:
        """Where lengths are, from the left of the image."""
        low, high = self.lengths
        return self.left + (lengths - low) / (high - low) * (self.right - self.left)

    def down(self, norms: Floats) -> Floats:
        """Where norms are, from the top of the image."""
        low, high = self.norms
        return self.bottom - (norms - low) / (high - low) * (self.bottom - self.top)


def ends_of_norms(norms: Floats) -> tuple[float, float]:
    """Where the axis begins and ends: with some room, and never so near that rounding errors show."""
    low, high = float(norms.min()), float(norms.max())
    room = max(0.05 * (high - low), 1e-5 * abs(high), 1e-9)
    return low - room, high + room


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from low to high, about that many at most."""
    rough = (high - low) / most
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [round(n * step, 12) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def draw_axes(image: Image.Image, frame: Frame, titles: tuple[str, str], label: Font, title: Font) -> None:
    """The grid, the labels, and the titles of both axes: of the lengths, and of the norms."""
    on = ImageDraw.Draw(image)
    of_norms, of_lengths = ticks(*frame.norms, 4), ticks(*frame.lengths, 9)
    for text, at in zip(labels_of(of_norms), frame.down(np.array(of_norms)).tolist(), strict=True):
        on.line([(frame.left, at), (frame.right, at)], _GRID, 1)
        on.text((frame.left - 10, at), text, QUIET, label, anchor="rm")
    for text, at in zip(labels_of(of_lengths), frame.across(np.array(of_lengths)).tolist(), strict=True):
        on.text((at, frame.bottom + 8), text, QUIET, label, anchor="mt")
    on.text(((frame.left + frame.right) / 2, frame.bottom + 36), titles[0], QUIET, title, anchor="mt")
    upright = Image.new("L", (round(frame.bottom - frame.top) + 80, 30))
    ImageDraw.Draw(upright).text((upright.width / 2, 4), titles[1], 255, title, anchor="mt")
    place = 34, round((frame.top + frame.bottom - upright.width) / 2)
    image.paste(QUIET, place, upright.transpose(Image.Transpose.ROTATE_90))


def labels_of(ticks: list[float]) -> list[str]:
    """Ticks in writing, each with as many decimals as the one that needs most."""
    decimals = max(len(f"{tick:.12f}".rstrip("0").partition(".")[2]) for tick in ticks)
    return [f"{tick:,.{decimals}f}".replace("-", "−") for tick in ticks]


def draw_points(image: Image.Image, across: Floats, down: Floats, palette: Palette) -> None:
    """Let each point cover a little of what is below it, so that many in one place are darker than one."""
    opacity = float(np.clip(20 / max(len(across), 1) ** 0.5, 0.08, 0.7))
    reach = math.ceil(_RADIUS) + 1
    counts = np.zeros((image.height + 2 * reach, image.width + 2 * reach), np.float32)
    np.add.at(counts, (np.round(down).astype(np.intp) + reach, np.round(across).astype(np.intp) + reach), 1)
    seen_through = np.zeros_like(counts)  # the logarithm of how much of the ground is seen
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            covers = min(max(_RADIUS + 0.5 - math.hypot(dx, dy), 0), 1) * opacity
            if covers:
                seen_through += np.roll(counts, (dy, dx), (0, 1)) * np.float32(math.log1p(-covers))
    covered = 1 - np.exp(seen_through[reach:-reach, reach:-reach])
    image.paste(palette.points, (0, 0), Image.fromarray(np.round(255 * covered).astype(np.uint8)))


def draw_line(image: Image.Image, ends: tuple[tuple[float, float], tuple[float, float]], colour: str) -> None:
    """A line with smooth edges: it is drawn four times as large."""
    mask = Image.new("L", (4 * image.width, 4 * image.height))
    ImageDraw.Draw(mask).line([(4 * x + 2, 4 * y + 2) for x, y in ends], 255, 16)
    image.paste(colour, (0, 0), mask.resize(image.size, Image.Resampling.BOX))
