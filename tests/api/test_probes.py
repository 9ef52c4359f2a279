import json
from pathlib import Path

import numpy as np
import pytest

import clsviz
from clsviz import words
from clsviz.encoder import Encoder


def test_the_vectors_are_those_of_the_encoder(probed: clsviz.ProbeResult, tiny_encoder: Encoder) -> None:
    sentences = probed.found.sentences
    assert len(probed) == len(sentences) == 150
    exact, pooler = tiny_encoder.cls_and_pooler(sentences)
    np.testing.assert_allclose(probed.vectors(), exact, atol=2e-3)
    np.testing.assert_allclose(probed.vectors(pooling="pooler"), pooler, atol=2e-3)
    expected = tiny_encoder.vectors(sentences).of(clsviz.Pooling.MEAN, 1)
    np.testing.assert_allclose(probed.vectors(layer=1, pooling="mean"), expected, atol=2e-3)


def test_the_table_and_the_picture_have_the_same_numbers(probed: clsviz.ProbeResult) -> None:
    table = probed.table()
    cls = table[(table["pooling"] == "cls") & (table["readout"] == "vector")].sort_values("layer")
    line = next(trace for trace in probed.plot().data if trace.name == "[CLS] vector")
    np.testing.assert_array_equal(np.asarray(line.y, float), cls["error"].to_numpy())
    assert probed.summary()["best_layer"] == cls["layer"].to_numpy()[np.nanargmax(cls["r_squared"])]
    json.dumps(probed.summary(), allow_nan=False)


def test_a_fit_takes_every_pooling(probed: clsviz.ProbeResult) -> None:
    norms = np.linalg.norm(probed.vectors(layer=2, pooling="max"), axis=1)
    line = probed.fit(layer=2, pooling="max")
    assert line.norm_mean == pytest.approx(norms.mean(), rel=1e-3)
    assert line.slope == pytest.approx(np.polyfit(probed.found.measurements.n_tokens, norms, 1)[0], rel=0.02)


def test_the_notebook_shows_the_layers(probed: clsviz.ProbeResult) -> None:
    shown = probed._repr_html_()
    assert "whole vector" in shown
    best = max(value for value in probed.table()["r_squared"] if np.isfinite(value))
    assert f"{probed.profile.best.r_squared:.3f}" in shown  # type: ignore[union-attr]
    assert best >= probed.profile.best.r_squared  # type: ignore[union-attr, operator]
    assert probed.answer in repr(probed)


def test_a_small_corpus_is_noted_and_too_few_sentences_explain_themselves(tiny_folder: Path, api_store: Path) -> None:
    few = clsviz.probe(str(tiny_folder), ["a cat.", "the dog ran.", "the cat sat on the mat."], store=api_store)
    assert few.notes == []  # all that were given
    assert any("at least 10" in problem for problem in few.table()["problem"])


def test_a_file_of_a_few_sentences_again_and_again_is_no_test(
    tiny_folder: Path, api_store: Path, tmp_path: Path
) -> None:
    few = ["a cat.", "the dog ran home.", "red birds often slept near the old river.", "fish saw the stone house"]
    few += ["never walked with slow green tall trees but jumped behind", "loud"]
    path = tmp_path / "copies.txt"
    path.write_text("\n".join(few * 50), encoding="utf-8")
    probed = clsviz.probe(str(tiny_folder), path, n=300, store=api_store)
    assert probed.answer.startswith("Not tested: 6 different sentences (of 300) are too few to tell")
    assert probed.summary()["n_clusters"] == 6
    erased = words.probing.erased(probed.erasure())
    assert erased.startswith("Not tested: 6 different sentences (of 300) are too few")


def test_a_layer_or_pooling_that_the_model_lacks_is_an_error_of_ours(probed: clsviz.ProbeResult) -> None:
    with pytest.raises(clsviz.ClsvizError, match="layers 0 to 2"):
        probed.vectors(layer=3)
    with pytest.raises(clsviz.ClsvizError, match="no setting “n” of the view"):
        probed.vectors(n=3)  # type: ignore[call-arg]
