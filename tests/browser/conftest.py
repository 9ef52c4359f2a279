"""One server and one browser for every test that visits a page."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from support.visit import launch, serve

PATIENCE = 180_000
"""Milliseconds, for whatever a busy machine makes slow; nothing waits longer than it must."""

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder in one worker, which alone pays for the server and the browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, with an empty store and no Hub to reach."""
    folder = tmp_path_factory.mktemp("server")
    no_hub = {"HF_HOME": str(folder / "hub"), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    with serve(folder, **no_hub) as address:
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

    def visit(query: str = "?sample_size=1000", at: str = server, **settings: object) -> Page:
        settings = {"viewport": {"width": 1400, "height": 1000}, "reduced_motion": "reduce"} | settings
        if repr(settings) not in contexts:
            contexts[repr(settings)] = context = browser.new_context(**settings)
            context.set_default_timeout(PATIENCE)
            context.grant_permissions(["clipboard-read", "clipboard-write"])
        pages.append(contexts[repr(settings)].new_page())
        pages[-1].goto(at + query)
        return pages[-1]

    yield visit
    for page in pages:
        if not page.is_closed():
            assert page.locator("[data-testid=stException]").count() == 0
            page.close()
