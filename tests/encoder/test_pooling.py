"""Poolings, by the fast forward pass and by the model's own."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.reference import encoder_of
from support.tiny import ARCHITECTURES, write_bert, write_model

from clsviz.encoder.pooling import POOLINGS, pool
from clsviz.measurements import POOLED
from clsviz.settings import Pooling
from clsviz.vectors import Vectors

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
            # Kept in 16 bits: to a part in 2000 of how far the farthest number is from the mean of all sentences.
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
    encoder = encoder_of(folder, token_budget=24)
    check(encoder.vectors(SENTENCES), *expected_of(folder, SENTENCES))


def test_the_fast_way_and_the_models_own_pool_alike(tmp_path: Path) -> None:
    """The same weights, under the name of a type that is built like BERT and has no fast forward pass."""
    folder = write_bert(tmp_path)
    fast = encoder_of(folder)
    assert fast.slow_path_reason == ""
    config = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "ernie", "use_task_id": False}))
    slow = encoder_of(folder)
    assert "no fast forward pass for models of the type ernie" in slow.slow_path_reason
    for pooling in POOLED:
        np.testing.assert_allclose(
            fast.vectors(SENTENCES).of(pooling, 1), slow.vectors(SENTENCES).of(pooling, 1), atol=2e-3
        )
        norms = [encoder.vectors(SENTENCES).norms(pooling, 1) for encoder in (fast, slow)]
        np.testing.assert_allclose(*norms, rtol=1e-5)


def test_there_is_a_row_for_every_pooling() -> None:
    assert tuple(POOLINGS) == POOLED == (Pooling.CLS, Pooling.MEAN, Pooling.MAX)


@pytest.mark.parametrize("cls", [0, 1, -1])
def test_poolings_by_hand(cls: int) -> None:
    random = np.random.default_rng(0)
    runs = [random.normal(size=shape).astype(np.float32) for shape in ((2, 5, 4), (3, 2, 4))]
    pooled = pool([torch.from_numpy(run) for run in runs], cls).numpy()
    sentences = [sentence for run in runs for sentence in run]
    expected = [[s[cls] for s in sentences], [s.mean(0) for s in sentences], [s.max(0) for s in sentences]]
    np.testing.assert_allclose(pooled, np.array(expected), rtol=1e-6)
