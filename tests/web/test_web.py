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
    for path in ("/packed/unknown", "/packed/unknown.js", "/pictures/x.png"):
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
def test_a_page_is_that_of_streamlit_with_our_scripts_and_what_links_show(
    client: TestClient, path: str
) -> None:
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


def test_a_hostile_host_does_not_leave_its_attribute(client: TestClient) -> None:
    page = client.get("/", headers={"Host": 'a"><script>alert(1)</script>'}).text
    assert "alert(1)</script>" not in page


def test_the_server_is_ready_when_the_first_page_is_imported(client: TestClient) -> None:
    end = time.monotonic() + 240
    while client.get("/ready").status_code != 200 and time.monotonic() < end:
        time.sleep(0.1)
    assert client.get("/ready").json() == {"ready": True}
