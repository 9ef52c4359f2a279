"""Texts that are no sample, in the store."""

from pathlib import Path

import numpy as np

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Encoders, Extraction, Store, measure_texts
from clsviz.progress import Progress
from clsviz.settings import Pooling


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
