"""Real things to test with, as small as they can be: a BERT of two layers, a store in a temporary folder."""

import hashlib
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Before any test imports a library that reads them: nothing is fetched, and nothing kept, beyond the test run.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("CLSVIZ_STORE", None)
os.environ.pop("CLSVIZ_PUBLIC", None)

import torch
from hub import Hub, point_at, serve_hub
from playwright.sync_api import Browser, Page, expect, sync_playwright
from visit import launch, serve

from clsviz import models
from clsviz.encoder import Encoder
from clsviz.kernels import has_fast_bfloat16
from clsviz.models import Weights
from clsviz.store import Store

needs_bfloat16 = pytest.mark.skipif(not has_fast_bfloat16(torch.device("cpu")), reason="this processor has no bfloat16")

expect.set_options(timeout=60_000)

WORDS = [
    *("the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "and"),
    *("saw", "big", "small", "red", "old", "very", "quickly", "then", "home", "."),
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


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="session")
def tiny_weights(tiny_folder: Path) -> Weights:
    return models.resolve(str(tiny_folder), download=False)


@pytest.fixture(scope="session")
def tiny_encoder(tiny_weights: Weights) -> Encoder:
    return Encoder(tiny_weights, device="cpu")


@pytest.fixture(scope="session")
def minilm_encoder() -> Encoder:
    return Encoder(models.resolve("minilm", download=False), device="cpu")


@pytest.fixture(scope="session")
def hub_server() -> Iterator[Hub]:
    with serve_hub() as hub:
        yield hub


@pytest.fixture
def hub(hub_server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """The stand-in for the Hub, with an empty cache on this side."""
    hub_server.behave()
    hub_server.requests.clear()
    point_at(hub_server, tmp_path / "cache", monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10 * 2**20)  # which a download changes
    return hub_server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 400 different sentences of 1 to 30 words."""
    path = tmp_path_factory.mktemp("corpora") / "sentences.txt"
    path.write_text("\n".join(random_sentences(400, seed=1)), encoding="utf-8")
    return path


def random_sentences(n: int, seed: int, longest: int = 30) -> list[str]:
    """Different sentences of the tiny model's words."""
    choose = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < n:
        found[" ".join(choose.choices(WORDS, k=choose.randint(1, longest)))] = None
    return list(found)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app, with nothing stored and no Hub to reach."""
    folder = tmp_path_factory.mktemp("server")
    nobody = {"HF_HOME": str(folder / "hub"), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    with serve(folder, **nobody) as address:
        yield address
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture(scope="module")  # no longer: in its thread no event loop but Playwright's can run
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Callable[..., Page]]:
    """Open a page of the app; at the end of the test none may have shown an exception."""
    pages: list[Page] = []

    def visit(query: str = "?sample_size=1000", at: str = server, **settings: object) -> Page:
        settings = {"viewport": {"width": 1400, "height": 1000}, "accept_downloads": True} | settings
        context = browser.new_context(**settings)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        pages.append(context.new_page())
        pages[-1].goto(at + query)
        return pages[-1]

    yield visit
    for page in pages:
        if not page.is_closed():
            assert page.locator("[data-testid=stException]").count() == 0
            page.context.close()
