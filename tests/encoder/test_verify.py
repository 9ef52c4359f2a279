from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from support.reference import encoder_of, norms, norms_by_transformers
from support.tiny import SPECIAL, WORDS, random_sentences, write_bert, write_model, write_tokenizer

from clsviz.encoder import has_fast_bfloat16
from clsviz.encoder.load import Loaded, load
from clsviz.encoder.verify import choose
from clsviz.errors import ModelError
from clsviz.sources import models

CPU = torch.device("cpu")
SENTENCES = [*random_sentences(30, seed=4, longest=40), "cat", "", "the " * 300 + "cat " * 210, "cat", "the " * 600]


def load_from(folder: Path) -> Loaded:
    return load(models.find(str(folder)))


def test_a_model_that_only_looks_like_its_type_runs_another_way(tmp_path: Path) -> None:
    """ALBERT may have several blocks in a group: the fast pass knows one, and its check finds that out."""
    folder = write_model(tmp_path, "albert", inner_group_num=2)
    encoder = encoder_of(folder)
    assert encoder.slow_path_reason.startswith("the fast forward pass does not reproduce this model")
    np.testing.assert_allclose(norms(encoder, SENTENCES), norms_by_transformers(folder, SENTENCES), rtol=1e-5)


def test_linears_that_do_not_reproduce_the_model_are_put_back(tmp_path: Path) -> None:
    """A hook on a layer changes what it gives; the layer put in its place knows nothing of it."""
    loaded = load_from(write_model(tmp_path, "modernbert"))
    name, layer = next((n, module) for n, module in loaded.model.named_modules() if type(module) is torch.nn.Linear)
    hook = layer.register_forward_hook(lambda layer, inputs, output: output * 1.001)
    assert choose(loaded, CPU, torch.float32).slow_path_reason.endswith("; it runs unmodified")
    assert loaded.model.get_submodule(name) is layer
    hook.remove()
    layer.register_forward_hook(lambda layer, inputs, output: output * 2)
    if has_fast_bfloat16(CPU):
        with pytest.raises(ModelError, match="can only be measured in the exact precision"):
            choose(loaded, CPU, torch.bfloat16)
    assert loaded.model.get_submodule(name) is layer


def test_linears_that_reproduce_the_model_are_replaced(tmp_path: Path) -> None:
    loaded = load_from(write_model(tmp_path, "modernbert"))
    before = {name for name, module in loaded.model.named_modules() if type(module) is torch.nn.Linear}
    choice = choose(loaded, CPU, torch.float32)
    after = {name for name, module in loaded.model.named_modules() if type(module) is torch.nn.Linear}
    assert before
    assert bool(after) == choice.slow_path_reason.endswith("; it runs unmodified")


def test_a_model_does_not_keep_the_blocks_that_were_copied(tmp_path: Path) -> None:
    loaded = load_from(write_model(tmp_path, "bert"))
    assert any(".layer." in name for name, _ in loaded.model.named_parameters())
    choose(loaded, CPU, torch.float32)
    assert not any(".layer." in name for name, _ in loaded.model.named_parameters())


def write_other(folder: Path, name: str, **settings: Any) -> Path:
    """A model of a type that has no fast forward pass, with random weights."""
    torch.manual_seed(0)
    shape = {"vocab_size": len(SPECIAL) + len(WORDS), "hidden_size": 16, "num_hidden_layers": 2, "pad_token_id": 0}
    shape |= {"num_attention_heads": 2, "intermediate_size": 32}
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**{**shape, **settings}))
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


@pytest.mark.parametrize(("name", "settings"), [("ConvBert", {"embedding_size": 16, "head_ratio": 1}), ("FNet", {})])
def test_what_padding_changes_is_measured_one_length_at_a_time(
    tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    """Some models mix the padding into the sentence in spite of its mask."""
    folder = write_other(tmp_path, name, **settings)
    encoder = encoder_of(folder)
    assert encoder.slow_path_reason.endswith("padding changes its output, so each length is measured by itself")
    np.testing.assert_allclose(norms(encoder, SENTENCES[:32]), norms_by_transformers(folder, SENTENCES[:32]), rtol=1e-5)


def test_the_gain_and_bias_of_each_layer_are_found(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "bert")
    encoder = encoder_of(folder)
    model = transformers.AutoModel.from_pretrained(folder)
    norms = [model.embeddings.LayerNorm, *(layer.output.LayerNorm for layer in model.encoder.layer)]
    expected = np.stack([[norm.weight.detach().numpy(), norm.bias.detach().numpy()] for norm in norms])
    np.testing.assert_array_equal(encoder.layer_norms, expected)
    np.testing.assert_array_equal(encoder.vectors(["a cat"]).layer_norms, expected)


def test_a_layer_that_hands_on_sums_has_no_gain(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "modernbert", "modernbert")
    gains = encoder_of(folder).layer_norms[:, 0, 0]
    assert np.isnan(gains).tolist() == [False, True, True, False]
