from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from support.reference import encoder_of, norms, norms_by_transformers
from support.tiny import SPECIAL, WORDS, random_sentences, write_model, write_tokenizer

from clsviz import models
from clsviz.encoder import has_fast_bfloat16
from clsviz.encoder.load import Loaded, load
from clsviz.encoder.verify import choose
from clsviz.errors import ModelError

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


def test_a_model_whose_cls_sees_nothing_is_refused(tmp_path: Path) -> None:
    """As a decoder's whose tokenizer has a [CLS]: every sentence would have the same."""
    config = transformers.GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="does not see the words that follow it: this is a decoder"):
        encoder_of(tmp_path)


def test_a_decoder_with_something_before_its_cls_is_refused(tmp_path: Path) -> None:
    config = transformers.GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[SEP] [CLS] $A", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match="this is a decoder"):
        encoder_of(tmp_path)
