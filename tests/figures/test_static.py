import io

import numpy as np
import pytest
from PIL import Image

from clsviz.figures.static import Lines, Scatter, image

RED = (214, 39, 40)


def pixels(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as drawn:
        assert (drawn.format, drawn.size) == ("PNG", (1200, 630))
        return np.asarray(drawn.convert("RGB")).astype(int)


def is_near(drawn: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    return np.abs(drawn - colour).max(axis=2) < 24


def scatter(lengths: object, norms: object, line: tuple[float, float] | None = None) -> Scatter:
    lengths, norms = np.array(lengths, np.int32), np.array(norms, np.float32)
    return Scatter(lengths, norms, "Length", "Norm", line, 0.5 if line else None)


def test_the_line_is_where_least_squares_puts_it() -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(3, 80, 3000)
    norms = 7 + 0.01 * lengths + random.normal(0, 0.3, 3000)
    slope, intercept = np.polyfit(lengths, norms, 1)
    drawn = pixels(image(scatter(lengths, norms, (intercept, slope)), "Is it so?", "Yes."))
    red = is_near(drawn, RED)
    red[:250, 900:] = False  # R² is written there
    columns = np.flatnonzero(red.any(axis=0))
    heights = [np.flatnonzero(red[:, column]).mean() for column in columns]
    straight = np.polynomial.Polynomial.fit(columns, heights, 1)
    assert np.abs(straight(columns) - heights).max() < 1.5
    grid = np.flatnonzero((np.abs(drawn - (227, 231, 236)).max(axis=2) < 3).sum(axis=1) > 300)
    rows = [row for row in grid if row - 1 not in grid]
    step = np.diff(rows).mean()  # between labelled norms, which are half apart
    at_ends = intercept + slope * np.array([lengths.min(), lengths.max()])
    rise = (heights[0] - heights[-1]) / step * 0.5
    assert rise == pytest.approx(at_ends[1] - at_ends[0], rel=0.05)


@pytest.mark.parametrize(
    ("lengths", "norms"),
    [
        ([5], [7.0]),
        ([5, 5, 5], [7.0, 7.5, 8.0]),
        ([1, 2, 3], [6.9, 6.9, 6.9]),
        ([1, 2, 512], [1e-6, 2e-6, 1e6]),
        (range(1, 20_001), np.linspace(3, 9, 20_000)),
    ],
)
def test_whatever_was_measured_can_be_drawn(lengths: list[int], norms: list[float]) -> None:
    assert (pixels(image(scatter(lengths, norms), "Is it so?")) != 255).any()


@pytest.mark.parametrize(
    "text", ["", "x" * 5000, "word " * 500, "\N{SNOWMAN}\u202e\x00\n<b> $\\frac{", "نص ‏ 漢字"], ids=range(5)
)
def test_text_of_any_kind_stays_in_the_picture(text: str) -> None:
    drawn = pixels(image(None, text, text, "clsviz"))
    assert (drawn[:, :50] == 255).all()
    assert (drawn[:, -40:] == 255).all()
    assert (drawn[260:560] == 255).all()


def test_errors_are_drawn_as_high_as_they_are_with_names_apart() -> None:
    values = np.array([np.nan, 2.0, 4.0])
    lines = Lines({"vector": values, "its norm": values + 0.1}, "Misses by", ("guessing", 8.0))
    drawn = pixels(image(lines, "Is it so?"))
    blue = np.flatnonzero(is_near(drawn, (76, 125, 168))[:, 110:960].any(axis=1))
    grid = np.flatnonzero((np.abs(drawn - (227, 231, 236)).max(axis=2) < 3).sum(axis=1) > 300)
    rows = [row for row in grid if row - 1 not in grid]  # of 1 to 8: that of 0 is thinner
    assert len(rows) == 8
    step = (rows[-1] - rows[0]) / 7
    assert (blue.max() - blue.min()) / step == pytest.approx(2, abs=0.5)  # with the points at the ends
    assert (rows[-1] - blue.max()) / step == pytest.approx(1, abs=0.3)  # 2 is as far above 1 as that is above 0
    names = [np.flatnonzero(is_near(drawn, colour)[:, 980:].any(axis=1)) for colour in ((76, 125, 168), RED)]
    assert names[1].max() < names[0].min()  # that of the higher line is above


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_files_of_other_kinds(kind: str, start: bytes) -> None:
    assert image(scatter([3, 4, 5], [7, 8, 9]), "Is it so?", kind=kind).startswith(start)
