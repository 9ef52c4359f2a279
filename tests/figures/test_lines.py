"""Figures of probes, by their data."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clsviz.figures import lines
from clsviz.figures.image import render
from clsviz.figures.style import LABEL_SIZE
from clsviz.results.result import Result

NAN = np.nan


def result_of(**changes: Any) -> Result:
    """A result of kind probes: three layers, mean and pooler, with random weights."""
    columns = {
        "vector": ["cls", "cls", "cls", "mean", "pooler"],
        "layer": [0, 1, 2, 2, 2],
        "probe_r_squared": [NAN, 0.98, 0.5, 0.52, -0.01],
        "probe_error": [NAN, 0.6, 4.3, 4.25, 4.35],
        "norm_r_squared": [NAN, 0.4, 0.02, 0.6, 0.01],
        "norm_error": [NAN, 4.9, 6.5, 3.6, 6.6],
        "is_nearly_constant": [None, True, False, False, False],
        "random_low": [NAN, 1.2, 1.3, NAN, NAN],
        "random_high": [NAN, 1.4, 1.5, NAN, NAN],
    }
    table = pd.DataFrame(columns | changes)
    return Result("probes", "Where?", "There.", table, picture={"guess": 6.6, "unit": "tokens"})


def traces(result: Result) -> dict[str, Any]:
    return {trace.name: trace for trace in lines.probes(result).data}


def test_lines_are_the_errors_of_the_layers() -> None:
    result = result_of()
    drawn, table = traces(result), result.table
    for name, column in (("[CLS] vector", "probe_error"), ("its norm", "norm_error")):
        np.testing.assert_allclose(drawn[name].y, table[column][:3], rtol=1e-6)
        assert drawn[name].x.tolist() == [0, 1, 2]
    assert drawn["its norm"].text[1].startswith("its norm, layer 1, nearly constant<br>")
    assert list(drawn["guessing"].y) == [6.6, 6.6]
    pooler = drawn["pooler output"]
    assert pooler.customdata.tolist() == [4]
    assert pooler.text[0] == "pooler output, layer 2<br><b>misses by 4.3 tokens, R² below 0</b>"


def test_random_weights_are_a_band() -> None:
    band = traces(result_of())["random weights"]
    assert band.x.tolist() == [1, 2, 2, 1]
    np.testing.assert_allclose(band.y, [1.4, 1.5, 1.3, 1.2], rtol=1e-6)
    assert "random weights" not in traces(result_of(random_low=NAN, random_high=NAN))


def test_recall_is_a_line_below_with_the_names_of_its_ends() -> None:
    recalls = {"recall_at_10": [0.01, 0.1, 0.5, 0.6, 0.4]}
    ends = {f"recall_at_10_{end}": recalls["recall_at_10"] for end in ("low", "high")}
    figure = lines.probes(result_of(**recalls, **ends))
    below = {line.name: list(line.y) for line in figure.data if line.yaxis == "y2" and line.text}
    assert below["[CLS] vector"] == pytest.approx([0.01, 0.1, 0.5])
    assert below.keys() == {label.text for label in figure.layout.annotations if label.yref == "y2"}


def test_labels_overlap_neither_each_other_nor_a_line_on_a_phone() -> None:
    layers = pd.DataFrame(
        {
            "vector": "cls",
            "layer": range(7),
            "probe_error": [NAN, 0.6, 1.0, 1.0, 1.1, 1.4, 4.3],
            "norm_error": [NAN, 4.9, 5.6, 5.6, 6.0, 5.4, 6.5],
            "is_nearly_constant": False,
            "random_low": 1.35,
            "random_high": 1.4,
        }
    )
    points = result_of().table[3:].assign(layer=6)
    figure = lines.probes(result_of(**pd.concat([layers, points]).reset_index()))
    scale = 330 / figure.layout.yaxis.autorangeoptions.maxallowed
    boxes = []
    for note in figure.layout.annotations:
        width = (10 + 0.6 * LABEL_SIZE * len(note.text)) * 6.36 / 300
        begin = note.x - width * (note.xanchor == "right")
        boxes.append((begin, begin + width, note.y * scale + note.yshift))
        assert begin >= max(max(line.x) for line in figure.data), note.text
    assert len(boxes) == 6
    for (begin, end, y), (other_begin, other_end, other_y) in itertools.combinations(boxes, 2):
        assert end < other_begin or other_end < begin or abs(y - other_y) > LABEL_SIZE


def test_the_picture_is_saved_even_without_errors() -> None:
    assert render(lines.probes(result_of(probe_error=NAN, norm_error=NAN))).startswith(b"\x89PNG")
