"""Vectors from the model to the analysis: as the encoder gives them, as they are stored, and as they come back."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.tiny import ARCHITECTURES, random_sentences, write_bert, write_model

from clsviz import models
from clsviz.encoder import Blocks, Encoder
from clsviz.errors import StoreError
from clsviz.experiment import Experiment
from clsviz.measurements import POOLED, Kind, Measurements
from clsviz.measuring import Encoders, Extraction, Key, Store
from clsviz.models import Weights
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.vectors import Packed, Vectors

SENTENCES = ["the cat sat on the mat .", "a dog", "the big old red cat ran home very quickly", "a dog", "", "tree"]


def expected_of(folder: Path, sentences: list[str]) -> tuple[list[np.ndarray], np.ndarray | None]:
    """By transformers alone, a sentence at a time: (3, n_layers + 1, width) each, and the pooler outputs."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    pooled, pooler = [], []
    for sentence in sentences:
        encoded = tokenizer(sentence, return_tensors="pt", truncation=True, max_length=512)
        with torch.inference_mode():
            output = model(**encoded, output_hidden_states=True)
        states = [state[0].numpy() for state in output.hidden_states]
        pooled.append(
            np.stack(
                [
                    [state[0] for state in states],
                    [state.mean(0) for state in states],
                    [state.max(0) for state in states],
                ]
            )
        )
        if getattr(output, "pooler_output", None) is not None:
            pooler.append(output.pooler_output[0].numpy())
    return pooled, np.stack(pooler) if pooler else None


def check(vectors: Vectors, pooled: list[np.ndarray], pooler: np.ndarray | None, rtol: float = 1e-3) -> None:
    for at, pooling in enumerate(POOLED):
        for layer in range(vectors.n_layers + 1):
            expected = np.stack([sentence[at, layer] for sentence in pooled])
            given = vectors.of(pooling, layer)
            assert given.dtype == np.float32
            # Kept in 16 bits: to a part in 2000 of how far the farthest component is from the mean of all sentences.
            np.testing.assert_allclose(given, expected, atol=rtol * np.abs(expected - expected.mean(0)).max() + 1e-5)
            np.testing.assert_allclose(vectors.norms(pooling, layer), np.linalg.norm(expected, axis=1), rtol=1e-5)
    assert vectors.has_pooler == (pooler is not None)
    if pooler is not None:
        np.testing.assert_allclose(vectors.of(Pooling.POOLER, None), pooler, atol=rtol)
        np.testing.assert_allclose(vectors.norms(Pooling.POOLER, None), np.linalg.norm(pooler, axis=1), rtol=1e-5)


@pytest.mark.parametrize("model_type", ["bert", "mpnet", "albert", "electra", "distilbert", "roberta", "modernbert"])
def test_vectors_are_those_of_transformers_one_sentence_at_a_time(model_type: str, tmp_path: Path) -> None:
    assert model_type in ARCHITECTURES
    folder = write_model(tmp_path / "model", model_type)
    encoder = Encoder(models.find(str(folder)), device="cpu", token_budget=24)
    check(encoder.vectors(SENTENCES), *expected_of(folder, SENTENCES))


def test_the_fast_way_and_the_models_own_pool_alike(tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = Encoder(tiny_weights, device="cpu")
    assert isinstance(fast._forward, Blocks)
    monkeypatch.setattr(
        "clsviz.encoder.choice._pools_alike", lambda *_: False
    )  # as where the blocks do not reproduce the model
    slow = Encoder(tiny_weights, device="cpu")
    assert "does not reproduce" in slow.slower_because
    for pooling in POOLED:
        np.testing.assert_allclose(
            fast.vectors(SENTENCES).of(pooling, 1), slow.vectors(SENTENCES).of(pooling, 1), atol=2e-3
        )


def test_vectors_have_the_same_norms_as_norms_have(minilm_encoder: Encoder) -> None:
    sentences = [
        "A sentence.",
        "Another one, which is a good deal longer than the first.",
        "Sinan loves a beautiful day",
    ]
    norms, vectors = minilm_encoder.measure(sentences), minilm_encoder.vectors(sentences)
    np.testing.assert_allclose(vectors.cls_norms, norms.cls_norms, rtol=1e-5)
    np.testing.assert_allclose(vectors.pooler_norms, norms.pooler_norms, rtol=1e-5)
    np.testing.assert_array_equal(vectors.n_tokens, norms.n_tokens)
    np.testing.assert_allclose(np.linalg.norm(vectors.of(Pooling.CLS, None), axis=1), norms.cls_norms[:, -1], rtol=1e-3)


def test_the_gain_and_bias_of_each_layer_are_found(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "bert")
    encoder = Encoder(models.find(str(folder)), device="cpu")
    model = transformers.AutoModel.from_pretrained(folder)
    norms = [model.embeddings.LayerNorm, *(layer.output.LayerNorm for layer in model.encoder.layer)]
    expected = np.stack([[norm.weight.detach().numpy(), norm.bias.detach().numpy()] for norm in norms])
    np.testing.assert_array_equal(encoder.layer_norms, expected)
    np.testing.assert_array_equal(encoder.vectors(["a cat"]).layer_norms, expected)


def test_a_layer_that_hands_on_sums_has_no_gain(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "modernbert", "modernbert")
    gains = Encoder(models.find(str(folder)), device="cpu").layer_norms[:, 0, 0]
    assert np.isnan(gains).tolist() == [False, True, True, False]


def test_packing_keeps_what_tells_nearly_equal_vectors_apart() -> None:
    exact = (100 + 1e-3 * np.random.default_rng(0).normal(size=(50, 8))).astype(np.float32)
    packed = Packed.of([exact, np.full((50, 8), 7, np.float32)])
    assert packed.deviations.dtype == np.float16
    np.testing.assert_allclose(packed.unpack(0), exact, atol=2e-5)  # float16 itself would be off by 0.03
    np.testing.assert_array_equal(packed.unpack(1), 7)


def test_packing_keeps_components_beyond_the_range_of_16_bits() -> None:
    exact = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32) * 1e6
    np.testing.assert_allclose(Packed.of([exact]).unpack(0), exact, atol=1e3)


def test_parts_of_vectors_come_back_from_the_store_and_join(tiny_encoder: Encoder, store: Store) -> None:
    key = Key("model", "corpus", 0, 512, "float32", Kind.VECTORS)
    sentences = random_sentences(60, seed=2)
    for start, stop in ((0, 32), (32, 60)):
        store.append(key, start, tiny_encoder.vectors(sentences[start:stop]), seconds=1)
    parts = store.parts(key)
    read = [store.read(parts[start]) for start in sorted(parts)]
    joined = Vectors.concatenate([part for part in read if isinstance(part, Vectors)])
    whole = tiny_encoder.vectors(sentences)
    for name in ("n_tokens", "truncated", "cls_norms", "pooler_norms", "mean_norms", "max_norms", "layer_norms"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-6)
    for pooling in Pooling:
        np.testing.assert_allclose(joined.of(pooling, None), whole.of(pooling, None), atol=2e-3)
        assert joined.head(40).of(pooling, None).shape == (40, whole.width)
    n_components = sum(len(part) for part in (joined,)) * whole.width * (3 * (whole.n_layers + 1) + 1)
    overhead = 20_000
    assert sum(part.path.stat().st_size for part in parts.values()) < 2 * n_components + overhead


def test_a_damaged_part_of_vectors_is_dropped(tiny_encoder: Encoder, store: Store) -> None:
    key = Key("model", "corpus", 0, 512, "float32", Kind.VECTORS)
    part = store.append(key, 0, tiny_encoder.vectors(SENTENCES), seconds=1)
    content = bytearray(part.path.read_bytes())
    content[-3] ^= 1
    part.path.write_bytes(content)
    assert store.read(part) is None
    assert not part.path.exists()


def test_norms_and_vectors_of_the_same_are_kept_apart(store: Store) -> None:
    norms, vectors = (Key("model", "corpus", 0, 512, "float32", kind) for kind in Kind)
    assert norms.folder_name.startswith("norms-")
    assert vectors.folder_name.startswith("vectors-")


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


def test_more_vectors_keep_those_that_are_there_and_fewer_are_their_beginning(
    experiment: Experiment, store: Store
) -> None:
    Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())
    first = {path: path.stat().st_mtime_ns for path in store.root.glob("vectors-*/*.safetensors")}
    more = Experiment(experiment.model, experiment.corpus, sample_size=300, probe_size=250)
    found = Extraction(more, store, Encoders(), kind=Kind.VECTORS).run(Progress())
    assert len(found.vectors) == 250
    assert all(path.stat().st_mtime_ns == time for path, time in first.items())
    fewer = Extraction(
        Experiment(experiment.model, experiment.corpus, sample_size=300, probe_size=40),
        store,
        Encoders(),
        kind=Kind.VECTORS,
    )
    assert fewer.look_up(Progress()).seconds == 0
    assert fewer.found is not None
    assert fewer.found.vectors.of(Pooling.CLS, None).shape == (40, 16)


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


def test_no_sentence_gives_no_vectors(tiny_encoder: Encoder) -> None:
    assert len(tiny_encoder.vectors([])) == 0


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
