"""Real things to test with, as small as they can be: models, tokenizers, datasets, sentences.

Large libraries are imported where they are used: the process that hands out the tests loads this, and needs none.
"""

import hashlib
import random
from pathlib import Path

WORDS = [
    *("the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "and"),
    *("saw", "big", "small", "red", "old", "very", "quickly", "then", "home", "."),
    # so many words that sentences of random ones are not alike
    *("bird", "fish", "house", "river", "stone", "green", "blue", "tall", "slow", "loud"),
    *("walked", "slept", "jumped", "over", "near", "behind", "often", "never", "with", "but"),
]


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_tokenizer(folder: Path, **settings: object) -> None:
    """A real WordPiece tokenizer of a few words, with BERT's special tokens."""
    import tokenizers
    import transformers

    vocabulary = {token: index for index, token in enumerate([*SPECIAL, *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        **settings,
    ).save_pretrained(folder)


def write_bert(folder: Path, *, pooler: bool = True, **settings: object) -> Path:
    """A real BERT of two layers with random weights, and its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS), max_position_embeddings=64, **{**shape, **settings}
    )
    model = transformers.BertModel(config, add_pooling_layer=pooler)
    for parameter in model.parameters():  # far from the start of a training, where all norms are alike
        parameter.data.normal_(0, 0.4)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


ARCHITECTURES = {
    "bert": ("Bert", {}),
    "roberta": ("Roberta", {}),
    "xlm-roberta": ("XLMRoberta", {}),
    "electra": ("Electra", {"embedding_size": 8}),
    "mpnet": ("MPNet", {}),
    "distilbert": ("DistilBert", {}),
    "albert": ("Albert", {"embedding_size": 8, "num_hidden_groups": 1}),
    "deberta-v2": ("DebertaV2", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "modernbert": ("ModernBert", {"global_attn_every_n_layers": 2, "local_attention": 8}),
}
"""Encoders by their model type: the beginning of their classes' names, and what their configuration needs."""


def write_model(folder: Path, model_type: str, **settings: object) -> Path:
    """A real model of three layers with random weights, which reads 512 tokens, and its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(0)
    name, needed = ARCHITECTURES[model_type]
    vocabulary = {"vocab_size": len(SPECIAL) + len(WORDS), "pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3}
    vocabulary |= {"bos_token_id": 2, "eos_token_id": 3}
    shape: dict[str, object] = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
    inner = {"hidden_dim": 32} if model_type == "distilbert" else {"intermediate_size": 32}
    config = getattr(transformers, f"{name}Config")(
        **{**vocabulary, **shape, **inner, "max_position_embeddings": 514, **needed, **settings}
    )
    model = getattr(transformers, f"{name}Model")(config)
    for parameter in model.parameters():  # far from the start of a training, where all norms are alike
        parameter.data.normal_(0, 0.3)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def write_dataset(folder: Path, splits: dict[str, dict[str, list[str]]], row_group_size: int = 100) -> Path:
    """A dataset as the Hub's conversion leaves it: the texts of each split of each configuration."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for configuration, texts_of in splits.items():
        for split, texts in texts_of.items():
            path = folder / configuration / split / "0000.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = pa.table({"id": range(len(texts)), "text": texts})
            pq.write_table(table, path, row_group_size=row_group_size)
    return folder


def random_sentences(n: int, seed: int, longest: int = 30) -> list[str]:
    """Different sentences of the tiny model's words."""
    choose = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < n:
        found[" ".join(choose.choices(WORDS, k=choose.randint(1, longest)))] = None
    return list(found)


def different_sentences(n: int) -> list[str]:
    """Short sentences no two of which are near-duplicates, as they would be if they differed in a number alone."""
    return [f"sentence {str(number).translate(str.maketrans('0123456789', 'abcdefghij'))}" for number in range(n)]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_piecewise_bert(folder: Path) -> Path:
    """A BERT of three layers whose tokenizer cuts words into pieces of three letters."""
    import transformers
    from tokenizers import Regex, pre_tokenizers

    write_bert(folder, num_hidden_layers=3)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pieces = pre_tokenizers.Split(Regex(".{1,3}"), "isolated")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), pieces])
    tokenizer.save_pretrained(folder)
    return folder
