import json
from pathlib import Path

import numpy as np
import pytest

import clsviz


@pytest.fixture(scope="module")
def searched(tiny_folder: Path, text_file: Path, api_store: Path) -> clsviz.SimilarityResult:
    return clsviz.similarity(str(tiny_folder), text_file, n=200, store=api_store, pooling="mean", layer=1)


def test_the_result_tabulates_plots_and_answers(searched: clsviz.SimilarityResult) -> None:
    table, cells = searched.table(), searched.similarity.bias.cosine_by_length
    np.testing.assert_array_equal(table["cosine"].to_numpy().reshape(10, 10), cells)
    np.testing.assert_array_equal(np.asarray(searched.plot().data[0].z, float), cells)
    assert len(searched.neighbors()) == len(searched)
    assert set(searched.remedies()["vector"]) == {"Mean", "[CLS]", "Pooler output", "Shared words (tf-idf)"}
    assert searched.answer in repr(searched)
    shown = searched._repr_html_()
    assert "Does length bend my search?" in shown
    assert f"{searched.similarity.bias.neighbour_correlation:.2f}" in shown
    assert json.loads(json.dumps(searched.summary(), allow_nan=False))["layer"] == 1
    assert searched.notes == []


def test_texts_too_long_for_the_model_are_no_error(searched: clsviz.SimilarityResult) -> None:
    """Four sentences mostly have more than the 62 tokens that the tiny model reads."""
    assert [row.n_sentences for row in searched.joined] == [1, 2]
    assert searched.joined_problem == ""
    assert 10 <= searched.joined[0].n <= 25
