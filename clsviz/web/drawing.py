"""The picture of a link: the question, the answer, and the scatter with its line, drawn without a browser."""

import functools
import io
import re
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from clsviz import words
from clsviz.experiment import Experiment
from clsviz.figures import Palette
from clsviz.ui.state import serving
from clsviz.web import plot
from clsviz.web.links import SIZE
from clsviz.web.preview import Preview, Scatter

WIDTH, HEIGHT = SIZE

_MARGIN = 56
_BOTTOM = HEIGHT - 78
"""Of the scatter; its title is below."""
_BRAND = "#5c7f9f"
_MOST_LINES = 2
_MOST_CHARACTERS = 300
"""Of a text; two lines hardly hold more."""

_ICON = ((6, 9), (10, 16), (15, 8), (18, 22), (23, 12), (27, 24)), ((3, 12), (29, 19))
"""The points and the line of icon.svg, in a square of 32."""


def draw(preview: Preview) -> bytes:
    """The picture, as a PNG of SIZE."""
    palette = Palette()
    image = Image.new("RGB", SIZE, palette.background)
    y = _write(image, preview.question, 40, (44, 38, 32), 700, palette)
    said = preview.answer or ("" if preview.scatter else words.sharing.TO_MEASURE)
    y = _write(image, said, y + 8, (27, 23), 400, palette)
    ImageDraw.Draw(image).text((WIDTH - _MARGIN, HEIGHT - 24), words.sharing.SITE, _BRAND, _font(26, 700), anchor="rs")
    if preview.scatter is None:
        _draw_icon(image, (WIDTH - 272) // 2, round(y) + 40, 8.5, palette)
    else:
        _draw_scatter(image, preview.scatter, preview.experiment, y + 34, palette)
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def frame_of(scatter: Scatter, top: float) -> plot.Frame:
    """Where the scatter is drawn, below `top`."""
    norms = plot.ends_of_norms(scatter.norms.astype(float))
    widest = max(map(_font(19, 400).getlength, plot.labels_of(plot.ticks(*norms, 4))))
    ends = 0.0, float(scatter.lengths.max()) + 1
    return plot.Frame(round(86 + widest), round(top), WIDTH - _MARGIN, _BOTTOM, ends, norms)


def _draw_scatter(image: Image.Image, scatter: Scatter, asked: Experiment, top: float, palette: Palette) -> None:
    frame = frame_of(scatter, top)
    titles = words.length_title(asked.view), words.axis_title(asked)
    plot.draw_axes(image, frame, titles, _font(19, 400), _font(21, 400))
    across, down = frame.across(scatter.lengths.astype(float)), frame.down(scatter.norms.astype(float))
    plot.draw_points(image, across, down, palette)
    if scatter.r_squared is None:
        return
    line = np.polynomial.Polynomial.fit(across, down, 1)
    ends = np.array([across.min(), across.max()])
    start, end = zip(ends.tolist(), line(ends).tolist(), strict=True)
    plot.draw_line(image, (start, end), palette.line)
    on, place, label = ImageDraw.Draw(image), (frame.right - 8, frame.top + 6), f"R² {scatter.r_squared:.3f}"
    left, above, right, below = on.textbbox(place, label, _font(26, 700), anchor="rt")
    on.rectangle((left - 8, above - 6, right + 8, below + 6), palette.background)
    on.text(place, label, palette.line, _font(26, 700), anchor="rt")


def _draw_icon(image: Image.Image, left: int, top: int, scale: float, palette: Palette) -> None:
    """The icon of the pages, each of its 32 units so many pixels; its edges are smooth, as it is drawn larger."""
    unit, size = 4 * scale, round(32 * scale)
    icon = Image.new("RGB", (4 * size, 4 * size), palette.background)
    on, (points, (start, end)) = ImageDraw.Draw(icon), _ICON
    for x, y in points:
        on.circle((x * unit, y * unit), 2.5 * unit, palette.points)
    on.line([(x * unit, y * unit) for x, y in (start, end)], palette.line, round(2.5 * unit))
    for x, y in (start, end):
        on.circle((x * unit, y * unit), 1.25 * unit, palette.line)
    image.paste(icon.resize((size, size), Image.Resampling.BOX), (left, top))


def _write(image: Image.Image, text: str, y: float, sizes: Sequence[int], weight: int, palette: Palette) -> float:
    """Write text from y on, as large as it fits into _MOST_LINES lines, cut where it never does; where it ends."""
    text = "".join(character if character.isprintable() else " " for character in text[:_MOST_CHARACTERS])
    for size in sizes:
        font = _font(size, weight)
        lines = _lines(text, font)
        if len(lines) <= _MOST_LINES:
            break
    else:
        lines = lines[:_MOST_LINES]
        while not _fits(f"{lines[-1]}…", font):
            lines[-1] = lines[-1][:-1]
        lines[-1] += "…"
    for line in lines:
        ImageDraw.Draw(image).text((_MARGIN, y), line, palette.summary, font)
        y += 1.3 * size
    return y


def _lines(text: str, font: plot.Font) -> list[str]:
    """Text broken between words, at the signs in a model's name, and inside what is wider than a line."""
    lines = [""]
    for piece in re.findall(r"[^\s/_-]*[\s/_-]*", " ".join(text.split())):
        for part in [piece] if _fits(piece, font) else piece:
            if not _fits(lines[-1] + part.rstrip(), font):
                lines.append("")
            lines[-1] += part
    return lines


def _fits(line: str, font: plot.Font) -> bool:
    return font.getlength(line) <= WIDTH - 2 * _MARGIN


@functools.cache
def _font(size: int, weight: int) -> plot.Font:
    """The font of the pages; Pillow's own, which has fewer characters, where Streamlit no longer brings it."""
    path = serving.font()
    if path is None:
        return ImageFont.load_default(size)
    font = ImageFont.truetype(io.BytesIO(path.read_bytes()), size)
    font.set_variation_by_axes([weight])
    return font
