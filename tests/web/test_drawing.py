import io

import numpy as np
import pytest
from PIL import Image

from clsviz.experiment import Experiment
from clsviz.ui.state import serving
from clsviz.web import drawing
from clsviz.web.preview import Preview, Previews, Scatter

RED = (214, 39, 40)


def pixels(content: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(content)) as image:
        assert (image.format, image.size) == ("PNG", (1200, 630))
        return np.asarray(image.convert("RGB")).astype(int)


def is_near(image: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    return np.abs(image - colour).max(axis=2) < 24


def preview(scatter: Scatter | None, question: str = "Is it so?", answer: str = "Yes.") -> Preview:
    return Preview(Experiment(), question, answer, scatter)


def test_the_line_is_where_least_squares_puts_it() -> None:
    shown = Previews().of("", {})
    assert shown.scatter is not None
    lengths, norms = shown.scatter.lengths.astype(float), shown.scatter.norms.astype(float)
    design = np.stack([np.ones_like(lengths), lengths], axis=1)
    intercept, slope = np.linalg.lstsq(design, norms, rcond=None)[0]
    image = pixels(drawing.draw(shown))
    # The frame is found in the picture itself: the grid is drawn at whole norms.
    grid = (image == (227, 231, 236)).all(axis=2)
    (nine, eight, seven) = np.nonzero(grid.sum(axis=1) > 500)[0]
    assert eight - nine == pytest.approx(seven - eight, abs=1)
    left, right = np.nonzero(grid[[eight, seven]].all(axis=0))[0][[0, -1]]
    red = is_near(image, RED)
    red[: nine + 45, right - 200 :] = False  # R² is written there
    for length in (5, 20, 40, 60, 75):
        x = round(left + length / (lengths.max() + 1) * (right - left))
        y = np.nonzero(red[:, x])[0].mean()
        assert 7 + (seven - y) / (seven - eight) == pytest.approx(intercept + slope * length, abs=0.02)


def test_it_has_the_points_and_nothing_over_the_text() -> None:
    image = pixels(drawing.draw(Previews().of("", {})))
    blue = image[:, :, 2] - image[:, :, 0] > 25  # more than that of the text, which is nearly black
    assert blue[270:560, 60:1150].sum() > 5_000
    assert not blue[:230].any()


def test_without_points_it_still_says_what_is_asked() -> None:
    image = pixels(drawing.draw(preview(None, answer="")))
    assert is_near(image, (39, 49, 63))[:120].any()  # the question
    assert is_near(image, RED)[200:600].sum() > 1000  # the icon


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
    scatter = Scatter(np.array(lengths, np.int32), np.array(norms, np.float32), None)
    assert (pixels(drawing.draw(preview(scatter))) != 255).any()


def test_a_long_question_is_smaller_and_one_that_never_fits_is_cut() -> None:
    def heights(question: str) -> int:
        ink = is_near(pixels(drawing.draw(preview(None, question, answer=""))), (39, 49, 63))
        return int(np.nonzero(ink[:200, 60:1140].any(axis=1))[0].max())

    name = "owner/a-model-with-a-long-name-v3-large-uncased"
    short, long = (
        f"Is it {'so, ' * 20}?",
        f"Does {name} encode the length of a sentence in the norm of its [CLS] after layer 3?",
    )
    assert heights(long) < heights(short)  # both take two lines
    assert heights("so " * 100) == heights("so " * 90)


@pytest.mark.parametrize(
    "text", ["", "x" * 5000, "word " * 500, "\N{SNOWMAN}\u202e\x00\n<b>", "نص ‏ 漢字"], ids=range(5)
)
def test_text_of_any_kind_stays_in_the_picture(text: str) -> None:
    image = pixels(drawing.draw(preview(None, question=text, answer=text)))
    assert (image[:, :50] == 255).all()
    assert (image[:, -50:] == 255).all()


def test_without_streamlits_font_there_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "font", lambda: None)
    drawing._font.cache_clear()
    try:
        image = pixels(drawing.draw(Previews().of("", {})))
        assert is_near(image, (39, 49, 63))[:120].any()
    finally:
        drawing._font.cache_clear()
