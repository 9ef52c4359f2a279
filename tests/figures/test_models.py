import numpy as np
import pandas as pd
import pytest

from clsviz.figures.models import models
from clsviz.results.result import Result

TABLE = pd.DataFrame(
    {
        "label": ["A <b>", "B"],
        "corpus": ["c", "c"],
        "unit": "tokens",
        "recall_at_10": [0.95, 0.91],
        "recall_at_10_low": [0.93, 0.89],
        "recall_at_10_high": [0.97, 0.93],
        "last_probe_error": [2.1, np.nan],
        "last_probe_error_low": [2.0, np.nan],
        "last_probe_error_high": [2.2, np.nan],
        "r_squared": np.nan,
        "r_squared_low": np.nan,
        "r_squared_high": np.nan,
    }
)


def draw(table):
    return models(Result("models", "Which?", "A.", table))


def test_a_model_has_a_point_with_its_interval_wherever_it_has_a_number():
    traces = draw(TABLE).data
    points = [(trace.xaxis, trace.x[0], trace.y[0]) for trace in traces if trace.mode == "markers"]
    assert points == [("x", 0.95, 0), ("x", 0.91, 1), ("x2", 2.1, 0)]
    lines = [list(trace.x) for trace in traces if trace.mode == "lines"]
    assert lines == [[0.93, 0.97], [0.89, 0.93], [2.0, 2.2]]


def test_names_and_numbers_stand_next_to_points():
    texts = [label.text for label in draw(TABLE).layout.annotations]
    assert {"A &lt;b&gt;", "B", "95%", "91%", "2.1", "undefined"} <= set(texts)
    assert "Probe misses<br>by (tokens)" in texts


@pytest.mark.parametrize("corpora", [["c", "c"], ["c", "d"]])
def test_rows_are_named_by_their_corpus_where_there_are_several(corpora):
    texts = [label.text for label in draw(TABLE.assign(corpus=corpora)).layout.annotations]
    assert ("B · d" in texts) == (corpora[1] == "d")
