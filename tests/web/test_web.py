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
from starlette.testclient import TestClient

from clsviz import web


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with TestClient(Starlette(routes=web.ROUTES, lifespan=web.lifespan)) as client:
        yield client


def test_a_figure_is_packed_under_a_name_of_its_own(client: TestClient) -> None:
    address, other = web.pack('{"data": ["é"]}'), web.pack('{"data": []}')
    answer = client.get(address)
    assert answer.json() == {"data": ["é"]}
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert web.pack('{"data": ["é"]}') == address != other


@pytest.mark.parametrize("path", ["/figures/unknown", "/plotly/unknown.js", "/chart/x.js"])
def test_an_unknown_name_is_not_remembered(client: TestClient, path: str) -> None:
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


@pytest.mark.parametrize("page", ["", *web.PAGES])
@pytest.mark.parametrize("query", ["", "?layer=1"])
def test_a_page_is_that_of_streamlit_with_our_scripts(
    client: TestClient, page: str, query: str
) -> None:
    original = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    begin, end = original.split("<title>Streamlit</title>")
    ours = client.get(f"/{page}{query}").text
    assert ours.startswith(begin)
    assert all(part in ours for part in end.split("</body>"))
    assert [ours.count(web.script(name)[0]) for name in web.SCRIPTS] == [1, 1]


@pytest.mark.parametrize("page", ["", *web.PAGES])
def test_links_to_a_page_show_its_picture_and_its_shipped_verdict(
    client: TestClient, page: str
) -> None:
    card = {key: html.escape(text) for key, text in web.cards()[page or web.FIRST_PAGE].items()}
    first, other = client.get(f"/{page}").text, client.get(f"/{page}?layer=1").text
    for words in (f"<h2>{card['question']}</h2>", f"<h3>{card['verdict']}</h3>"):
        assert (first.count(words), other.count(words)) == (1, 0)
    title = web.PAGES[page or web.FIRST_PAGE].title
    for text in (first, other):
        assert f'<meta property="og:title" content="{title}">' in text
    picture = client.get(re.findall('og:image" content="(.*?)"', other)[0])
    assert picture.headers["content-type"] == "image/png"
    assert struct.unpack(">II", picture.content[16:24]) == (1200, 630)
    assert len(picture.content) < 100_000


def test_a_hostile_host_does_not_leave_its_attribute(client: TestClient) -> None:
    page = client.get("/", headers={"Host": 'a"><script>alert(1)</script>'}).text
    assert "alert(1)</script>" not in page


def test_the_server_is_ready_when_the_first_page_is_imported(client: TestClient) -> None:
    for _ in range(600):
        if client.get("/ready").status_code == 200:
            break
        time.sleep(0.1)
    assert client.get("/ready").json() == {"ready": True}
