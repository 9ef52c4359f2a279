"""Real things to test with, as small as they can be: a BERT of two layers, a store in a temporary folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Set before any test imports a library that reads them. Two workers share the processors: one thread each is fastest.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"
# Nothing is fetched, and nothing is kept beyond the test run.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("CLSVIZ_STORE", None)
os.environ.pop("CLSVIZ_PUBLIC", None)

from support.hub import Hub, point_at, serve_hub
from support.tiny import random_sentences, write_bert

from clsviz import models
from clsviz.encoder import Encoder
from clsviz.measuring import Store
from clsviz.models import Weights

TOGETHER = {"api", "benchmarks", "browser", "ui"}
"""Folders whose tests run in one worker: they share what takes long to set up."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(folder))


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="session")
def tiny_weights(tiny_folder: Path) -> Weights:
    return models.find(str(tiny_folder))


@pytest.fixture(scope="session")
def tiny_encoder(tiny_weights: Weights) -> Encoder:
    return Encoder(tiny_weights, device="cpu")


@pytest.fixture(scope="session")
def minilm_encoder() -> Encoder:
    return Encoder(models.find("minilm"), device="cpu")


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
