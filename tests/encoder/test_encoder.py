"""What an encoder measures, compared with transformers' own forward pass over one sentence at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose
from safetensors.torch import load_file, save_file
from support.processor import needs_bfloat16
from support.reference import encoder_of, norms, norms_by_transformers, states_by_transformers
from support.tiny import ARCHITECTURES, random_sentences, write_bert, write_model

from clsviz.encoder import Encoder
from clsviz.encoder.fast_pass import LAYOUTS
from clsviz.errors import CancelledError, ModelError
from clsviz.measurements import POOLED, Kind
from clsviz.settings import Pooling, Precision
from clsviz.sources.models import Weights

SENTENCES = [*random_sentences(30, seed=4, longest=40), "cat", "", "the " * 300 + "cat " * 210, "cat", "the " * 600]
BY_HAND = {
    Pooling.CLS: lambda state: state[0],
    Pooling.MEAN: lambda state: state.mean(0),
    Pooling.MAX: lambda state: state.max(0),
}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / request.param, request.param)


def test_every_norm_is_that_of_the_models_own_forward_pass(folder: Path) -> None:
    """Of all lengths from one token to 512, with duplicates, in batches of several lengths and alone."""
    expected = norms_by_transformers(folder, SENTENCES)
    encoder = encoder_of(folder)
    assert_allclose(norms(encoder, SENTENCES), expected, rtol=1e-5)
    assert_allclose(norms(encoder_of(folder, token_budget=64), SENTENCES), expected, rtol=1e-5)
    assert_allclose(np.concatenate([norms(encoder, [one]) for one in SENTENCES]), expected, rtol=1e-5)
    if folder.name in LAYOUTS:
        assert encoder.slow_path_reason == ""
    else:
        assert encoder.slow_path_reason == (
            f"there is no fast forward pass for models of the type {folder.name}; "
            "its linear layers are replaced by faster ones"
        )


def test_every_vector_is_that_of_the_models_own_forward_pass(folder: Path) -> None:
    sentences = [*SENTENCES[:12], *SENTENCES[-5:]]
    expected = states_by_transformers(folder, sentences)
    encoder = encoder_of(folder, token_budget=24)
    vectors, by_layer = encoder.vectors(sentences), encoder.cls_by_layer(sentences)
    for layer in range(encoder.n_layers + 1):
        for pooling in POOLED:
            own = np.stack([BY_HAND[pooling](states[layer]) for states, _ in expected])
            # Kept in 16 bits: to a part in 2000 of how far the farthest number is from the mean of all sentences.
            assert_allclose(vectors.of(pooling, layer), own, atol=1e-3 * np.abs(own - own.mean(0)).max() + 1e-5)
            assert_allclose(vectors.norms(pooling, layer), np.linalg.norm(own, axis=1), rtol=1e-5)
        assert_allclose(by_layer[layer], np.stack([states[layer][0] for states, _ in expected]), atol=3e-5)
    cls, pooler = encoder.cls_and_pooler(sentences)
    np.testing.assert_array_equal(cls, by_layer[-1])
    assert cls.dtype == pooler.dtype == np.float32
    own = np.array([output[0] if output else [] for _, output in expected], np.float32)
    assert_allclose(pooler, own, atol=3e-5)
    assert vectors.has_pooler == encoder.has_pooler == bool(own.size)
    if vectors.has_pooler:
        assert_allclose(vectors.of(Pooling.POOLER, None), own, atol=1e-3)
        assert_allclose(vectors.norms(Pooling.POOLER, None), np.linalg.norm(own, axis=1), rtol=1e-5)


def test_the_built_in_model_agrees_with_transformers(minilm_encoder: Encoder) -> None:
    sentences = ["Sinan loves a beautiful day", "Hi.", "Words and " * 300, "Ünïcödé 漢字 👋🏽", "\N{ZERO WIDTH SPACE}"]
    folder, measured = minilm_encoder.weights.folder, minilm_encoder.measure(sentences)
    assert_allclose(norms(minilm_encoder, sentences), norms_by_transformers(folder, sentences), rtol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert measured.n_tokens.tolist() == [len(tokenizer(one)["input_ids"]) - 2 for one in sentences]
    assert measured.cls_norms.dtype == measured.pooler_norms.dtype == np.float32
    assert measured.n_layers == 6
    assert measured.truncated.tolist() == [False, False, True, False, False]


@needs_bfloat16
def test_every_architecture_is_nearly_right_in_the_fast_precision(folder: Path) -> None:
    expected = norms_by_transformers(folder, SENTENCES)
    fast = norms(encoder_of(folder, precision=Precision.FAST), SENTENCES)
    assert_allclose(fast, expected, rtol=0.05)
    assert np.abs(fast / expected - 1).max() > 1e-5, "this was computed in float32"


@pytest.mark.parametrize(
    ("model_type", "settings"),
    [
        *(("bert", {"hidden_act": name}) for name in ("gelu_new", "relu", "silu")),
        ("bert", {"layer_norm_eps": 0.1}),
        ("albert", {"num_hidden_groups": 2, "num_hidden_layers": 5}),
        ("albert", {"num_hidden_layers": 1}),
    ],
)
def test_settings_that_change_the_numbers_are_followed(tmp_path: Path, model_type: str, settings: dict) -> None:
    folder = write_model(tmp_path, model_type, **settings)
    encoder = encoder_of(folder)
    assert encoder.slow_path_reason == ""
    assert_allclose(norms(encoder, SENTENCES), norms_by_transformers(folder, SENTENCES), rtol=1e-5)


def test_every_layout_is_tested() -> None:
    assert set(LAYOUTS) - set(ARCHITECTURES) == {"camembert"}  # built as roberta


def test_no_sentences_have_no_numbers(tiny_encoder: Encoder) -> None:
    for measure in (tiny_encoder.measure, tiny_encoder.vectors, lambda none: tiny_encoder.cls_and_pooler(none)[0]):
        assert len(measure([])) == 0


def test_tokens_are_the_same_only_in_the_same_position(folder: Path) -> None:
    """RoBERTa and its kin count positions without padding, so a word that follows some has another one."""
    sentences = [
        "cat cat the cat",
        "[PAD] cat the cat",
        "the [PAD] cat cat",
        "the cat [PAD] cat",
        "cat cat the cat cat",
    ]
    encoder = encoder_of(folder)
    assert "[PAD]" in encoder.tokens(sentences[1])
    assert (encoder.slow_path_reason == "") == (folder.name in LAYOUTS)
    assert_allclose(norms(encoder, sentences), norms_by_transformers(folder, sentences), rtol=1e-5)


@needs_bfloat16
def test_the_sums_between_blocks_are_exact_in_the_fast_precision(minilm_encoder: Encoder) -> None:
    """Rounded to bfloat16 they would err by some 1e-3 after every layer."""
    sentences = ["The quick brown fox jumps over the lazy dog.", "Return the length.", "A third sentence, at last."] * 5
    exact = minilm_encoder.measure(sentences).cls_norms
    fast = Encoder(minilm_encoder.weights, Precision.FAST, device="cpu").measure(sentences).cls_norms
    assert np.abs(fast / exact - 1)[:, :4].max() < 5e-5
    assert np.abs(fast / exact - 1).max() < 5e-3


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


def test_a_model_without_pooler_has_no_pooler_norm(tmp_path: Path) -> None:
    encoder = encoder_of(write_bert(tmp_path / "m", pooler=False))
    assert not encoder.has_pooler
    assert encoder.measure(["the cat"]).pooler_norms.shape == (1, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("embeddings.word_embeddings.weight", float("nan")), ("encoder.layer.1.output.LayerNorm.weight", 1e25)],
)
def test_norms_that_are_not_finite_are_reported_though_the_vectors_may_be(
    name: str, value: float, tmp_path: Path
) -> None:
    """So nothing stored is ever infinite, and what is infinite there is damage."""
    path = write_bert(tmp_path, pooler=False) / "model.safetensors"
    tensors = load_file(path)
    tensors[name].fill_(value)
    save_file(tensors, path, metadata={"format": "pt"})
    encoder = encoder_of(tmp_path)
    if value == 1e25:
        assert np.isfinite(encoder.cls_and_pooler(["the cat"])[0]).all()
    else:
        with pytest.raises(ModelError, match="vectors that are not finite"):
            encoder.cls_and_pooler(["the cat"])
    for measure in (encoder.measure, encoder.vectors):
        with pytest.raises(ModelError, match="vectors that are not finite"):
            measure(["the cat"])
