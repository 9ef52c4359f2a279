import numpy as np
import pandas as pd
import pytest
from support.figures import PALETTE, PLACEHOLDERS, colours_of

from clsviz import figures

SPANS = [f"{low}–{low + 3}" for low in range(2, 22, 2)]
COSINES = np.linspace(0.1, 0.7, 100).reshape(10, 10)


def test_every_cell_has_its_number_and_says_what_it_is() -> None:
    figure = figures.length_map(COSINES, SPANS, PALETTE, "words")
    cells, targets = figure.data
    np.testing.assert_array_equal(np.asarray(cells.z, float), COSINES)
    assert (cells.zmin, cells.zmax) == pytest.approx((0.1, 0.7))
    assert cells.text[0][0] == ".10"
    assert targets.text[12] == "4–7 and 6–9 words<br>mean cosine 0.172727"
    assert figure.layout.xaxis.title.text == "Words of the one sentence"
    assert list(figure.layout.yaxis.ticktext) == SPANS


@pytest.mark.parametrize(("spread", "text"), [(0.3, ".90"), (0.05, ".900"), (1e-5, ".9000")])
def test_cells_that_are_nearly_alike_have_more_digits(spread: float, text: str) -> None:
    figure = figures.length_map(0.9 + spread * COSINES - spread * 0.1, SPANS, PALETTE)
    assert figure.data[0].text[0][0] == text


def test_long_spans_are_named_at_every_second_cell() -> None:
    assert list(figures.length_map(COSINES, SPANS, PALETTE).layout.xaxis.ticktext) == SPANS[::2]
    short = [f"{low}–{low + 1}" for low in range(10)]
    assert list(figures.length_map(COSINES, short, PALETTE).layout.xaxis.ticktext) == short


def test_remedies_are_bars_over_the_band_of_chance() -> None:
    table = pd.DataFrame(
        {"name": ["As it is", "Centred", "Words"], "correlation": [0.5, np.nan, -0.1], "is_baseline": [0, 0, 1]}
    )
    figure = figures.remedy_bars(table, PALETTE, 0.03)
    (bars,) = figure.data
    assert dict(zip(bars.y, bars.x, strict=True)) == {"As it is": 0.5, "Centred": 0, "Words": -0.1}
    assert dict(zip(bars.y, bars.text, strict=True))["Centred"].strip() == "–"
    (band,) = figure.layout.shapes
    assert (band.x0, band.x1) == (-0.03, 0.03)
    low, high = figure.layout.xaxis.range
    assert low < -0.1
    assert high > 0.5


def test_joined_texts_are_three_lines_and_three_of_words() -> None:
    table = pd.DataFrame({"sentences": [1, 2, 4, 8], "tokens": [10, 20, 40, 80]})
    for kind in ("cosine", "tfidf"):
        for key in ("own_first_sentence", "another_text", "another_sentence"):
            table[f"{kind}_with_{key}"] = np.linspace(0.1, 0.4, 4)
    figure = figures.joined(table, PLACEHOLDERS)
    assert len(figure.data) == 6
    assert [line.name for line in figure.data if line.showlegend] == [
        "its own first sentence",
        "another such text",
        "another single sentence",
    ]
    assert colours_of(figure) == {PLACEHOLDERS.points, PLACEHOLDERS.line, PLACEHOLDERS.summary}
