from pathlib import Path

import numpy as np
import pytest
from support.processor import needs_bfloat16
from support.reference import encoder_of, norms, norms_by_transformers
from support.tiny import ARCHITECTURES, random_sentences, write_model, write_tokenizer

from clsviz.encoder import Encoder
from clsviz.encoder.layouts import LAYOUTS
from clsviz.settings import Precision

BUILT_LIKE_BERT = [name for name in ARCHITECTURES if name in LAYOUTS]
SENTENCES = [*random_sentences(30, seed=4, longest=40), "cat", "", "the " * 300 + "cat " * 210, "cat", "the " * 600]


@pytest.fixture(scope="module", params=ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / request.param, request.param)


def test_every_architecture_measures_what_its_own_forward_pass_does(folder: Path) -> None:
    """Of all lengths from one token to 512, with duplicates, in batches of several lengths and alone."""
    expected = norms_by_transformers(folder, SENTENCES)
    encoder = encoder_of(folder)
    np.testing.assert_allclose(norms(encoder, SENTENCES), expected, rtol=1e-5)
    np.testing.assert_allclose(norms(encoder_of(folder, token_budget=64), SENTENCES), expected, rtol=1e-5)
    alone = np.concatenate([norms(encoder, [sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(alone, expected, rtol=1e-5)
    if folder.name in BUILT_LIKE_BERT:
        assert encoder.slow_path_reason == ""
    else:
        assert encoder.slow_path_reason == (
            f"there is no fast forward pass for models of the type {folder.name}; "
            "its linear layers are replaced by faster ones"
        )


def test_the_side_on_which_a_tokenizer_pads_does_not_matter(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    write_tokenizer(tmp_path, padding_side="left")
    np.testing.assert_allclose(
        norms(encoder_of(tmp_path), SENTENCES), norms_by_transformers(folder, SENTENCES), rtol=1e-5
    )


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
    assert (encoder.slow_path_reason == "") == (folder.name in BUILT_LIKE_BERT)
    np.testing.assert_allclose(norms(encoder, sentences), norms_by_transformers(folder, sentences), rtol=1e-5)


@needs_bfloat16
def test_every_architecture_is_nearly_right_in_the_fast_precision(folder: Path) -> None:
    expected = norms_by_transformers(folder, SENTENCES)
    fast = norms(encoder_of(folder, precision=Precision.FAST), SENTENCES)
    np.testing.assert_allclose(fast, expected, rtol=0.05)
    assert np.abs(fast / expected - 1).max() > 1e-5, "this was computed in float32"


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu"])
def test_every_activation_is_the_models_own(tmp_path: Path, activation: str) -> None:
    folder = write_model(tmp_path, "bert", hidden_act=activation)
    encoder = encoder_of(folder)
    assert encoder.slow_path_reason == ""
    np.testing.assert_allclose(norms(encoder, SENTENCES), norms_by_transformers(folder, SENTENCES), rtol=1e-5)


@pytest.mark.parametrize("settings", [{"num_hidden_groups": 2, "num_hidden_layers": 5}, {"num_hidden_layers": 1}])
def test_blocks_that_are_used_again_come_in_the_models_order(tmp_path: Path, settings: dict[str, int]) -> None:
    folder = write_model(tmp_path, "albert", **settings)
    encoder = encoder_of(folder)
    assert encoder.slow_path_reason == ""
    np.testing.assert_allclose(norms(encoder, SENTENCES), norms_by_transformers(folder, SENTENCES), rtol=1e-5)


@needs_bfloat16
def test_the_sums_between_blocks_are_exact_in_the_fast_precision(minilm_encoder: Encoder) -> None:
    """Rounded to bfloat16 they would err by some 1e-3 after every layer."""
    sentences = ["The quick brown fox jumps over the lazy dog.", "Return the length.", "A third sentence, at last."] * 5
    exact = minilm_encoder.measure(sentences).cls_norms
    fast = Encoder(minilm_encoder.weights, Precision.FAST, device="cpu").measure(sentences).cls_norms
    assert np.abs(fast / exact - 1)[:, :4].max() < 5e-5
    assert np.abs(fast / exact - 1).max() < 5e-3


def test_every_layout_is_tested() -> None:
    assert set(LAYOUTS) - set(BUILT_LIKE_BERT) == {"camembert"}  # built as roberta
