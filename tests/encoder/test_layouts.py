"""Norms and vectors are those of transformers, one sentence at a time, for every kind of model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from clsviz.encoder import encoder as module
from clsviz.encoder.encoder import load
from clsviz.encoder.forward import LAYOUTS, OwnPass, has_bfloat16
from clsviz.encoder.passes import reduce
from clsviz.errors import SettingError
from clsviz.measurements import Last, Norms, Vectors
from clsviz.sources.models import Weights

from .conftest import KINDS, Build, weights


def norm(vectors: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([np.sqrt((vector**2).sum()) for vector in vectors])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_transformers(kind: str, build: Build, texts: list[str]) -> None:
    encoder, folder = load(build(kind)), build(kind).folder
    layouts = {model_type.replace("-", "") for model_type in LAYOUTS}
    assert isinstance(encoder.forward, OwnPass) == (kind.lower() in layouts)
    norms = Norms.from_slices([encoder.run(texts, "norms")])
    vectors = Vectors.from_slices([encoder.run(texts, "vectors")])
    last = Last.from_slices([encoder.run(texts, "last")])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    cut = {"truncation": True, "max_length": encoder.tokenizer.max_length}
    for i, sentence in enumerate(texts[:12]):
        tokens = tokenizer(sentence, return_tensors="pt", **cut)
        n = tokens["input_ids"].shape[1]
        if i == 0 or kind == "BigBird":  # which changes with use
            model = transformers.AutoModel.from_pretrained(folder)
        with torch.inference_mode():
            output = model(**tokens, output_hidden_states=True)
        layers = [*output.hidden_states[:-1], output.last_hidden_state]
        states = [layer[0, :n].double().numpy() for layer in layers]
        cls, means = [s[0] for s in states], [s.mean(0) for s in states]
        np.testing.assert_allclose(norms.cls[i], norm(cls), rtol=1e-6)
        np.testing.assert_allclose(vectors.mean[i], norm(means), rtol=1e-6)
        pairs = [(vectors.of("cls", 1), cls[1]), (vectors.of("mean"), means[-1])]
        pairs += [(last.of("cls"), cls[-1]), (last.of("mean"), means[-1])]
        if (pooled := output.get("pooler_output")) is not None:
            np.testing.assert_allclose(norms.pooler[i], norm(pooled.numpy()), rtol=1e-6)
            pairs += [(some.of("pooler"), pooled[0].numpy()) for some in (vectors, last)]
        assert norms.pooler.shape[1] == (pooled is not None)
        for own, expected in pairs:
            np.testing.assert_allclose(own[i], expected, rtol=3e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "pooling", "layer"),
    [
        *(("Bert", "cls", 4), ("Bert", "cls", -1), ("Bert", "mean", 1), ("Bert", "pooler", 1)),
        *(("DistilBert", "pooler", 3), ("DistilBert", "pooler", None)),
    ],
)
def test_vectors_that_a_model_lacks_are_refused(kind, pooling, layer, build) -> None:
    with pytest.raises(SettingError, match=r"layer|no pooler"):
        load(build(kind)).encode(["the cat"], pooling, layer)


def test_sentences_are_truncated_as_by_transformers(build: Build, texts: list[str]) -> None:
    arrays = load(build("Roberta")).run(texts, "norms")
    n_words = np.array([len(text.split()) for text in texts])
    np.testing.assert_array_equal(arrays["n_tokens"], n_words)
    np.testing.assert_array_equal(arrays["truncated"], n_words > 63)  # 66 positions, one reserved
    assert 0 < arrays["truncated"].sum() < len(texts)


def test_dimensions_of_no_gain_are_flat(bert: Path, texts: list[str]) -> None:
    model = transformers.BertModel.from_pretrained(bert)
    with torch.no_grad():
        model.encoder.layer[-1].output.LayerNorm.weight[5] = 1e-9
        model.encoder.layer[-1].output.LayerNorm.bias[5] = 0
    model.save_pretrained(bert)
    vectors = Vectors.from_slices([load(weights(bert)).run(texts, "vectors")])
    for pooling in ("cls", "mean"):
        assert np.flatnonzero(np.ptp(vectors.of(pooling), axis=0) == 0).tolist() == [5]


def test_memory_that_runs_out_halves_batches(build, texts, monkeypatch) -> None:
    def norms_of_few(forward: Any, batch: Any, kind: Any) -> Any:
        if sum(map(len, batch)) > 2:
            raise MemoryError
        return reduce(forward, batch, kind)

    encoder = load(build("Bert"))
    all_at_once = encoder.run(texts, "norms")
    monkeypatch.setattr(module, "reduce", norms_of_few)
    few = encoder.run(texts, "norms")
    np.testing.assert_allclose(few["cls"], all_at_once["cls"], rtol=1e-6)


def test_random_weights_depend_on_the_seed_alone(build: Build, texts: list[str]) -> None:
    folder, state = build("Bert").folder, torch.get_rng_state()
    norms = [
        load(Weights("untrained", "Untrained", folder, f"{i}", True, seed)).run(texts, "norms")
        for i, seed in enumerate([1, 1, 2])
    ]
    np.testing.assert_array_equal(norms[0]["pooler"], norms[1]["pooler"])
    assert not np.isclose(norms[0]["pooler"], norms[2]["pooler"]).any()
    assert torch.equal(state, torch.get_rng_state())


def test_fast_reports_its_error_or_is_refused(build: Build, texts: list[str]) -> None:
    with pytest.raises(SettingError, match=r"fast|bfloat16"):
        load(build("Albert"), "fast")
    if not has_bfloat16(torch.device("cpu")):
        pytest.skip("no products in bfloat16")
    fast, exact = (load(build("Bert"), p).run(texts, "norms") for p in ("fast", "exact"))
    error = np.abs(fast["cls"] / exact["cls"] - 1)
    np.testing.assert_allclose(fast["error"][:8], error[:8], atol=1e-6)
    assert np.isnan(fast["error"][8:]).all()
    assert np.isnan(exact["error"]).all()
    assert 1e-5 < error.max() < 0.05


def test_no_sentences_have_no_norms(build: Build) -> None:
    assert load(build("DistilBert")).run([], "norms")["cls"].shape == (0, 4)
