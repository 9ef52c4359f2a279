"""[CLS] on its way through a model, against what numpy alone makes of it."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.tiny import write_model

from clsviz import analysis, export, models
from clsviz.encoder import Encoder


@pytest.fixture(scope="module")
def albert(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = write_model(tmp_path_factory.mktemp("models"), "albert")
    return Encoder(models.find(str(folder)), device="cpu")


def test_the_table_has_one_row_per_dimension_and_survives_as_a_file(albert: Encoder) -> None:
    cls, _ = albert.cls_and_pooler(["the cat"])
    check = analysis.pooler_check.measure(albert, "the cat")
    table = analysis.pooler_check.dimension_table(albert.anatomy, check)
    assert table.columns.tolist() == ["component", "input_embedding", "cls", "expected", "pooler"]
    read = pd.read_csv(io.BytesIO(export.to_csv(table)))
    assert read["input_embedding"].notna().sum() == 8  # ALBERT's words are narrower than its layers
    np.testing.assert_allclose(read["pooler"], read["expected"], atol=1e-6)
    np.testing.assert_allclose(read["cls"], cls[0], rtol=1e-6)
    stored = pq.read_table(io.BytesIO(export.to_parquet(table, {"model": "albert"})))
    assert json.loads(stored.schema.metadata[b"clsviz"]) == {"model": "albert"}


def test_one_sentence_is_measured_as_the_encoder_measures_it(tiny_encoder: Encoder) -> None:
    check = analysis.pooler_check.measure(tiny_encoder, "the cat sat")
    measured = tiny_encoder.measure(["the cat sat"])
    assert [token for token, _ in check.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert check.embedded_norm == pytest.approx(float(measured.cls_norms[0, 0]))
    assert np.linalg.norm(check.pooler) == pytest.approx(float(measured.pooler_norms[0, 0]), rel=1e-5)
    error = analysis.pooler_check.largest_error(tiny_encoder.anatomy, check)
    assert error is not None
    assert error < analysis.pooler_check.TOLERANCE
