"""Figures of probes, by their data."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clsviz.figures import DRAW, lines
from clsviz.figures.image import png
from clsviz.figures.style import LABEL_SIZE
from clsviz.results.result import Result

NAN = np.nan


def result_of(**changes: Any) -> Result:
    """A result of kind probes: two layers, mean and pooler, with random weights."""
    columns = {
        "vector": ["cls", "cls", "cls", "mean", "pooler"],
        "layer": [0, 1, 2, 2, 2],
        "probe_r_squared": [NAN, 0.98, 0.5, 0.52, -0.01],
        "probe_error": [NAN, 0.6, 4.3, 4.25, 4.35],
        "norm_r_squared": [NAN, 0.4, 0.02, 0.6, 0.01],
        "norm_error": [NAN, 4.9, 6.5, 3.6, 6.6],
        "random_low": [NAN, 1.2, 1.3, NAN, NAN],
        "random_high": [NAN, 1.4, 1.5, NAN, NAN],
    }
    table = pd.DataFrame(columns | changes)
    return Result("probes", "Where?", "There.", table, picture={"guess": 6.6, "unit": "tokens"})


def trace(figure: Any, name: str) -> Any:
    (one,) = [one for one in figure.data if one.name == name]
    return one


def test_lines_are_the_errors_of_the_layers() -> None:
    result = result_of()
    figure = DRAW["probes"](result)
    vector, norm = trace(figure, "[CLS] vector"), trace(figure, "its norm")
    np.testing.assert_allclose(vector.y, result.table["probe_error"][:3], rtol=1e-6)
    np.testing.assert_allclose(norm.y, result.table["norm_error"][:3], rtol=1e-6)
    assert vector.x.tolist() == [0, 1, 2]
    assert figure.layout.shapes[0].y0 == 6.6


def test_a_point_knows_its_row_and_says_what_it_is() -> None:
    pooler = trace(lines.probes(result_of()), "pooler output")
    assert pooler.customdata.tolist() == [4]
    assert pooler.text[0] == "pooler output, layer 2<br><b>misses by 4.3 tokens, R² below 0</b>"


def test_random_weights_are_a_band() -> None:
    band = trace(lines.probes(result_of()), "random weights")
    assert band.x.tolist() == [1, 2, 2, 1]
    np.testing.assert_allclose(band.y, [1.4, 1.5, 1.3, 1.2], rtol=1e-6)
    without = lines.probes(result_of(random_low=NAN, random_high=NAN))
    assert "random weights" not in [one.name for one in without.data]


def test_labels_do_not_overlap_at_the_last_layer() -> None:
    layout = lines.probes(result_of()).layout
    low, high = layout.yaxis.autorangeoptions.minallowed, layout.yaxis.autorangeoptions.maxallowed
    notes = [note for note in layout.annotations if note.xanchor == "right"]
    heights = sorted(note.y * 330 / (high - low) + note.yshift for note in notes)
    assert {note.text for note in notes} == {"mean-pooled", "pooler output", "random weights"}
    assert all(b - a > LABEL_SIZE for a, b in itertools.pairwise(heights))


@pytest.mark.parametrize("changes", [{}, dict.fromkeys(["probe_error", "norm_error"], NAN)])
def test_the_picture_is_saved_even_without_errors(changes: dict[str, float]) -> None:
    result = result_of(**changes)
    assert png(lines.probes(result)).startswith(b"\x89PNG")
