"""Real things to test with, as small as they can be: a BERT of two layers, a store in a temporary folder."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.tiny import random_sentences, write_bert

# Before any test imports a library that reads them: nothing is fetched, and nothing kept, beyond the test run.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("CLSVIZ_STORE", None)
os.environ.pop("CLSVIZ_PUBLIC", None)

from playwright.sync_api import Browser, Page, sync_playwright
from support.hub import Hub, point_at, serve_hub
from support.visit import launch, serve

from clsviz import models
from clsviz.encoder import Encoder
from clsviz.measuring import Store
from clsviz.models import Weights


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
