"""Routes next to Streamlit's own."""

import html
import re
import struct
import time
from collections.abc import Iterator
from importlib.resources import files

import plotly
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.testclient import TestClient

from clsviz import web


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A browser before our routes, where “streamlit” is the answer of all others."""
    streamlit = Mount("/", PlainTextResponse("streamlit"))
    app = Starlette(routes=[*web.ROUTES, streamlit], lifespan=web.lifespan)
    with TestClient(app) as client:
        yield client


def test_a_figure_is_packed_under_a_name_of_its_own(client: TestClient) -> None:
    address, other = web.pack('{"data": ["é"]}'), web.pack('{"data": []}')
    answer = client.get(address)
    assert answer.json() == {"data": ["é"]}
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert web.pack('{"data": ["é"]}') == address != other
    for path in ("/packed/unknown", "/packed/unknown.js"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["cache-control"] == "no-store"


def test_the_script_is_that_of_the_installed_plotly(client: TestClient) -> None:
    answer = client.get(web.script("plotly")[0])
    folder = files("clsviz") / "ui" / "plotly"
    version = plotly.offline.get_plotlyjs_version()
    assert answer.content == (folder / "plotly.min.js").read_bytes()
    assert f'version="{version}"' in answer.text
    assert f"plotly.js@{version} " in (folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize("path", ["", *web.PAGES])
def test_a_page_is_that_of_streamlit_with_our_scripts_and_what_links_show(client, path) -> None:
    original = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    begin, end = original.split("<title>Streamlit</title>")
    name = path or web.FIRST_PAGE
    question, verdict = map(html.escape, web.cards()[name].values())
    for query in ("", "?layer=1"):
        page = client.get(f"/{path}{query}").text
        assert page.startswith(begin)
        assert all(part in page for part in end.split("</body>"))
        assert [page.count(web.script(script)[0]) for script in web.SCRIPTS] == [1, 1]
        assert f'<meta property="og:title" content="{web.PAGES[name].title}">' in page
        words = f"<h2>{question}</h2><h3>{verdict}</h3>"
        assert page.count(words) == (not query)
        picture = client.get(re.findall('og:image" content="(.*?)"', page)[0])
        assert picture.headers["content-type"] == "image/png"
        assert struct.unpack(">II", picture.content[16:24]) == (1200, 630)
        assert len(picture.content) < 100_000


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("search/", "search"),
        ("Search", "search"),
        ("SENTENCE/", "sentence"),
        ("search//", "search"),
        ("search.", "search"),
        ("serach.html", "search"),
        ("where-length-lives", "where_length_lives"),
        ("pieces", "chunks"),
        ("pieces/x/y", "chunks"),
        ("norm_vs_length", ""),
        ("length_and_search", ""),
        ("index.html", ""),
        ("a/b//", ""),
    ],
)
def test_an_unknown_path_leads_to_the_page_that_it_means(client, path, page) -> None:
    for query in ("", "?corpus=a%26b&layer=1"):
        answer = client.get(f"/{path}{query}", follow_redirects=False)
        assert answer.status_code == 307
        assert client.get(f"/{path}{query}").url == f"http://testserver/{page}{query}"


STREAMLIT = (
    *("_stcore/health", "_stcore/stream", "search/_stcore/host-config", "component/a/b"),
    *("media/a", "static/js/index.js", "static", "favicon.png", "manifest.json", "app/static/a"),
    *("auth/login", "oauth2callback", "robots.txt", "/evil.org", "//evil.org/"),
)


@pytest.mark.parametrize("path", STREAMLIT)
def test_paths_of_streamlit_are_left_to_it(client: TestClient, path: str) -> None:
    assert client.get(f"http://testserver/{path}", follow_redirects=False).text == "streamlit"


def test_a_hostile_host_does_not_leave_its_attribute(client: TestClient) -> None:
    page = client.get("/", headers={"Host": 'a"><script>alert(1)</script>'}).text
    assert "alert(1)</script>" not in page


def test_the_server_is_ready_when_the_first_page_is_imported(client: TestClient) -> None:
    end = time.monotonic() + 240
    while client.get("/ready").status_code != 200 and time.monotonic() < end:
        time.sleep(0.1)
    assert client.get("/ready").json() == {"ready": True}
