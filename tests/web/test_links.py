import html
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import file_util
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_routes import create_host_config_routes
from support.app import answer, browse_from, linked, plain, settle
from support.programs import BRIEF

from clsviz import web, words
from clsviz.ui.state import serving
from clsviz.web import links
from clsviz.web.pages import PAGES


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


@pytest.mark.parametrize("page", ["", "where_length_lives", "length_and_search"])
def test_a_link_says_what_its_page_says(site: TestClient, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    browse_from(monkeypatch, "localhost")
    drawn = settle(linked({}, page).run())
    tags = head(site, f"/{page}").tags
    assert tags["og:title"] == tags["twitter:title"] == plain(drawn.title[0].value)
    assert tags["og:description"] == tags["twitter:description"] == tags["description"] == answer(drawn)
    assert tags["twitter:card"] == "summary_large_image"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_its_question_and_its_picture(
    site: TestClient, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, "localhost")
    found = head(site, f"/{page}?layer=2")
    asked = plain(linked({"layer": "2"}, page).run().title[0].value)
    assert found.tags["og:title"] == found.title == asked
    picture = found.tags["og:image"]
    assert picture.startswith("http://demo.example/preview.png?layer=2")
    answered = site.get(picture)
    assert answered.headers["Content-Type"] == "image/png"
    with Image.open(io.BytesIO(answered.content)) as image:
        assert image.size == (int(found.tags["og:image:width"]), int(found.tags["og:image:height"])) == (1200, 630)


def test_the_pages_are_those_of_the_dashboard() -> None:
    assert [*PAGES] == [*serving.PATHS]
    source = (Path(links.__file__).parents[1] / "ui" / "app.py").read_text(encoding="utf-8")
    assert all(f'url_path="{path}"' in source for path in PAGES if path)
    assert source.count("st.Page(") == len(PAGES)


def test_the_rest_of_the_page_is_streamlits_and_the_script_of_its_charts_is_fetched_at_once(site: TestClient) -> None:
    static = Path(file_util.get_static_dir())
    before, after = (static / "index.html").read_text(encoding="utf-8").split("<title>Streamlit</title>")
    page = site.get("/?seed=1").text
    assert page.startswith(before)
    added = re.search(
        r'<link rel="modulepreload" crossorigin href="\./(static/js/PlotlyChart\.[^"]+\.js)">\n'
        r"  <script>if \(location[^\n]+;</script>\n  (?=</head>)",
        page,
    )
    assert added
    assert (static / added[1]).is_file()
    without = re.sub(r"<style>.*?</style>\n    ", "", page.replace(added[0], ""), count=1, flags=re.DOTALL)
    assert without.endswith(after)


def test_a_browser_is_told_what_streamlit_would_answer_it(site: TestClient) -> None:
    told = re.search(r"HOST_CONFIG: (\{.*?\})\};</script>", site.get("/").text)
    assert told
    (route,) = [one for one in create_host_config_routes("") if "GET" in (one.methods or ())]
    answered = TestClient(Starlette(routes=[route])).get("/_stcore/host-config").json()
    assert json.loads(told[1]).items() <= answered.items()


def test_a_browser_has_its_cookie_before_it_connects_and_keeps_it(site: TestClient) -> None:
    first = site.get("/").cookies["_streamlit_xsrf"]
    token, _ = decode_xsrf_token_string(first)
    again, _ = decode_xsrf_token_string(site.get("/").cookies["_streamlit_xsrf"])  # the client sends it back
    assert token
    assert again == token


def test_where_streamlit_keeps_that_script_elsewhere_the_page_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_util, "get_static_dir", lambda: str(tmp_path))
    assert serving.script_of_charts() is None


def test_the_style_is_there_before_what_it_applies_to(site: TestClient) -> None:
    files = Path(links.__file__).parents[1] / "ui"
    style, embedded = ((files / f"{name}.css").read_text(encoding="utf-8") for name in ("style", "embedded"))
    before, root, _ = site.get("/").text.partition('<div id="root">')
    assert root
    assert f"<style>\n{style}</style>" in before.split("<body>")[1]
    assert embedded not in before
    for query in ("embed=true", "layer=2&embed=True"):
        assert f"{style}{embedded}</style>" in site.get(f"/?{query}").text
    assert embedded not in site.get("/?embed=no").text


@pytest.mark.parametrize(
    "text", ['"><script>alert(1)</script>', "</title><script>alert(1)</script>", "' onload='x", "a&amp;b", "<!--"]
)
@pytest.mark.parametrize("name", ["model", "corpus", "layer", "text", "x"])
def test_a_link_is_text_and_never_markup(site: TestClient, name: str, text: str) -> None:
    plain_page, odd = head(site, "/"), head(site, str(site.build_request("GET", "/", params={name: text}).url))
    assert odd.others == plain_page.others
    assert odd.tags.keys() == plain_page.tags.keys()
    assert odd.title == odd.tags["og:title"]


def test_a_host_is_text_too(site: TestClient) -> None:
    page = site.get("/", headers={"host": 'a"><script>'}).text
    assert page.count("<script>") == serving.shell().count("<script>")
    assert html.escape('a"><script>') in page


def test_behind_a_proxy_the_picture_is_where_the_page_is(site: TestClient) -> None:
    behind = site.get("/?layer=2", headers={"X-Forwarded-Proto": "https"})
    assert _Head(behind.text).tags["og:image"] == "https://demo.example/preview.png?layer=2"
    odd = site.get("/?layer=2", headers={"X-Forwarded-Proto": "javascript"})
    assert _Head(odd.text).tags["og:image"] == "http://demo.example/preview.png?layer=2"


def test_a_link_that_makes_no_sense_has_the_picture_of_the_default(site: TestClient) -> None:
    default = site.get("/preview.png")
    assert default.status_code == 200
    for query in ("page=nowhere", "layer=x&sample_size=0", "%00=%ff", "zoom=1", "a" * 5000):
        assert site.get(f"/preview.png?{query}").content == default.content
    assert site.get("/preview.png?page=where_length_lives").content != default.content


def test_a_link_whose_answer_is_not_known_says_what_clsviz_is(site: TestClient) -> None:
    tags = head(site, "/?model=untrained%3Aminilm&seed=77").tags
    assert tags["og:description"] == words.sharing.ABOUT
    assert tags["og:image:alt"] == words.sharing.SITE
    assert "max-age=60" in site.get(tags["og:image"]).headers["Cache-Control"]
    assert "max-age=3600" in site.get("/preview.png").headers["Cache-Control"]


def test_a_browser_gets_its_page_at_once_and_a_program_that_cannot_wait_is_told_what_the_link_asks(
    site: TestClient,
) -> None:
    impatient = TestClient(Starlette(routes=web.routes(patience_seconds=0)), base_url="http://demo.example")
    browser = impatient.get("/?layer=2", headers={"Sec-Fetch-Mode": "navigate"})
    assert browser.text == serving.shell()
    assert _Head(browser.text).title == "clsviz"
    assert browser.headers["Vary"] == "Sec-Fetch-Mode"
    found, patient = head(impatient, "/"), head(site, "/")
    assert found.tags["og:title"] == patient.tags["og:title"]
    assert found.tags["og:description"] == words.sharing.ABOUT != patient.tags["og:description"]


NOTHING_HEAVY = """
import sys
import streamlit
from clsviz import web
from clsviz.ui import failures
from starlette.applications import Starlette
from starlette.testclient import TestClient
site = TestClient(Starlette(routes=web.routes(), middleware=web.middleware()))
assert site.get("/", headers={"Sec-Fetch-Mode": "navigate"}).status_code == 200
print(*{"numpy", "pandas", "pyarrow", "clsviz.measuring"} & sys.modules.keys())
assert site.get("/").status_code == 200
print("numpy" in sys.modules)
"""


def test_a_browsers_page_waits_for_nothing_that_measures_or_draws(tmp_path: Path) -> None:
    environment = {"CLSVIZ_STORE": str(tmp_path), "PYTHONPATH": str(Path(links.__file__).parents[2]), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", BRIEF + NOTHING_HEAVY], capture_output=True, text=True, env=environment
    )
    assert done.stdout.split("\n") == ["", "True", ""], done.stderr


def test_too_many_pictures_at_once_are_refused(site: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_MOST_WAITING", 0)
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
