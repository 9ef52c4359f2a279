"""What becomes of probes of the length: erased, on another corpus, of altered sentences, on a published task."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.files import write_task
from support.tiny import random_sentences

from clsviz import analysis, export, words
from clsviz.analysis.probes import Origin, origins
from clsviz.encoder import Encoder
from clsviz.errors import AlterationError, SettingError
from clsviz.experiment import Experiment, View
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind, Vectors
from clsviz.progress import Progress
from clsviz.settings import Alteration, Lengths, Pooling, Unit
from clsviz.sources.published_task import TaskFile, read_task
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL
from clsviz.statistics.ridge import STRENGTHS
from clsviz.store import Store


@pytest.fixture(scope="module")
def both(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Found]:
    """A corpus, and another of which 50 sentences are in the first as well."""
    folder, encoders = tmp_path_factory.mktemp("travel"), Encoders()
    first, second = random_sentences(400, seed=5), random_sentences(150, seed=6, longest=12)
    found = []
    for name, sentences in (("here", first), ("there", [*second, *(text.upper() for text in first[:50])])):
        path = folder / f"{name}.txt"
        path.write_text("\n".join(sentences), encoding="utf-8")
        experiment = Experiment(model=str(tiny_folder), corpus=str(path))
        found.append(Extraction(experiment, Store(folder / "store"), encoders, kind=Kind.VECTORS).run(Progress()))
    return found[0], found[1]


VIEW = Experiment(layer=1, length_cutoff=25).view


def test_a_probe_is_read_on_the_other_corpus_without_the_sentences_that_it_knows(both: tuple[Found, Found]) -> None:
    here, there = both
    *_, found = analysis.probes.travels(here, there, VIEW)
    short = np.flatnonzero(here.vectors.n_tokens < 25)
    known = {here.sentences[i].casefold() for i in short}
    new = [i for i, n in enumerate(there.vectors.n_tokens) if n < 25 and there.sentences[i].casefold() not in known]
    assert (found.n, found.n_there) == (len(short), len(new))
    assert 100 < len(new) < 200
    pipeline = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS[:-1]))
    pipeline.fit(here.vectors.of(Pooling.CLS, 2)[short], here.vectors.n_tokens[short])
    lengths = there.vectors.n_tokens[new]
    error = mean_absolute_error(lengths, pipeline.predict(there.vectors.of(Pooling.CLS, 2)[new]))
    assert found.legs[2].across_error == pytest.approx(error, rel=0.02)
    *_, profile = analysis.layers.profiles(here, VIEW)
    assert found.guess_error == profile.guess_error
    summary = analysis.probes.travel_summary(found, there)
    assert json.loads(json.dumps(summary, allow_nan=False))["layers"][0]["across_error"] is None  # [CLS] is constant
    assert summary["corpus_fingerprint"] == there.corpus.fingerprint != here.corpus.fingerprint
    *_, of_mean = analysis.probes.travels(here, there, replace(VIEW, pooling=Pooling.MEAN))
    assert of_mean.legs[0].across_error > 0


def test_the_length_is_erased_from_the_vectors_of_the_view(both: tuple[Found, Found]) -> None:
    *_, found = analysis.probes.erasures(both[0], VIEW)
    *_, profile = analysis.layers.profiles(both[0], VIEW)
    summary = json.loads(json.dumps(analysis.probes.erasure_summary(found), allow_nan=False))
    reading = profile.line(Pooling.CLS, "vector")[1]  # type: ignore[arg-type]
    assert reading is not None
    assert summary[BEFORE]["linear_fold_r_squared"] == pytest.approx(reading.fold_r_squared)
    assert abs(summary[AFTER]["linear_r_squared"]) < 0.1 < 0.5 < summary[BEFORE]["linear_r_squared"]
    assert summary[CONTROL.replace(" ", "_")]["linear_r_squared"] > 0.5
    assert summary["n_used"] == profile.n
    *_, control = analysis.probes.erasures(both[0], replace(VIEW, lengths=Lengths.SHUFFLED))
    assert abs(np.mean(control.left[BEFORE].linear)) < 0.2


OF_CHARACTERS = View(length_cutoff=25, unit=Unit.CHARACTERS)


@pytest.fixture(scope="module")
def found(tiny_folder: Path, text_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    experiment = Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300)
    store = Store(tmp_path_factory.mktemp("store"))
    return Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())


def measured(found: Found, encoder: Encoder, n: int, view: View = OF_CHARACTERS) -> list[Origin]:
    def measure(alteration: Alteration, draw: int) -> Vectors:
        if alteration is Alteration.ONE_POSITION:
            raise AlterationError("No positions here.")
        return encoder.altered(alteration, draw).vectors(found.sentences[:n])

    return list(origins(found, view, n, measure))


@pytest.fixture(scope="module")
def traced(found: Found, tiny_encoder: Encoder) -> list[Origin]:
    return measured(found, tiny_encoder, 250)


def test_each_alteration_is_probed_as_natural_sentences_are(
    found: Found, tiny_encoder: Encoder, traced: list[Origin]
) -> None:
    *early, origin = traced
    assert origin.is_complete
    assert not any(step.is_complete for step in early)
    assert len(early) + 1 == 3 * 17 + 1  # a step for each layer and draw, and one for what cannot be measured
    assert origin.problems == {Alteration.ONE_POSITION: "No positions here."}
    short = np.flatnonzero(found.vectors.n_tokens[:250] < 25)
    lengths = found.vectors.n_tokens[short]  # in tokens, whatever the unit of the view
    first = analysis.layers.head(found, 250)
    folds = analysis.layers.folds(first, View(), short)
    for name in (None, Alteration.REPEATED):
        encoder = tiny_encoder if name is None else tiny_encoder.altered(name, 0)
        x = encoder.cls_by_layer([found.sentences[i] for i in short])[1]
        scores = []
        for fold in range(5):
            probe = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS[:-1])).fit(
                x[folds != fold], lengths[folds != fold]
            )
            scores.append(r2_score(lengths[folds == fold], probe.predict(x[folds == fold])))
        reading = (origin.natural if name is None else origin.altered[name])[1]
        assert reading.r_squared == pytest.approx(np.mean(scores), abs=0.02)
        assert reading.fold_r_squared == pytest.approx(scores, abs=0.05)
    *_, profile = analysis.layers.profiles(first, replace(OF_CHARACTERS, unit=Unit.TOKENS))
    assert [reading.r_squared for reading in origin.natural] == [
        reading and reading.r_squared
        for reading in profile.line(Pooling.CLS, "vector")  # type: ignore[arg-type]
    ]
    assert origin.best is not None
    assert origin.best.layer in (1, 2)


def test_with_shuffled_lengths_there_is_nothing_to_read(found: Found, tiny_encoder: Encoder) -> None:
    *_, origin = measured(found, tiny_encoder, 250, replace(OF_CHARACTERS, lengths=Lengths.SHUFFLED))
    assert max(readings[2].r_squared or 0 for readings in origin.altered.values()) < 0.2


def test_it_is_kept_in_numbers(traced: list[Origin]) -> None:
    *early, origin = traced
    best = origin.best
    assert best is not None
    draws = origin.draws(Alteration.REPEATED, best.layer or 0)
    assert len(set(draws)) == 5
    range_of = f"one token repeated {draws[0]:.2f} ({min(draws):.2f}–{max(draws):.2f} in 5 draws)"
    assert range_of in words.probing.origin(origin)
    lines = export.tables.origin_lines(origin, Alteration.REPEATED).set_index(["line", "layer"])
    assert lines.loc[("repeated", best.layer), ["lowest", "highest"]].tolist() == [min(draws), max(draws)]
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


def test_of_three_sentences_nothing_is_traced(found: Found, tiny_encoder: Encoder) -> None:
    *_, none = measured(found, tiny_encoder, 3)
    assert none.is_complete
    assert words.probing.origin(none).startswith("Not tested: 3 sentences are too few to tell where a probe gets")


OF_FILE = View(layer=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> TaskFile:
    return read_task(write_task(tmp_path_factory.mktemp("task") / "sentence_length.txt"))


def test_a_classifier_of_the_training_sentences_is_tested_on_the_others(file: TaskFile, tiny_encoder: Encoder) -> None:
    vectors = tiny_encoder.vectors(file.sentences)
    steps: list[int] = []
    found = analysis.probes.classify_published(file, vectors, OF_FILE, steps.append)
    assert steps == [1, 2, 3, 4, 5, 6] * 2
    assert (found.n_train, found.n_dev, found.n_test, found.n_classes) == (360, 120, 120, 6)
    assert found.guessing == pytest.approx(1 / 6)
    assert found.vector is not None
    assert found.norm is not None
    x = vectors.of(Pooling.CLS, 1).astype(float)
    train, test = file.partitions == 0, file.partitions == 2
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=found.vector.strength, max_iter=5000))
    expected = probe.fit(x[train], file.labels[train]).score(x[test], file.labels[test])
    assert found.vector.accuracy == pytest.approx(expected, abs=0.02)
    assert found.vector.accuracy > max(found.norm.accuracy, found.guessing) + 0.2
    interval = stats.binomtest(round(found.vector.accuracy * 120), 120).proportion_ci(method="wilson")
    assert found.vector.interval == pytest.approx(tuple(interval))
    assert not words.sentlen.file_caveats(found)  # 360 sentences are enough for 16 dimensions
    said = words.sentlen.of_file(found)
    assert f"On 120 test sentences of sentence_length.txt, the whole vector tells {found.vector.accuracy:.1%}" in said
    assert "guessing the commonest class 16.7%" in said
    summary = json.loads(json.dumps(analysis.probes.published_summary(found), allow_nan=False))
    assert summary["accuracy"] == found.vector.accuracy
    assert summary["interval_norm_only"] == list(found.norm.interval)


def test_shuffled_lengths_leave_what_guessing_does(file: TaskFile, tiny_encoder: Encoder) -> None:
    vectors = tiny_encoder.vectors(file.sentences)
    found = analysis.probes.classify_published(file, vectors, replace(OF_FILE, lengths=Lengths.SHUFFLED))
    assert found.vector is not None
    assert found.vector.interval[0] < 1 / 6
    assert "not told apart from guessing" in words.sentlen.of_file(found)


def test_what_limits_the_result_is_said(file: TaskFile, tiny_encoder: Encoder) -> None:
    few = file.head(10)
    again = replace(few, sentences=[few.sentences[0].upper() if p == 2 else s for s, p in _rows(few)])
    found = analysis.probes.classify_published(again, tiny_encoder.vectors(again.sentences), OF_FILE)
    short, shared = words.sentlen.file_caveats(found)
    assert short.startswith("60 training sentences are few for vectors of 16 dimensions: with 80 or more")
    assert shared == "60 of the test sentences are among the training sentences as well."
    constant = analysis.probes.classify_published(few, tiny_encoder.vectors(few.sentences), replace(OF_FILE, layer=0))
    assert constant.vector is None
    assert "is the same for all sentences" in words.sentlen.of_file(constant)
    with pytest.raises(SettingError, match="layers 0 to 2"):
        analysis.probes.classify_published(few, tiny_encoder.vectors(few.sentences), replace(OF_FILE, layer=3))


def _rows(file: TaskFile) -> list[tuple[str, int]]:
    assert file.partitions[0] == 0
    return list(zip(file.sentences, np.asarray(file.partitions).tolist(), strict=True))
