"""A browser holds pages to what the server says that they may load, and shows them in the frames of other pages.

That no page asks for anything else is seen to wherever one is visited: `visit`, in conftest.py.
"""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect
from support.browser import measured, note_refused, settle


def test_a_script_in_the_page_and_another_server_are_refused(context: BrowserContext, server: str) -> None:
    page, refused = context.new_page(), list[str]()
    note_refused(page, refused)
    page.goto(server)
    page.evaluate("document.head.append(Object.assign(document.createElement('script'), {text: 'window.ran = true'}))")
    page.evaluate("fetch('https://elsewhere.example').catch(() => {})")
    assert page.evaluate("window.ran === undefined")
    page.close()
    script, *connection = refused
    assert "inline script" in script
    assert all("https://elsewhere.example" in text for text in connection)
    assert connection


@pytest.fixture
def another_site(tmp_path: Path) -> Iterator[str]:
    """The address of a server of what is in `tmp_path`, by another name of this machine."""
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as other:
        threading.Thread(target=other.serve_forever).start()
        yield f"http://localhost:{other.server_port}/"
        other.shutdown()


def test_the_copied_markup_shows_the_picture_alone_on_another_page(
    visit: Callable[..., Page], another_site: str, tmp_path: Path
) -> None:
    page = measured(visit("?sample_size=1000&layer=5"))
    page.get_by_role("button", name="Cite and export").click()
    page.get_by_role("button", name="Copy iframe").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    markup = page.evaluate("navigator.clipboard.readText()")
    (tmp_path / "index.html").write_text(markup, encoding="utf-8")
    page.goto(another_site)
    frame, inside = page.locator("iframe"), page.frame_locator("iframe")
    expect(frame).to_have_attribute(
        "title", "Does MiniLM-L6 encode the length of a sentence in the norm of its [CLS] after layer 5?"
    )
    query = parse_qs(urlsplit(frame.get_attribute("src") or "").query)
    assert (query["embed"], query["layer"]) == (["true"], ["5"])
    expect(inside.locator(".st-key-scatter .js-plotly-plot .gl-canvas").first).to_be_visible()
    expect(inside.get_by_text("Norm of the [CLS] embedding, layer 5")).to_be_visible()
    expect(inside.get_by_test_id("stHeading").filter(visible=True)).to_have_count(2)  # the question and the answer
    for hidden in ("stSidebar", "stHeader", "stExpander", "stPopover", "stTextInput"):
        assert inside.get_by_test_id(hidden).filter(visible=True).count() == 0
    picture, window = inside.locator(".st-key-picture").bounding_box(), frame.bounding_box()
    assert picture is not None
    assert window is not None
    assert window["y"] <= picture["y"]
    assert picture["y"] + picture["height"] <= window["y"] + window["height"]


def test_every_page_in_a_frame_has_its_question_its_verdict_its_picture_and_a_link_back(
    visit: Callable[..., Page],
) -> None:
    pictures = {
        "": "scatter",
        "where_length_lives": "lines",
        "length_and_search": "exposure",
        "compare_models": "searches",
        "try_a_sentence": "scatter",
        "inside_the_model": "way",
    }
    for path, key in pictures.items():
        page = visit(f"{path}?embed=true", viewport=ViewportSize(width=600, height=400))
        expect(page.locator(f".st-key-{key} .js-plotly-plot .main-svg").first).to_be_visible()
        settle(page)
        expect(page.locator(".js-plotly-plot").filter(visible=True)).to_have_count(1)
        below = 0.0
        for part in (page.locator("h1"), page.locator(".st-key-answer h2"), page.get_by_role("link", name="Open in")):
            box = part.bounding_box()
            assert box is not None
            assert below <= box["y"]
            below = box["y"] + box["height"]
        assert below <= 400, path
