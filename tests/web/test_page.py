import html
import io
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient
from support.app import answer, browse_from, linked, plain, settle
from support.programs import BRIEF

from clsviz import words
from clsviz.ui.parts import plot
from clsviz.ui.state import serving
from clsviz.web import page, routes
from clsviz.web.preview import PAGES

BROWSER = {"Sec-Fetch-Mode": "navigate"}


class _Head(HTMLParser):
    """The title and the meta tags of a page, as a program that shows previews reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, str] = {}
        self.title = ""
        self.others: list[str] = []
        self._in_title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._in_title = tag == "title"
        self.others.append(tag)
        if tag == "meta" and (name := named.get("property") or named.get("name")):
            self.tags[name] = named.get("content") or ""

    def handle_data(self, data: str) -> None:
        self.title += data if self._in_title else ""

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False


def head(site: TestClient, path: str) -> _Head:
    answered = site.get(path)
    assert answered.status_code == 200
    assert answered.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answered.headers["Cache-Control"] == "no-cache"
    return _Head(answered.text)


@cache
def question_and_answer(path: str) -> tuple[str, str]:
    """What a page says as it opens, to a visitor on this machine."""
    drawn = settle(linked({}, path).run())
    return plain(drawn.title[0].value), answer(drawn)


@pytest.mark.parametrize("path", ["", "where_length_lives", "length_and_search"])
def test_a_link_says_what_its_page_says(site: TestClient, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    browse_from(monkeypatch, "localhost")
    question, said = question_and_answer(path)
    tags = head(site, f"/{path}").tags
    assert tags["og:title"] == tags["twitter:title"] == question
    assert tags["og:description"] == tags["twitter:description"] == tags["description"] == said
    assert tags["twitter:card"] == "summary_large_image"


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_its_question_and_its_picture(
    site: TestClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, "localhost")
    found = head(site, f"/{path}")
    question, _ = question_and_answer(path)
    assert found.tags["og:title"] == found.title == question
    picture = found.tags["og:image"]
    assert picture.startswith("http://demo.example/preview.png")
    answered = site.get(picture)
    assert answered.headers["Content-Type"] == "image/png"
    with Image.open(io.BytesIO(answered.content)) as image:
        assert image.size == (int(found.tags["og:image:width"]), int(found.tags["og:image:height"])) == (1200, 630)


def test_the_pages_are_those_of_the_dashboard() -> None:
    assert [*PAGES] == [*serving.PATHS]
    source = (Path(page.__file__).parents[1] / "ui" / "app.py").read_text(encoding="utf-8")
    assert re.findall(r'^    \("(\w*)", ', source, re.MULTILINE) == [*PAGES]


def test_the_rest_of_the_page_is_streamlits_and_plotly_is_fetched_at_once(site: TestClient) -> None:
    index = (files("streamlit") / "static" / "index.html").read_text(encoding="utf-8")
    before, after = index.split("<title>Streamlit</title>")
    text = site.get("/?seed=1").text
    assert text.startswith(before)
    ahead = f'  <link rel="preload" as="script" href="./{serving.script_of_charts()}">\n  '
    menu = f"  {page.MENU}\n  "
    assert ahead in text
    assert menu in text
    rest = text.replace(ahead, "").replace(menu, "")
    assert re.sub(r"<style>.*?</style>\n    ", "", rest, count=1, flags=re.DOTALL).endswith(after)


def test_what_charts_are_drawn_of_is_fetched_by_its_name_and_kept(site: TestClient) -> None:
    script = site.get(f"/{serving.script_of_charts()}")
    assert script.text.startswith("/**\n* plotly.js v")
    assert (script.headers["Content-Encoding"], "immutable" in script.headers["Cache-Control"]) == ("gzip", True)
    content = plot.content(b'{"data": []}')
    assert site.get(f"/drawn/{content.name}").status_code == 404
    plot.contents().keep(content)
    assert site.get(f"/drawn/{content.name}").json() == {"data": []}


def test_what_is_to_be_fetched_is_bounded_and_what_was_shown_last_stays() -> None:
    contents = plot.Contents(most_bytes=1000)
    for at in range(50):
        contents.keep(plot.Content(str(at), bytes(300)))
    contents.keep(plot.Content("large", bytes(2000)))
    assert [at for at in range(50) if contents.get(str(at))] == [47, 48, 49]
    assert contents.get("large") is None


@pytest.mark.parametrize("path", serving.PATHS)
def test_a_browser_gets_the_first_picture_with_the_page_as_it_opens(
    site: TestClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, "localhost")
    text = site.get(f"/{path}", headers=BROWSER).text
    layer = text.partition('<div id="first" aria-hidden="true">')[2]
    assert text.index('<div id="root">') < text.index(layer)
    said = [html.unescape(one) for one in re.findall(r"<b [^>]+>(.+?)</b>", layer)]
    assert said == 2 * [*question_and_answer(path)]  # `make showcase` where this fails
    pictures = {*re.findall(r'"\.(/first/[\w-]+\.webp)"', layer)}
    assert len(pictures) == 2
    assert all(site.get(picture).headers["Content-Type"] == "image/webp" for picture in pictures)


def test_no_other_link_has_one_and_no_program_and_no_server_that_opens_with_less(
    site: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for query in ("?layer=2", "?embed=true", "?x"):
        assert 'id="first"' not in site.get(f"/{query}", headers=BROWSER).text
    assert 'id="first"' not in site.get("/").text
    assert site.get("/first/..%2fpage.py").status_code == site.get("/first/none.webp").status_code == 404
    monkeypatch.setenv("CLSVIZ_LIMIT_SAMPLE_SIZE", "1000")
    page.with_first_picture.cache_clear()
    assert page.with_first_picture(page.shell(), "") == page.shell()
    page.with_first_picture.cache_clear()


def test_the_style_is_there_before_what_it_applies_to(site: TestClient) -> None:
    ui = Path(page.__file__).parents[1] / "ui"
    style, embedded = ((ui / f"{name}.css").read_text(encoding="utf-8") for name in ("style", "embedded"))
    before, root, _ = site.get("/").text.partition('<div id="root">')
    assert root
    assert f"<style>\n{style}</style>" in before.split("<body>")[1]
    assert embedded not in before
    for query in ("embed=true", "layer=2&embed=True"):
        assert f"{style}{embedded}</style>" in site.get(f"/?{query}").text
    assert embedded not in site.get("/?embed=no").text


@pytest.mark.parametrize("name", ["model", "corpus", "layer", "text", "x"])
def test_a_link_is_text_and_never_markup(site: TestClient, name: str) -> None:
    plain_page = head(site, "/")
    for text in ('"><script>alert(1)</script>', "</title><script>alert(1)</script>", "' onload='x", "a&amp;b", "<!--"):
        odd = head(site, str(site.build_request("GET", "/", params={name: text}).url))
        assert odd.others == plain_page.others
        assert odd.tags.keys() == plain_page.tags.keys()
        assert odd.title == odd.tags["og:title"]


def test_a_host_is_text_too(site: TestClient) -> None:
    text = site.get("/", headers={"host": 'a"><script>'}).text
    assert text.count("<script>") == page.shell().count("<script>")
    assert html.escape('a"><script>') in text


def test_behind_a_proxy_the_picture_is_where_the_page_is(site: TestClient) -> None:
    behind = _Head(site.get("/?layer=2", headers={"X-Forwarded-Proto": "https"}).text)
    assert behind.title.endswith(" after layer 2?")
    assert behind.tags["og:image"] == "https://demo.example/preview.png?layer=2"
    odd = site.get("/?layer=2", headers={"X-Forwarded-Proto": "javascript"})
    assert _Head(odd.text).tags["og:image"] == "http://demo.example/preview.png?layer=2"


def test_a_link_whose_answer_is_not_known_says_what_clsviz_is(site: TestClient) -> None:
    tags = head(site, "/?model=untrained%3Aminilm&seed=77").tags
    assert tags["og:description"] == words.sharing.ABOUT
    assert tags["og:image:alt"] == tags["og:title"]
    assert "max-age=60" in site.get(tags["og:image"]).headers["Cache-Control"]
    assert "max-age=3600" in site.get("/preview.png").headers["Cache-Control"]


def test_a_browser_gets_its_page_at_once_and_a_program_that_cannot_wait_is_told_what_the_link_asks(
    site: TestClient,
) -> None:
    impatient = TestClient(Starlette(routes=routes.routes(patience_seconds=0)), base_url="http://demo.example")
    browser = impatient.get("/?layer=2", headers=BROWSER)
    assert browser.text == page.shell()
    assert _Head(browser.text).title == "clsviz"
    assert browser.headers["Vary"] == "Sec-Fetch-Mode"
    found, patient = head(impatient, "/"), head(site, "/")
    assert found.tags["og:title"] == patient.tags["og:title"]
    assert found.tags["og:description"] == words.sharing.ABOUT != patient.tags["og:description"]


NOTHING_HEAVY = """
import sys
import streamlit
from clsviz.web import routes
from clsviz.ui import failures
from starlette.applications import Starlette
from starlette.testclient import TestClient
site = TestClient(Starlette(routes=routes.routes(), middleware=routes.middleware()))
assert site.get("/", headers={"Sec-Fetch-Mode": "navigate"}).status_code == 200
print(*{"numpy", "pandas", "pyarrow", "clsviz.store.parts", "clsviz.jobs.queue"} & sys.modules.keys())
assert site.get("/").status_code == 200
print("numpy" in sys.modules)
"""


def test_a_browsers_page_waits_for_nothing_that_measures_or_draws(tmp_path: Path) -> None:
    environment = {"CLSVIZ_STORE": str(tmp_path), "PYTHONPATH": str(Path(page.__file__).parents[2]), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", BRIEF + NOTHING_HEAVY], capture_output=True, text=True, env=environment
    )
    assert done.stdout.split("\n") == ["", "True", ""], done.stderr


def test_too_many_pictures_at_once_are_refused(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "_MOST_WAITING", 0)
    answered = site.get("/preview.png")
    assert (answered.status_code, answered.headers["Retry-After"]) == (503, "5")


def test_below_a_base_path_everything_is_below_it(
    open_site: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    get_option = serving.st.get_option
    monkeypatch.setattr("streamlit.get_option", lambda key: "demo/" if key == "server.baseUrlPath" else get_option(key))
    site = open_site()
    assert site.get("/demo/ready").status_code == 200
    assert site.get("/ready").status_code == 404
    tags = head(site, "/demo/where_length_lives").tags
    assert tags["og:image"] == "http://demo.example/demo/preview.png?page=where_length_lives"
    assert site.get(tags["og:image"]).status_code == 200
    assert open_site("203.0.113.9").get("/demo/metrics").status_code == 403
