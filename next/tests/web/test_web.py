"""Routes next to Streamlit's own."""

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
    answer = client.get(web.script_address("plotly"))
    folder = files("clsviz") / "ui" / "plotly"
    version = plotly.offline.get_plotlyjs_version()
    assert answer.content == (folder / "plotly.min.js").read_bytes()
    assert f'version="{version}"' in answer.text
    assert f"plotly.js@{version} " in (folder / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", web.PAGES)
def test_a_page_is_that_of_streamlit_with_our_script(client: TestClient, page: str) -> None:
    original = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    ours = client.get(f"/{page}").text
    added, rest = ours.split("<title>clsviz</title>")[1].split("</script>", 1)
    assert [added.count(web.script_address(name)) for name in web.SCRIPTS] == [1, 1]
    before = ours.split("<title>")[0]
    assert f"{before}<title>Streamlit</title>{rest}" == original


def test_the_server_is_ready_when_the_first_page_is_imported(client: TestClient) -> None:
    for _ in range(600):
        if client.get("/ready").status_code == 200:
            break
        time.sleep(0.1)
    assert client.get("/ready").json() == {"ready": True}
