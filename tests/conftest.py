"""What tests of several folders need: a tiny model, a store, a corpus."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clsviz.sources.models import Weights

WORDS = (
    *("the", "a", "cat", "dog", "bird", "sees", "hears", "sings", "small", "green"),
    *("old", "runs", "in", "on", "garden", "house", "and", "or"),
)


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_tokenizer(
    folder: Path, words: Sequence[str], is_bytes: bool = False, special: int = 5, **settings: Any
) -> None:
    """A tokenizer of words, or of bytes, that puts [CLS] first and [SEP] last."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokens = SPECIAL[:special]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {w: n for n, w in enumerate([*tokens, *(letters if is_bytes else words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if is_bytes:
        tokenizer = Tokenizer(models.BPE(vocabulary, []))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=settings.pop("frame", "[CLS] $A [SEP]"), special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{token[1:-1].lower()}_token": token for token in tokens} | settings
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT of two layers, whose LayerNorms vary, with a tokenizer of words."""
    import torch
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_tokenizer(folder, WORDS, special=4, model_max_length=64)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    shape |= {"intermediate_size": 32, "max_position_embeddings": 64}
    model = BertModel(BertConfig(vocab_size=4 + len(WORDS), **shape))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" in name:
                weight += 0.3 * torch.randn_like(weight)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_weights(tiny_model: Path) -> Weights:
    """The tiny model, ready to be measured."""
    return Weights("tiny", "Tiny", tiny_model, "0123456789abcdef")


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """300 different sentences of 1 to 40 words."""
    import random

    draw = random.Random(0)
    return [" ".join(draw.choices(WORDS, k=1 + n % 40)) + f" {n}" for n in range(300)]


@pytest.fixture(scope="session")
def corpus_file(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sentences in a text file."""
    path = tmp_path_factory.mktemp("corpora") / "sentences.txt"
    path.write_text("\n".join(sentences), "utf-8")
    return path
