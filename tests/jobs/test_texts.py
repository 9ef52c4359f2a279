"""Texts that are no sample, in the store."""

from pathlib import Path

import numpy as np
import pytest
from support.tiny import write_bert, write_model

from clsviz.encoder import Encoder
from clsviz.errors import AlterationError, CancelledError, ModelError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, measure_altered, measure_texts
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Alteration, Pooling
from clsviz.store import Store


class NoEncoders(Encoders):
    def get(self, *_: object, **__: object) -> Encoder:
        raise AssertionError("nothing is measured twice")


def test_texts_are_measured_once_and_kept(
    tiny_folder: Path, text_file: Path, tiny_encoder: Encoder, store: Store
) -> None:
    experiment = Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=20)
    found = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())
    texts = [f"{one} {other}" for one, other in zip(found.sentences[:10], found.sentences[10:], strict=True)]
    measured = measure_texts(texts, experiment, found, store, Encoders(), Progress())
    expected = tiny_encoder.vectors(texts)
    np.testing.assert_allclose(measured.of(Pooling.MEAN, 1), expected.of(Pooling.MEAN, 1), atol=2e-3)
    np.testing.assert_array_equal(measured.n_tokens, expected.n_tokens)
    again = measure_texts(texts, experiment, found, store, NoEncoders(), Progress())
    np.testing.assert_array_equal(again.of(Pooling.CLS, 2), measured.of(Pooling.CLS, 2))
    sample = Extraction(experiment, store, NoEncoders(), kind=Kind.VECTORS).run(Progress())
    np.testing.assert_array_equal(sample.vectors.of(Pooling.CLS, 2), found.vectors.of(Pooling.CLS, 2))


class Stops(Progress):
    """Is cancelled once so many sentences are measured."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._at = at

    def advance(self, done: int) -> None:
        super().advance(done)
        if done >= self._at:
            self.cancel()


@pytest.mark.parametrize("alteration", Alteration)
def test_altered_sentences_are_kept_beside_the_natural_ones_and_more_are_added(
    alteration: Alteration, tiny_folder: Path, text_file: Path, tiny_encoder: Encoder, store: Store
) -> None:
    experiment = Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=80)
    found = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())
    with pytest.raises(CancelledError):
        measure_altered(80, alteration, experiment, found, store, Encoders(), Stops(at=40))
    kept = measure_altered(32, alteration, experiment, found, store, NoEncoders(), Progress())
    measured = measure_altered(80, alteration, experiment, found, store, Encoders(), Progress())
    expected = tiny_encoder.altered(alteration, experiment.seed).vectors(found.sentences)
    for layer in range(3):
        np.testing.assert_allclose(measured.of(Pooling.CLS, layer), expected.of(Pooling.CLS, layer), atol=2e-2)
    np.testing.assert_array_equal(measured.of(Pooling.CLS, 2)[:32], kept.of(Pooling.CLS, 2))
    assert not np.allclose(measured.of(Pooling.CLS, 2), found.vectors.of(Pooling.CLS, 2), atol=1e-2)
    again = measure_altered(80, alteration, experiment, found, store, NoEncoders(), Progress())
    np.testing.assert_array_equal(again.of(Pooling.CLS, 2), measured.of(Pooling.CLS, 2))


def test_what_a_model_cannot_read_is_said_and_nothing_is_kept(text_file: Path, tmp_path: Path, store: Store) -> None:
    folder = write_model(tmp_path / "model", "mpnet")
    experiment = Experiment(model=str(folder), corpus=str(text_file), sample_size=20)
    found = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())
    parts = set(store.root.rglob("*.safetensors"))
    with pytest.raises(AlterationError, match="position vectors alone"):
        measure_altered(20, Alteration.ONE_POSITION, experiment, found, store, Encoders(), Progress())
    assert set(store.root.rglob("*.safetensors")) == parts


def test_a_model_that_was_changed_meanwhile_measures_nothing_else(
    text_file: Path, tmp_path: Path, store: Store
) -> None:
    folder = write_bert(tmp_path / "model")
    experiment = Experiment(model=str(folder), corpus=str(text_file), sample_size=20)
    found = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())
    write_bert(folder, num_hidden_layers=3)
    with pytest.raises(ModelError, match="were changed meanwhile"):
        measure_texts(["the cat"], experiment, found, store, Encoders(), Progress())
