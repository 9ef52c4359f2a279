import numpy as np
import pytest

from clsviz import export, words
from clsviz.analysis import ViewData
from clsviz.analysis.layers import SentLen
from clsviz.settings import Pooling, Unit
from clsviz.statistics import sentlen
from clsviz.statistics.dimensions import dimensions
from clsviz.statistics.line import fit
from clsviz.statistics.probes import Profile, Reading, Readout

LENGTHS = np.arange(3, 53, dtype=np.int32)
NORMS = (7 + 0.01 * LENGTHS + 0.05 * np.sin(LENGTHS)).astype(np.float32)
SHOWN = ViewData(np.arange(100, 150), LENGTHS, NORMS, fit(LENGTHS, NORMS), "", 0)


def profile() -> Profile:
    """Two of the readings of a model with one layer."""
    readings = {
        (Pooling.CLS, 0, Readout.NORM): Reading(Pooling.CLS, 0, Readout.NORM, 0.5, (0.4, 0.6), "", 7.0, 0.25),
        (Pooling.POOLER, None, Readout.VECTOR): Reading(Pooling.POOLER, None, Readout.VECTOR, 0.75, (0.7, 0.8)),
    }
    return Profile(50, 16, 1, True, readings)


def test_every_line_over_layers_has_its_rows_whether_it_is_known_or_not() -> None:
    table = export.tables.r_squared_by_layer(profile())
    assert table["line"].drop_duplicates().tolist() == list(words.profile.LINES.values())
    assert len(table) == 2 * len(words.profile.LINES)
    known = table.dropna(subset="r_squared")
    assert known.to_numpy().tolist() == [["norm alone", 0, 0.5, 0.4, 0.6], ["pooler output", 1, 0.75, 0.7, 0.8]]
    assert export.tables.r_squared_by_layer(None).empty


def test_errors_are_of_the_vector_that_is_asked_for_and_of_its_norm() -> None:
    of_pooler = export.tables.errors_by_layer(profile(), Pooling.POOLER).set_index(["line", "layer"])
    assert of_pooler.index.tolist() == [("pooler output", 0), ("pooler output", 1), ("its norm", 0), ("its norm", 1)]
    of_cls = export.tables.errors_by_layer(profile(), Pooling.CLS).set_index(["line", "layer"])
    assert of_cls["r_squared"].dropna().to_dict() == {("its norm", 0): 0.5}
    assert of_pooler["r_squared"].dropna().to_dict() == {("pooler output", 1): 0.75}
    assert export.tables.errors_by_layer(None, Pooling.CLS).empty


def test_cells_have_a_row_per_pooling_and_a_column_per_layer() -> None:
    poolings = [Pooling.CLS, Pooling.POOLER]
    np.testing.assert_equal(
        export.tables.r_squared_by_vector(profile(), poolings, Readout.NORM), [[0.5, np.nan], [np.nan, np.nan]]
    )
    np.testing.assert_equal(
        export.tables.r_squared_by_vector(profile(), poolings, Readout.VECTOR), [[np.nan, np.nan], [np.nan, 0.75]]
    )


def test_sentlen_is_set_beside_guessing() -> None:
    result = sentlen.Result(0.5, (0.4, 0.6), 0.55, 1.0, 60, 12, 24, np.zeros((6, 6), np.intp))
    table = export.tables.sentlen(SentLen(16, result, None, "constant", (0.4, 0.5, 0.6)))
    assert table["From"].tolist() == ["the whole vector", "guessing"]
    assert table["Accuracy"].tolist() == pytest.approx([0.5, 1 / 6])
    assert table.loc[0, ["Lowest", "Highest", "Draws", "Train", "Dev", "Test"]].tolist() == [0.4, 0.6, 3, 60, 12, 24]
    assert table.loc[1, ["Lowest", "Train"]].isna().all()


def test_dimensions_come_with_the_largest_share_first() -> None:
    vectors = np.stack([np.full(50, 1.0), np.full(50, 3.0), np.full(50, 2.0)], axis=1) * LENGTHS[:, None]
    table = export.tables.dimensions(dimensions(vectors, LENGTHS))
    assert table["dimension"].tolist() == [1, 2, 0]
    for column in ("share_of_squared_norm", "share_of_its_variance"):
        assert table[column].tolist() == pytest.approx([9 / 14, 4 / 14, 1 / 14])


def test_selected_sentences_have_the_distance_from_the_line() -> None:
    sentences = [f"sentence {i}" for i in range(200)]
    table = export.tables.selected(sentences, np.array([0, 49]), SHOWN, Unit.WORDS)
    assert table.columns.tolist() == ["Sentence", "Words", "Norm", "Residual"]
    assert table["Sentence"].tolist() == ["sentence 100", "sentence 149"]
    slope, intercept = np.polyfit(LENGTHS, NORMS, 1)
    np.testing.assert_allclose(table["Residual"], NORMS[[0, 49]] - intercept - slope * LENGTHS[[0, 49]], atol=1e-6)


def test_taken_along_they_have_the_places_by_which_a_link_selects_them() -> None:
    sentences = [*(f"sentence {i}" for i in range(148)), *["twice"] * 2]
    table = export.tables.named(sentences, np.array([0, 48, 49]), SHOWN, Unit.WORDS)
    assert table.columns.tolist() == ["Place", "Sentence", "Words", "Norm", "Residual"]
    assert table["Place"].tolist() == SHOWN.index[[0, 48, 49]].tolist()


def test_typed_sentences_are_set_beside_the_corpus() -> None:
    lengths, norms = np.array([20, 300], np.int32), np.array([9.0, 7.0], np.float32)
    table = export.tables.typed(["a", "b"], [["a"], ["b"] * 300], lengths, norms, Unit.TOKENS, SHOWN)
    assert table["Tokens"].tolist() == [20, 300]
    assert table["Tokenized"][0] == "a"
    assert table["Tokenized"][1].endswith("… and 220 more")
    slope, intercept = np.polyfit(LENGTHS, NORMS, 1)
    np.testing.assert_allclose(table["Norm on the line"], [intercept + slope * 20, np.nan], rtol=1e-6)
    assert table["Percentile at this length"].isna().all()  # fewer than 20 are of similar length


def test_of_a_single_vector_every_readout_has_a_row() -> None:
    readings = {
        (Pooling.CLS, 0, Readout.VECTOR): Reading(Pooling.CLS, 0, Readout.VECTOR, 0.9, (0.8, 0.95), error=1.5),
        (Pooling.CLS, 0, Readout.NORM): Reading(Pooling.CLS, 0, Readout.NORM, problem="It is constant."),
    }
    of_one = Profile(100, 3, 0, False, readings, n_poolings=1)
    assert [step[2] for step in of_one.steps] == [Readout.NORM, Readout.VECTOR, Readout.DIRECTION]
    table = export.tables.readouts(of_one, "words").set_index("From")
    assert table.loc["whole vector"].tolist() == [0.9, 0.8, 0.95, 1.5]
    assert table.loc[["direction alone", "norm alone"]].isna().all(axis=None)
    assert list(table) == ["R²", "Lowest fold", "Highest fold", "Off by (words)"]
    assert export.tables.readouts(None, "words").iloc[:, 1:].isna().all(axis=None)
