"""Vectors from the model to the analysis: as the encoder gives them, as they are stored, and as they come back."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.errors import StoreError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.measurements import POOLED, Kind, Measurements, Packed, Vectors
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.statistics.ridge import ridge_probe
from clsviz.store import Key, Store

SENTENCES = ["the cat sat on the mat .", "a dog", "the big old red cat ran home very quickly", "a dog", "", "tree"]


def test_packing_keeps_what_tells_nearly_equal_vectors_apart() -> None:
    exact = (100 + 1e-3 * np.random.default_rng(0).normal(size=(50, 8))).astype(np.float32)
    packed = Packed.of([exact, np.full((50, 8), 7, np.float32)])
    assert packed.deviations.dtype == np.float16
    np.testing.assert_allclose(packed.unpack(0), exact, atol=2e-5)  # float16 itself would be off by 0.03
    np.testing.assert_array_equal(packed.unpack(1), 7)


def test_packing_keeps_components_beyond_the_range_of_16_bits() -> None:
    exact = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32) * 1e6
    np.testing.assert_allclose(Packed.of([exact]).unpack(0), exact, atol=1e3)


def test_dimensions_without_gain_hold_the_bias_in_every_part_and_predict_nothing() -> None:
    """Scaled to a variance of 1, 10⁻³³ times the length would be the length; nothing that uses the vector sees it."""
    random = np.random.default_rng(0)
    n, width = 300, 16
    lengths = random.integers(3, 80, n)
    z = random.normal(size=(n, width)) + 0.01 * lengths[:, None]
    z[:, 5] = lengths - 40
    gain, bias = random.uniform(0.5, 2, width), random.normal(size=width)
    gain[5], bias[5], gain[6], bias[6] = 5e-33, 2e-33, 1.5e-9, 0.05
    exact = (gain * z + bias).astype(np.float32)
    pooled = np.stack([np.stack([random.normal(size=(n, width)).astype(np.float32), exact])] * len(POOLED))
    layer_norms = np.full((2, 2, width), np.nan, np.float32)
    layer_norms[1] = gain, bias
    pack = [
        Vectors.pack(np.zeros(len(run), np.int32), np.zeros(len(run), bool), pooled[:, :, run], layer_norms=layer_norms)
        for run in (np.arange(32), np.arange(32, n))
    ]
    vectors = Vectors.concatenate(pack)
    assert np.flatnonzero(vectors.gainless(None)).tolist() == [5, 6]
    assert not vectors.gainless(0).any()
    folds = np.arange(n) % 5
    assert ridge_probe(exact.astype(float), lengths, folds).r_squared > 0.99
    rest = np.delete(exact, [5, 6], axis=1)
    for pooling in POOLED:
        kept = vectors.of(pooling, None)
        assert (kept[:, [5, 6]] == layer_norms[1, 1, [5, 6]]).all()
        np.testing.assert_allclose(np.linalg.norm(kept, axis=1), np.linalg.norm(exact, axis=1), rtol=1e-3)
        read = ridge_probe(kept, lengths, folds)
        assert read.r_squared == pytest.approx(ridge_probe(rest, lengths, folds).r_squared, abs=2e-3)
        assert read.r_squared < 0.6
        np.testing.assert_array_equal(vectors.of(pooling, 0).std(axis=0) > 0, True)


def test_parts_of_vectors_come_back_from_the_store_and_join(tiny_encoder: Encoder, store: Store) -> None:
    key = Key("model", "corpus", 0, 512, "float32", Kind.VECTORS)
    sentences = random_sentences(60, seed=2)
    for start, stop in ((0, 32), (32, 60)):
        store.append(key, start, tiny_encoder.vectors(sentences[start:stop]), seconds=1)
    parts = store.parts(key)
    read = [store.read(parts[start]) for start in sorted(parts)]
    joined = Vectors.concatenate([part for part in read if isinstance(part, Vectors)])
    whole = tiny_encoder.vectors(sentences)
    for name in ("n_tokens", "truncated", "cls_norms", "pooler_norms", "layer_norms"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-6)
    for pooling in Pooling:
        for layer in range(3):
            np.testing.assert_allclose(joined.norms(pooling, layer), whole.norms(pooling, layer), rtol=1e-6)
        np.testing.assert_allclose(joined.of(pooling, None), whole.of(pooling, None), atol=2e-3)
        assert joined.head(40).of(pooling, None).shape == (40, whole.width)
    n_components = sum(len(part) for part in (joined,)) * whole.width * (3 * (whole.n_layers + 1) + 1)
    overhead = 20_000
    assert sum(part.path.stat().st_size for part in parts.values()) < 2 * n_components + overhead


@pytest.fixture
def experiment(tiny_folder: Path, text_file: Path) -> Experiment:
    return Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300, probe_size=100)


def test_vectors_are_measured_of_the_beginning_of_the_sample(
    experiment: Experiment, store: Store, tiny_encoder: Encoder
) -> None:
    norms = Extraction(experiment, store, Encoders()).run(Progress())
    extraction = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS)
    assert extraction.look_up(Progress()).seconds > 0
    found = extraction.run(Progress())
    assert found.sentences == norms.sentences[:100]
    assert len(found.vectors) == 100
    np.testing.assert_allclose(found.vectors.cls_norms, norms.measurements.cls_norms[:100], rtol=1e-5)
    expected = tiny_encoder.vectors(found.sentences)
    np.testing.assert_allclose(found.vectors.of(Pooling.MEAN, 1), expected.of(Pooling.MEAN, 1), atol=2e-3)
    again = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS)
    assert again.look_up(Progress()).seconds == 0
    assert again.found is not None
    np.testing.assert_array_equal(again.found.vectors.of(Pooling.CLS, None), found.vectors.of(Pooling.CLS, None))


def test_norms_alone_have_no_mean_vector(tiny_encoder: Encoder) -> None:
    with pytest.raises(IndexError, match="mean was not measured"):
        tiny_encoder.measure(["a cat"]).norms(Pooling.MEAN, None)
    assert len(Measurements.none()) == len(Vectors.none()) == 0
    with pytest.raises(IndexError):
        tiny_encoder.vectors(["a cat"]).of(Pooling.CLS, 3)


def test_the_first_of_many_are_read_without_the_others(tiny_encoder: Encoder) -> None:
    first, second = (tiny_encoder.vectors(random_sentences(20, seed=seed)) for seed in (1, 2))
    unreadable = replace(second, runs=(replace(second.runs[0], deviations=None),))
    joined = Vectors.concatenate([first, unreadable])
    np.testing.assert_array_equal(joined.head(15).of(Pooling.CLS, 1), first.of(Pooling.CLS, 1)[:15])
    with pytest.raises(TypeError):
        joined.of(Pooling.CLS, 1)


def test_a_part_that_is_cut_short_while_it_is_in_use_is_an_error_and_no_crash(
    tiny_encoder: Encoder, store: Store
) -> None:
    key = Key("model", "corpus", 0, 512, "float32", Kind.VECTORS)
    part = store.append(key, 0, tiny_encoder.vectors(random_sentences(400, seed=3)), seconds=1)
    read = store.read(part)
    assert isinstance(read, Vectors)
    assert read.of(Pooling.CLS, 1).shape == (400, 16)
    os.truncate(part.path, 64)
    with pytest.raises(StoreError, match="was changed while it was in use"):
        read.of(Pooling.MEAN, 1)


def test_a_part_that_is_deleted_while_it_is_in_use_can_still_be_read(tiny_encoder: Encoder, store: Store) -> None:
    key = Key("model", "corpus", 0, 512, "float32", Kind.VECTORS)
    part = store.append(key, 0, tiny_encoder.vectors(SENTENCES), seconds=1)
    read = store.read(part)
    part.path.unlink()
    assert isinstance(read, Vectors)
    assert np.isfinite(read.of(Pooling.MAX, 2)).all()


def test_the_stored_arrays_are_named_by_pooling(tiny_encoder: Encoder) -> None:
    """Renaming one would make stored vectors unreadable."""
    vectors = tiny_encoder.vectors(SENTENCES)
    arrays = vectors.to_arrays()
    per_sentence = {"n_tokens", "truncated", "cls_norms", "pooler_norms", "mean_norms", "max_norms"}
    assert set(arrays) == per_sentence | {"layer_norms", "centres", "scales", "deviations"}
    np.testing.assert_array_equal(arrays["max_norms"][:, 1], vectors.norms(Pooling.MAX, 1))
    again = Vectors.from_arrays(arrays)
    np.testing.assert_array_equal(again.norms(Pooling.MEAN, None), vectors.norms(Pooling.MEAN, None))
    np.testing.assert_array_equal(again.of(Pooling.POOLER, None), vectors.of(Pooling.POOLER, None))
