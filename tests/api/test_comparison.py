import json

import numpy as np
import pytest

import clsviz


def test_the_table_has_the_numbers_of_each_model(compared: clsviz.Comparison, result: clsviz.NormResult) -> None:
    table = compared.table()
    assert len(compared) == len(table) == 2
    assert table["label"].tolist() == ["tiny-bert", "untrained tiny-bert"]
    alone = result.fit(length_cutoff=80)
    assert table["r_squared"][0] == alone.r_squared == compared.fit(table["model"][0]).r_squared
    assert table["n_sentences"].tolist() == [alone.n, alone.n]
    json.dumps(compared.summary(), allow_nan=False)


def test_a_view_is_taken_by_fit_and_by_plot(compared: clsviz.Comparison, result: clsviz.NormResult) -> None:
    model = compared.rows[0].model
    assert compared.fit(model, layer=2, length_cutoff=15).slope == result.fit(layer=2, length_cutoff=15).slope
    figure = compared.plot(layer=2, length_cutoff=15)
    table = result.table()
    used = table[table["n_tokens"] < 15]
    points = next(trace for trace in figure.data if trace.mode == "markers")
    np.testing.assert_allclose(points.y, used["cls_2"])
    assert {annotation.text for annotation in figure.layout.annotations} >= {"tiny-bert"}


def test_the_notebook_shows_a_row_for_each_model(compared: clsviz.Comparison) -> None:
    shown = compared._repr_html_()
    assert "<td>untrained tiny-bert</td>" in shown
    assert f"{compared.table()['r_squared'][0]:.3f}" in shown
    assert compared.answer in repr(compared)
    assert compared.tokenizers in compared.answer
    assert "the same number of tokens" in compared.tokenizers


def test_models_that_cannot_be_compared_are_an_error_of_ours(compared: clsviz.Comparison) -> None:
    for models in ([], ["minilm"], ["minilm"] * 2, "minilm", list("abcdefg")):
        with pytest.raises(clsviz.ClsvizError, match="2 to 6 different"):
            clsviz.compare(models)
    with pytest.raises(clsviz.ClsvizError, match="not compared here"):
        compared.fit("minilm")
