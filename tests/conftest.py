"""What tests of several folders need: a tiny model, a store, a corpus."""

from pathlib import Path

import pytest

from clsviz.sources.models import Weights

WORDS = (
    *("the", "a", "cat", "dog", "bird", "sees", "hears", "sings", "small", "green"),
    *("old", "runs", "in", "on", "garden", "house", "and", "or"),
)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT of two layers, whose LayerNorms vary, with a tokenizer of words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("models") / "tiny"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: number for number, word in enumerate([*special, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=64,
    ).save_pretrained(folder)
    torch.manual_seed(0)
    model = BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
        )
    )
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
