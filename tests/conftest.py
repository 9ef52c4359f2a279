"""Real things to test with, as small as they can be: a BERT of two layers, a store in a temporary folder."""

import gc
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

from support.hub import Hub, serve_hub
from support.hub_clients import point_at
from support.tiny import random_sentences, write_bert

from clsviz import encoder
from clsviz.experiment import Experiment
from clsviz.sources import models
from clsviz.store import Store

# With all libraries loaded a full collection takes a third of a second, and tests make many objects in circles. What is
# loaded while tests are collected stays.
gc.set_threshold(50_000, 20, 20)
gc.disable()

TOGETHER = {"api", "browser"}
"""Folders whose tests run in one worker, as those of every file do: they share what takes long to set up."""
APART = {"test_access.py", "test_explaining.py", "test_headers.py", "test_touch.py", "test_visitor.py"}
"""Half of what a browser does, by the time that it takes: another worker visits the other pages meanwhile."""
FIRST = "browser", "benchmarks", "docs", "ui"
"""Folders whose tests take longest: the other workers do all the rest meanwhile."""


def _group(path: Path) -> str:
    """The tests that run in one worker with those of this file."""
    folder, *_ = path.parts
    if folder not in TOGETHER:
        return path.as_posix()
    return f"{folder} apart" if path.name in APART else folder


SLOW = {"api", "benchmarks", "browser", "cli", "deploy", "docs", "ui"}
"""Folders whose tests start programs, pages, browsers or the built-in model: `make quick` leaves them out."""


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.relative_to(Path(__file__).parent)
        item.add_marker(pytest.mark.xdist_group(_group(path)))
        if path.parts[0] in SLOW or "minilm_encoder" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")
        if path.parts[0] == "browser":  # told as "rerun": a click can come while a busy machine still draws
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: [item.path.relative_to(Path(__file__).parent).parts[0] != folder for folder in FIRST])


def pytest_collection_finish() -> None:
    """What the libraries have made stays, and no collection of garbage looks at it again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="session")
def tiny_weights(tiny_folder: Path) -> "models.Weights":
    return models.find(str(tiny_folder))


@pytest.fixture(scope="session")
def tiny_encoder(tiny_weights: "models.Weights") -> "encoder.Encoder":
    return encoder.Encoder(tiny_weights, device="cpu")


@pytest.fixture(scope="session")
def minilm_encoder() -> "encoder.Encoder":
    return encoder.Encoder(models.find("minilm"), device="cpu")


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
def store(tmp_path: Path) -> "Store":
    return Store(tmp_path / "store")


@pytest.fixture
def experiment(tiny_folder: Path, text_file: Path) -> "Experiment":
    """The norms of 300 sentences by the tiny model."""
    return Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300)


@pytest.fixture(scope="session")
def text_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 400 different sentences of 1 to 30 words."""
    path = tmp_path_factory.mktemp("corpora") / "sentences.txt"
    path.write_text("\n".join(random_sentences(400, seed=1)), encoding="utf-8")
    return path
