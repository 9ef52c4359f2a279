import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsviz import analysis, export, words
from clsviz.analysis.probes import Origin, origins
from clsviz.encoder import Encoder
from clsviz.errors import AlterationError
from clsviz.experiment import Experiment, View
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Alteration, Lengths, Pooling, Unit
from clsviz.statistics.ridge import STRENGTHS
from clsviz.store import Store
from clsviz.vectors import Vectors

VIEW = View(length_cutoff=25, unit=Unit.CHARACTERS)


@pytest.fixture(scope="module")
def found(tiny_folder: Path, text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    experiment = Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300)
    store = Store(tmp_path_factory.mktemp("store"))
    return Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())


def measured(found: Found, encoder: Encoder, n: int, view: View = VIEW) -> list[Origin]:
    def measure(alteration: Alteration) -> Vectors:
        if alteration is Alteration.ONE_POSITION:
            raise AlterationError("No positions here.")
        return encoder.altered(alteration, 0).vectors(found.sentences[:n])

    return list(origins(found, view, n, measure))


def test_each_alteration_is_probed_as_natural_sentences_are(found: Found, tiny_encoder: Encoder) -> None:
    *early, origin = measured(found, tiny_encoder, 250)
    assert origin.is_complete
    assert not any(step.is_complete for step in early)
    assert len(early) + 1 == 3 * 5 + 1  # a step for each layer, and one for what cannot be measured
    assert origin.problems == {Alteration.ONE_POSITION: "No positions here."}
    short = np.flatnonzero(found.vectors.n_tokens[:250] < 25)
    lengths = found.vectors.n_tokens[short]  # in tokens, whatever the unit of the view
    first = analysis.layers.head(found, 250)
    folds = analysis.layers.folds(first, short)
    for name in (None, Alteration.REPEATED):
        encoder = tiny_encoder if name is None else tiny_encoder.altered(name, 0)
        x = encoder.cls_by_layer([found.sentences[i] for i in short])[1]
        scores = []
        for fold in range(5):
            probe = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS)).fit(x[folds != fold], lengths[folds != fold])
            scores.append(r2_score(lengths[folds == fold], probe.predict(x[folds == fold])))
        reading = (origin.natural if name is None else origin.altered[name])[1]
        assert reading.r_squared == pytest.approx(np.mean(scores), abs=0.02)
        assert reading.fold_r_squared == pytest.approx(scores, abs=0.05)
    *_, profile = analysis.layers.profiles(first, replace(VIEW, unit=Unit.TOKENS))
    assert [reading.r_squared for reading in origin.natural] == [
        reading and reading.r_squared
        for reading in profile.line(Pooling.CLS, "vector")  # type: ignore[arg-type]
    ]
    assert origin.best is not None
    assert origin.best.layer in (1, 2)


def test_with_shuffled_lengths_there_is_nothing_to_read(found: Found, tiny_encoder: Encoder) -> None:
    *_, origin = measured(found, tiny_encoder, 250, replace(VIEW, lengths=Lengths.SHUFFLED))
    assert max(readings[2].r_squared or 0 for readings in origin.altered.values()) < 0.2


def test_it_is_said_and_kept_in_numbers(found: Found, tiny_encoder: Encoder) -> None:
    *early, origin = measured(found, tiny_encoder, 250)
    best = origin.best
    assert best is not None
    said = words.origin.answer(origin)
    assert f"natural sentences R² {best.r_squared:.2f}; tokens shuffled" in said
    assert f"one token repeated {origin.altered[Alteration.REPEATED][best.layer or 0].r_squared:.2f}" in said
    assert "one position" not in said
    assert words.origin.answer(None) == "Fitting probes…" == words.origin.answer(early[0])
    assert words.origin.note(origin) == f"{origin.n} sentences."
    summary = json.loads(json.dumps(analysis.probes.origin_summary(origin), allow_nan=False))
    assert summary["natural"][1]["fold_r_squared"] == pytest.approx(origin.natural[1].fold_r_squared)
    assert summary["problems"] == {"one_position": "No positions here."}
    assert summary["natural"][0]["r_squared"] is None  # [CLS] is the same for all sentences there
    table = export.tables.origin(origin)
    assert len(table) == 3 * 5 + 1
    row = table[(table["sentences"] == "no_separator") & (table["layer"] == 2)].iloc[0]
    readings = origin.altered[Alteration.NO_SEPARATOR]
    assert (row["r_squared"], row["error"]) == (readings[2].r_squared, readings[2].error)
    assert table[table["sentences"] == "one_position"]["problem"].tolist() == ["No positions here."]
    lines = export.tables.origin_lines(origin, Alteration.NO_SEPARATOR)
    assert lines["line"].unique().tolist() == ["natural", "without [SEP]"]
    assert export.tables.origin_lines(early[1], Alteration.RANDOM)["line"].unique().tolist() == ["natural"]


def test_few_sentences_say_so(found: Found, tiny_encoder: Encoder) -> None:
    *_, origin = measured(found, tiny_encoder, 60)
    assert words.origin.note(origin) == f"{origin.n} sentences."  # the answer says that these are too few
    *_, firm = measured(found, tiny_encoder, 250)
    assert "few for vectors of 768 dimensions" in words.origin.note(replace(firm, width=768))
    *_, none = measured(found, tiny_encoder, 3)
    assert none.is_complete
    assert words.origin.answer(none).startswith("Not tested: 3 sentences are too few to tell where a probe gets")


def test_what_cannot_be_read_at_all_is_not_traced(found: Found, tiny_encoder: Encoder) -> None:
    *_, origin = measured(found, tiny_encoder, 250)
    flat = tuple(replace(reading, r_squared=0.04) for reading in origin.natural)
    text = words.origin.answer(replace(origin, natural=flat))
    assert text.startswith(
        "A probe hardly reads the length of the natural sentences, so there is little to trace. After"
    )
    assert "hardly" not in words.origin.answer(origin)
    problem = "All 250 sentences have the same length, so there is nothing to predict."
    none = tuple(replace(reading, r_squared=None, problem=problem) for reading in origin.natural)
    assert words.origin.answer(replace(origin, natural=none)) == (
        "No probe can be fitted to these sentences: all 250 sentences have the same length."
    )


def test_every_alteration_has_its_words() -> None:
    assert list(words.origin.LABELS) == list(Alteration)
    assert all("Catches a probe that needs" in label.catches for label in words.origin.LABELS.values())
