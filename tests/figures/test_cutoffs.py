import numpy as np
from support.lines import sample

from clsviz.figures import Palette, cutoff_lines
from clsviz.statistics.line import by_cutoff


def test_every_cutoff_has_its_r_squared_with_interval_and_its_slope() -> None:
    lengths, norms = sample(500)
    table = by_cutoff(lengths, lengths, norms)
    figure = cutoff_lines(table, 30, Palette(), unit="word")
    band, r_squared, slope = figure.data
    for line, column in ((r_squared, "r_squared"), (slope, "slope")):
        np.testing.assert_array_equal(line.x, table["length_cutoff"])
        np.testing.assert_array_equal(line.y, table[column])
    np.testing.assert_array_equal(r_squared.customdata, table[["n", "lower", "upper"]])
    assert sorted(band.y) == sorted([*table["lower"], *table["upper"]])
    assert figure.layout.yaxis2.title.text == "Slope per word"
    assert any(shape.x0 == shape.x1 == 30 for shape in figure.layout.shapes)
    assert figure.layout.annotations[0].text == "under 30"


def test_a_cutoff_above_all_sentences_is_marked_where_the_last_is() -> None:
    lengths, norms = sample(500)
    table = by_cutoff(lengths, lengths, norms)
    figure = cutoff_lines(table, 400, Palette())
    assert figure.layout.annotations[0].x == table["length_cutoff"].max()
    assert figure.layout.annotations[0].text == "under 400"
