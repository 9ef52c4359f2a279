"""One server and one browser for every test that visits a page."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright
from support.browser import note_refused
from support.hub import Hub
from support.hub_clients import environment
from support.visit import launch, serve

from clsviz import jobs
from clsviz.sources import models

_WITHOUT = [
    "ScriptStreaming",  # what is parsed while it arrives is parsed anew for every page, and else only once
    # What Playwright turns off and a page of this machine could notice: a list of one's own replaces Playwright's.
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "MediaRouter"),
    *("OptimizationHints", "PaintHolding", "ThirdPartyStoragePartitioning"),
]
"""Features of Chromium."""

_SCRIPTS = [
    "--no-opt",  # no page lives so long that compiling its scripts best is worth the time, nor all of them well
    "--invocation-count-for-maglev=20000",  # but few are run so often, as Plotly's digests of shaders are
    *(
        "--min-semi-space-size=64",
        "--max-semi-space-size=64",
        "--initial-heap-size=1024",
    ),  # megabytes, to collect later
]
"""Settings of V8."""

_FLAGS = [
    "--process-per-site",
    f"--disable-features={','.join(_WITHOUT)}",
    "--v8-cache-options=bypassHeatCheck",  # what is compiled is kept at once, and not from the third time on
    f"--js-flags={' '.join(_SCRIPTS)}",
]

PATIENCE = 180_000
"""Milliseconds, for whatever a busy machine makes slow; nothing waits longer than it must."""

WIDE = ViewportSize(width=1400, height=1000)

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def server(hub_server: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, with nothing measured or fetched yet."""
    folder = tmp_path_factory.mktemp("server")
    hub_server.behave()
    encoders = jobs.Encoders()
    encoders.get(models.find("minilm"))  # from now on it is known there that transformers’ classes agree
    with serve(folder, **environment(hub_server, folder / "cache")) as address:
        yield address
    assert "Traceback" not in (folder / "log").read_text()


@pytest.fixture(scope="package")  # no longer: while it is open, no other event loop can run in its thread
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright, *_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def context(browser: Browser, server: str) -> Iterator[BrowserContext]:
    """What all pages share: a cache, and with it a process that compiles the app's scripts only once.

    That process lives as long as it has a page, so one stays open. With it a page opens in half the processor time.
    """
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.new_page().goto(f"{server}_stcore/health")
    yield context
    context.close()


@pytest.fixture
def visit(context: BrowserContext, server: str) -> Iterator[Callable[..., Page]]:
    """Open a page of the app; none may show an exception when the test ends, or have asked for what it may not load."""
    pages: list[Page] = []
    refused: list[str] = []

    def visit(query: str = "?sample_size=1000", viewport: ViewportSize = WIDE, scheme: str = "light") -> Page:
        pages.append(page := context.new_page())
        note_refused(page, refused)
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme)
        page.goto(server + query)
        return page

    yield visit
    for page in pages:
        if not page.is_closed():
            assert page.locator("[data-testid=stException]").count() == 0
            page.close()
    assert refused == []
