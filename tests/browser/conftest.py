"""A server with an empty store, and a browser that visits it."""

import shutil
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks import visitors

HOME = Path(__file__).parents[2]

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]

PATIENCE = 240_000
"""Milliseconds that a busy machine may take for anything."""

expect.set_options(timeout=PATIENCE)

SIZES: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 1100}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "user_agent": "Mozilla/5.0 (Linux; Android 10; K) Chrome/140.0.0.0 Mobile Safari/537.36",
    },
}
"""Streamlit takes a browser for a phone by the name that it gives itself."""

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that ends with the tests."""
    yield from serve(tmp_path_factory.mktemp("server"))


def is_ready(address: str) -> bool:
    """True once the server has imported what the first page takes."""
    with suppress(OSError), urllib.request.urlopen(f"{address}/ready", timeout=PATIENCE / 1000):
        return True
    return False


def serve(folder: Path, **variables: str) -> Iterator[str]:
    """The address of a server with variables of its environment; its log has no traceback."""
    log, settings = folder / "log", {"HF_HOME": str(folder / "hub"), **variables}
    with log.open("wb") as file, visitors.serve(HOME, settings, file) as (address, _, _):
        while not is_ready(address):
            time.sleep(0.2)
        yield f"{address}/"
    assert "Traceback" not in log.read_text("utf-8"), log.read_text("utf-8")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Playwright's Chromium where it is installed, else the system's."""
    with sync_playwright() as playwright:
        names = ("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")
        system = next(filter(None, map(shutil.which, names)), None)
        has_own = Path(playwright.chromium.executable_path).exists()
        path = None if has_own else system
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, headless=True)
        yield browser
        browser.close()


def violations(page: Page) -> list[tuple[str, str]]:
    """The elements that keep somebody from using the page, after the rules that they break.

    While the page is drawn again, Streamlit fades what may change.
    """
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    broken = Axe().run(page).response["violations"]
    serious = [rule for rule in broken if rule["impact"] in ("serious", "critical")]
    return [(rule["id"], node["html"]) for rule in serious for node in rule["nodes"]]


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Visit]:
    """Open an address; no page may have an error of its scripts, ask elsewhere, or for nothing.

    size: a key of SIZES; a phone has touch. scheme: light or dark. server: the address of another.
    """
    errors: list[str] = []
    pages: list[Page] = []

    def visit(path: str, size: str = "wide", scheme: str = "light", server: str = server) -> Page:
        page = browser.new_page(**SIZES[size], color_scheme=scheme)
        ours = (server, server.replace("http:", "ws:"), "blob:", "data:")
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda one: one.url.startswith(ours) or errors.append(one.url))
        page.on("response", lambda answer: answer.status < 400 or errors.append(answer.url))
        pages.append(page)
        running = page.locator("[data-test-script-state^=r]")
        page.add_locator_handler(running, lambda: None)  # while it runs, stale parts stand, too
        page.goto(server + path)
        return page

    yield visit
    for page in pages:
        page.close()
    assert errors == []
