"""A public server in a browser: its policy holds, and the words come before the picture."""

from collections.abc import Iterator

import pytest
from browser.conftest import Visit, serve
from playwright.sync_api import Page, expect

from clsviz import web

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serve(tmp_path_factory.mktemp("public"), {"CLSVIZ_PUBLIC": "1"})


def violations(page: Page) -> list[str]:
    """What the browser was not allowed to do."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.reload()
    expect(page.get_by_role("figure").first.locator("svg").first).to_be_visible()
    return [text for text in messages if "Content Security Policy" in text or "violat" in text]


@pytest.mark.parametrize("name", web.PAGES)
def test_the_policy_allows_what_a_page_does(visit: Visit, name: str) -> None:
    page = visit("" if name == web.FIRST_PAGE else name)
    assert violations(page) == []
    expect(page.get_by_text("WebGL is not supported")).to_have_count(0)
    expect(page.locator("#first-words")).to_have_count(0)
    expect(page.get_by_role("heading", level=2).first).to_have_text(web.cards()[name]["question"])
