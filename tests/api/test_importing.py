from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tiny import random_sentences

import clsviz
from clsviz.encoder import Encoder
from clsviz.errors import ClsvizError, CorpusError, ModelError, SettingError

TEXTS = random_sentences(300, seed=3)
WORDS = np.array([len(text.split()) for text in TEXTS])
RANDOM = np.random.default_rng(0)
VECTORS = np.column_stack([0.3 * WORDS + RANDOM.normal(0, 0.2, 300), RANDOM.normal(size=(300, 7))])


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Encoder, "__init__", refuse)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> tuple[clsviz.Experiment, Path]:
    store = tmp_path_factory.mktemp("mine")
    return clsviz.import_vectors(TEXTS, VECTORS, name="mine", store=store, progress=False), store


def test_norms_are_measured_without_a_model(mine: tuple[clsviz.Experiment, Path]) -> None:
    experiment, store = mine
    result = clsviz.measure(experiment, store=store, progress=False)
    table = result.table().set_index("sentence")
    norms = np.linalg.norm(VECTORS, axis=1)
    np.testing.assert_allclose(table.loc[TEXTS, "cls_0"], norms, rtol=1e-6)
    assert table.loc[TEXTS, "n_tokens"].tolist() == WORDS.tolist()
    assert list(table) == ["n_tokens", "truncated", "cls_0"]
    slope, _ = np.polyfit(WORDS, norms, 1)
    assert result.fit().slope == pytest.approx(slope, rel=1e-5)
    assert result.fit(unit="tokens").slope == result.fit(unit="words").slope
    assert "words" in result.in_numbers
    assert "token" not in f"{result.answer} {result.in_numbers}"
    assert result.plot().layout.yaxis.title.text == "Norm of the vector"
    assert "[CLS]" not in result._repr_html_()


def test_vectors_are_probed_and_compared_without_a_model(mine: tuple[clsviz.Experiment, Path]) -> None:
    experiment, store = mine
    probed = clsviz.probe(experiment, store=store, progress=False)
    assert probed.question == "Can the length of a sentence be read from the vectors mine?"
    table = probed.table()
    assert table["readout"].tolist() == ["norm", "vector", "direction"]
    assert set(table["pooling"]) == {"cls"}
    assert table["r_squared"][1] > 0.9
    assert "[CLS]" not in " ".join([probed.answer, *probed.details])
    assert "layer" not in " ".join([probed.answer, *probed.details])
    assert probed.summary()["best_layer"] == 0
    order = [TEXTS.index(sentence) for sentence in probed.found.sentences]
    np.testing.assert_allclose(probed.vectors(), VECTORS[order], atol=0.01)
    similar = clsviz.similarity(experiment, store=store, progress=False)
    assert similar.joined == ()
    assert similar.joined_problem == "The vectors of mine were imported: there is no model to run."
    assert set(similar.remedies()["vector"]) == {"Vector", "Shared words (tf-idf)"}


@pytest.mark.parametrize(
    ("ask", "error", "problem"),
    [
        (lambda own: clsviz.probe(own, pooling="mean"), SettingError, "beside an Experiment"),
        (lambda own: clsviz.Encoder(own.model), ModelError, "there is no model to run"),
        (lambda own: clsviz.measure(own.model, "python-docs", n=10), ModelError, "there is no model to run"),
    ],
)
def test_what_needs_the_model_says_that_there_is_none(
    ask: Any,
    error: type[ClsvizError],
    problem: str,
    mine: tuple[clsviz.Experiment, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("CLSVIZ_STORE", str(mine[1]))
    with pytest.raises(error, match=problem):
        ask(mine[0])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "Give either vectors or norms"),
        ({"vectors": VECTORS, "norms": WORDS}, "Give either vectors or norms"),
        ({"vectors": VECTORS[:-1]}, "There are 300 texts and 299 vectors"),
        ({"norms": [1.0] * 301}, "There are 300 texts and 301 norms"),
        ({"vectors": WORDS}, r"vectors has the shape 300 and the type int64; it must be \(n, width\), of numbers"),
        ({"norms": VECTORS}, r"norms has the shape 300 × 8"),
        ({"vectors": [["a", "b"]] * 300}, "the type <U1"),
        ({"vectors": VECTORS, "n_tokens": [1] * 299}, "There are 299 n_tokens and 300 vectors"),
        ({"vectors": np.where(VECTORS > 2, np.nan, VECTORS)}, r"Row [\d]+ of vectors has NaN, infinity"),
    ],
)
def test_what_cannot_be_imported_is_told_and_nothing_is_kept(
    arguments: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(CorpusError, match=problem):
        clsviz.import_vectors(TEXTS, store=tmp_path / "store", progress=False, **arguments)
    assert not (tmp_path / "store").exists()


def test_texts_that_are_none_are_told(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="Row 2 of texts is a float, not text"):
        clsviz.import_vectors(["a", float("nan")], norms=[1, 2], store=tmp_path, progress=False)  # type: ignore[list-item]
    with pytest.raises(CorpusError, match="half a character"):
        clsviz.import_vectors(["a", "\ud800"], norms=[1, 2], store=tmp_path, progress=False)
