"""One server and one browser for every test that visits a page."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from support.hub import Hub, environment
from support.tiny import random_sentences, write_bert, write_dataset
from support.visit import launch, serve

PATIENCE = 180_000
"""Milliseconds, for whatever a busy machine makes slow; nothing waits longer than it must."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def hub(hub_server: Hub, tmp_path_factory: pytest.TempPathFactory) -> Hub:
    """The Hub with small things in the place of the original experiment's, and a dataset of two configurations."""
    folder = tmp_path_factory.mktemp("hub")
    hub_server.behave()
    model = write_bert(folder / "model", hidden_size=1024, intermediate_size=1024)  # so large that it takes a moment
    hub_server.add("google-bert/bert-base-uncased", model)
    books = write_dataset(folder / "books", {"plain_text": {"train": random_sentences(600, seed=8)}})
    hub_server.add("bookcorpus/bookcorpus", books, kind="dataset", revision="refs/convert/parquet")
    (folder / "script").mkdir()
    (folder / "script" / "bookcorpus.py").write_text("raise SystemExit")
    hub_server.add("bookcorpus/bookcorpus", folder / "script", kind="dataset")
    splits = {name: {"train": random_sentences(300, seed=9)} for name in ("first", "second")}
    hub_server.add("owner/corpus", write_dataset(folder / "corpus", splits), kind="dataset")
    return hub_server


@pytest.fixture(scope="session")
def server(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, with nothing measured or fetched yet."""
    folder = tmp_path_factory.mktemp("server")
    with serve(folder, **environment(hub, folder / "cache")) as address:
        yield address
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture(scope="module")  # no longer: while it is open, no other event loop can run in its thread
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def contexts(browser: Browser) -> dict[str, BrowserContext]:
    """Contexts by their settings: pages of one context share a cache, and so open in two thirds of the time."""
    return {}


@pytest.fixture
def visit(browser: Browser, contexts: dict[str, BrowserContext], server: str) -> Iterator[Callable[..., Page]]:
    """Open a page of the app; no page may show an exception when the test ends."""
    pages: list[Page] = []

    def visit(query: str = "?sample_size=1000", **settings: object) -> Page:
        settings = {"viewport": {"width": 1400, "height": 1000}, "reduced_motion": "reduce"} | settings
        if repr(settings) not in contexts:
            contexts[repr(settings)] = context = browser.new_context(**settings)
            context.set_default_timeout(PATIENCE)
            context.grant_permissions(["clipboard-read", "clipboard-write"])
        pages.append(contexts[repr(settings)].new_page())
        pages[-1].goto(server + query)
        return pages[-1]

    yield visit
    for page in pages:
        if not page.is_closed():
            assert page.locator("[data-testid=stException]").count() == 0
            page.close()
