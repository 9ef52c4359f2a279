"""[CLS] on its way through a model, against what numpy alone makes of it."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.tiny import write_model

from clsviz import analysis, export, words
from clsviz.encoder import Encoder
from clsviz.sources import models


@pytest.fixture(scope="module")
def albert(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = write_model(tmp_path_factory.mktemp("models"), "albert")
    return Encoder(models.find(str(folder)), device="cpu")


def test_the_table_has_one_row_per_dimension_and_survives_as_a_file(albert: Encoder) -> None:
    cls, _ = albert.cls_and_pooler(["the cat"])
    check = analysis.typed.check(albert, "the cat")
    table = analysis.typed.dimension_table(albert.anatomy, check)
    assert table.columns.tolist() == ["component", "input_embedding", "cls", "expected", "pooler"]
    read = pd.read_csv(io.BytesIO(export.to_csv(table)))
    assert read["input_embedding"].notna().sum() == 8  # ALBERT's words are narrower than its layers
    np.testing.assert_allclose(read["pooler"], read["expected"], atol=1e-6)
    np.testing.assert_allclose(read["cls"], cls[0], rtol=1e-6)
    stored = pq.read_table(io.BytesIO(export.to_parquet(table, {"model": "albert"})))
    assert json.loads(stored.schema.metadata[b"clsviz"]) == {"model": "albert"}


def test_one_sentence_is_measured_as_the_encoder_measures_it(tiny_encoder: Encoder) -> None:
    check = analysis.typed.check(tiny_encoder, "the cat sat")
    measured = tiny_encoder.measure(["the cat sat"])
    assert [token for token, _ in check.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    np.testing.assert_allclose([of.norm for of in check.layers], measured.cls_norms[0], rtol=1e-6)
    assert np.linalg.norm(check.pooler) == pytest.approx(float(measured.pooler_norms[0, 0]), rel=1e-5)
    error = analysis.typed.largest_error(tiny_encoder.anatomy, check)
    assert error is not None
    assert error < analysis.typed.TOLERANCE


def test_the_norm_follows_from_the_direction_where_a_layer_norm_made_the_vector(tiny_encoder: Encoder) -> None:
    for sentence in ("the cat sat", "a", "the big old red cat ran home very quickly"):
        check = analysis.typed.check(tiny_encoder, sentence)
        table = analysis.typed.norm_table(check)
        np.testing.assert_allclose(table["from_direction"], tiny_encoder.measure([sentence]).cls_norms[0], rtol=1e-5)
        assert np.abs(table["difference"]).max() < 1e-4
        is_right, said = words.anatomy.norm_verdict(check)
        assert is_right
        assert said == "Yes: recomputed from the direction alone, it is off by less than 0.001%."


def test_it_is_said_where_the_norm_does_not_follow(minilm_encoder: Encoder) -> None:
    """The last layer of the built-in model has no gain in three dimensions, which hold much before it."""
    check = analysis.typed.check(minilm_encoder, "Sinan loves a beautiful day")
    assert [of.n_gainless for of in check.layers] == [0, 0, 0, 0, 0, 0, 3]
    is_right, said = words.anatomy.norm_verdict(check)
    assert is_right is False
    off = 100 * (check.layers[6].from_direction / check.layers[6].norm - 1)
    assert said.startswith("Yes, after layers 0 to 5: recomputed from the direction alone")
    assert f"Not after layer 6, where it is off by {off:.2g}%: the LayerNorm has no gain in 3 dimensions" in said


def test_layers_that_do_not_end_with_a_layer_norm_are_not_checked(tmp_path: Path) -> None:
    """ModernBERT normalises before its blocks, and with an ε that is not small beside these tiny vectors."""
    encoder = Encoder(models.find(str(write_model(tmp_path / "modernbert", "modernbert"))), device="cpu")
    check = analysis.typed.check(encoder, "the cat")
    assert np.isfinite([of.norm for of in check.layers]).all()
    checked = [of.layer for of in check.layers if np.isfinite(of.from_direction)]
    assert checked == [0, 3]
    assert "Not after layer 0, where it is off by 0.00" in words.anatomy.norm_verdict(check)[1]
    none = replace(check, layers=[of for of in check.layers if of.layer not in checked])
    assert words.anatomy.norm_verdict(none)[0] is None
