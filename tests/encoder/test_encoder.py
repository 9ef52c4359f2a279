from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from support.reference import encoder_of
from support.tiny import random_sentences, write_bert

from clsviz.encoder import Encoder
from clsviz.errors import CancelledError, ModelError
from clsviz.measurements import Kind
from clsviz.models import Weights

SENTENCES = [*random_sentences(60, seed=3, longest=40), "cat", "", "the " * 200, "cat"]


def reference(weights: Weights, sentence: str) -> tuple[np.ndarray, float, int]:
    """Norms of one sentence by transformers' own means: a tokenizer that truncates, a model that gives all states."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)
    model = transformers.AutoModel.from_pretrained(weights.folder, dtype=torch.float32).eval()
    limit = min(512, model.config.max_position_embeddings)
    inputs = tokenizer(sentence, truncation=True, max_length=limit, return_tensors="pt")
    with torch.inference_mode():
        output = model(**inputs, output_hidden_states=True)
    norms = [float(state[0, 0].double().norm()) for state in output.hidden_states]
    length = len(tokenizer(sentence)["input_ids"]) - 2
    return np.array(norms), float(output.pooler_output[0].double().norm()), length


def test_measurements_are_those_of_transformers_one_sentence_at_a_time(tiny_encoder: Encoder) -> None:
    measured = tiny_encoder.measure(SENTENCES)
    for index, sentence in enumerate(SENTENCES):
        norms, pooler_norm, length = reference(tiny_encoder.weights, sentence)
        np.testing.assert_allclose(measured.cls_norms[index], norms, rtol=1e-5)
        np.testing.assert_allclose(measured.pooler_norms[index, 0], pooler_norm, rtol=1e-5)
        assert measured.n_tokens[index] == length
        assert measured.truncated[index] == (length > 62)
    assert measured.cls_norms.dtype == measured.pooler_norms.dtype == np.float32
    assert measured.truncated.sum() == 1


def test_the_built_in_model_agrees_with_transformers(minilm_encoder: Encoder) -> None:
    sentences = ["Sinan loves a beautiful day", "Hi.", "Words and " * 300, "Ünïcödé 漢字 👋🏽", "\N{ZERO WIDTH SPACE}"]
    measured = minilm_encoder.measure(sentences)
    for index, sentence in enumerate(sentences):
        norms, pooler_norm, length = reference(minilm_encoder.weights, sentence)
        np.testing.assert_allclose(measured.cls_norms[index], norms, rtol=1e-5)
        np.testing.assert_allclose(measured.pooler_norms[index, 0], pooler_norm, rtol=1e-5)
        assert measured.n_tokens[index] == length
    assert measured.n_layers == 6
    assert measured.truncated.tolist() == [False, False, True, False, False]


def test_batches_change_nothing(minilm_encoder: Encoder) -> None:
    sentences = [" ".join(sentence.split()[:words]) for sentence in SENTENCES[:40] for words in (1, 7, 30)]
    together = minilm_encoder.measure(sentences)
    alone = [minilm_encoder.measure([sentence]) for sentence in sentences]
    np.testing.assert_allclose(together.cls_norms, np.concatenate([one.cls_norms for one in alone]), rtol=1e-5)
    np.testing.assert_allclose(together.pooler_norms, np.concatenate([one.pooler_norms for one in alone]), rtol=1e-5)


def test_the_embedding_layer_says_nothing_of_the_sentence(tiny_encoder: Encoder) -> None:
    assert np.ptp(tiny_encoder.measure(SENTENCES).cls_norms[:, 0]) == 0


def test_duplicates_are_measured_once(tiny_encoder: Encoder) -> None:
    rows = []
    hook = torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, inputs: rows.append(len(inputs[0])) if isinstance(module, torch.nn.Embedding) else None
    )
    sentences = ["the cat", "a dog", "the cat", "the cat"]
    measured = tiny_encoder.measure(sentences)
    hook.remove()
    assert max(rows) == 2
    assert measured.cls_norms[0].tolist() == measured.cls_norms[2].tolist() == measured.cls_norms[3].tolist()
    assert measured.cls_norms[0].tolist() != measured.cls_norms[1].tolist()


def test_every_batch_is_reported_and_can_end_the_work(tiny_weights: Weights) -> None:
    encoder = Encoder(tiny_weights, device="cpu", token_budget=64)
    done: list[int] = []
    encoder.measure(SENTENCES, done.append)
    assert done == sorted(set(done))
    assert done[-1] == len(SENTENCES)

    def stop(_: int) -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        encoder.measure(SENTENCES, stop)


def test_runs_of_sentences_are_measured_one_after_the_other(tiny_encoder: Encoder) -> None:
    runs = [SENTENCES[:20], SENTENCES[20:21], SENTENCES[21:]]
    for kind in Kind:
        done: list[int] = []
        measured = list(tiny_encoder.stream(runs, done.append, kind))
        assert [len(one) for one in measured] == [len(run) for run in runs]
        assert (done == sorted(done), done[-1]) == (True, len(SENTENCES))
        expected = tiny_encoder.measure(SENTENCES).cls_norms
        np.testing.assert_allclose(np.concatenate([one.cls_norms for one in measured]), expected, rtol=1e-5)


def test_another_fault_of_the_model_is_not_taken_for_memory(tiny_encoder: Encoder) -> None:
    def fault(*_: Any) -> None:
        raise RuntimeError("shapes do not match")

    hook = torch.nn.modules.module.register_module_forward_pre_hook(fault)
    try:
        with pytest.raises(RuntimeError, match="shapes"):
            tiny_encoder.measure(["the cat"])
    finally:
        hook.remove()


def test_norms_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    path = write_bert(tmp_path) / "model.safetensors"
    tensors = load_file(path)
    tensors["embeddings.word_embeddings.weight"].fill_(float("nan"))
    save_file(tensors, path, metadata={"format": "pt"})
    encoder = encoder_of(tmp_path)
    for measure in (encoder.measure, encoder.vectors, encoder.cls_and_pooler):
        with pytest.raises(ModelError, match="vectors that are not finite"):
            measure(["the cat"])


def test_norms_that_overflow_are_reported_though_the_vectors_are_finite(tmp_path: Path) -> None:
    """So nothing stored is ever infinite, and what is infinite there is damage."""
    path = write_bert(tmp_path, pooler=False) / "model.safetensors"
    tensors = load_file(path)
    tensors["encoder.layer.1.output.LayerNorm.weight"].fill_(1e25)
    save_file(tensors, path, metadata={"format": "pt"})
    encoder = encoder_of(tmp_path)
    assert np.isfinite(encoder.cls_and_pooler(["the cat"])[0]).all()
    for measure in (encoder.measure, encoder.vectors):
        with pytest.raises(ModelError, match="vectors that are not finite"):
            measure(["the cat"])


def test_a_model_without_pooler_has_no_pooler_norm(tmp_path: Path) -> None:
    encoder = encoder_of(write_bert(tmp_path / "m", pooler=False))
    assert not encoder.has_pooler
    assert encoder.measure(["the cat"]).pooler_norms.shape == (1, 0)
