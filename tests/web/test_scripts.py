"""Scripts and styles are compressed for browsers that are elsewhere."""

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from streamlit import file_util
from streamlit.web.server.starlette.starlette_static_routes import create_streamlit_static_assets_routes

from clsviz.ui.state import serving
from clsviz.web.scripts import CompressedScripts

STATIC = Path(file_util.get_static_dir())
CHARTS = str(serving.script_of_charts()).removeprefix(".")
STYLE = next(f"/{path.relative_to(STATIC)}" for path in STATIC.glob("static/css/*.css") if path.stat().st_size > 1000)


@pytest.fixture
def ask() -> Callable[..., httpx2.Response]:
    """Ask a server of Streamlit's files, from an address."""
    files = create_streamlit_static_assets_routes(base_url="")
    app = Starlette(routes=files, middleware=[Middleware(CompressedScripts, folder=STATIC, base="")])

    def ask(
        path: str, address: str = "192.0.2.1", accepts: str = "gzip, deflate, br", **headers: str
    ) -> httpx2.Response:
        return TestClient(app, client=(address, 50000)).get(path, headers={"Accept-Encoding": accepts} | headers)

    return ask


@pytest.mark.parametrize("path", [CHARTS, STYLE])
def test_what_a_browser_elsewhere_gets_is_small_and_the_same(ask: Callable[..., httpx2.Response], path: str) -> None:
    plain, packed = ask(path, "127.0.0.1"), ask(path)
    assert packed.content == plain.content == (STATIC / path.removeprefix("/")).read_bytes()
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) < 0.4 * int(plain.headers["Content-Length"])
    assert "Accept-Encoding" in packed.headers["Vary"]
    for name in ("Cache-Control", "Content-Type"):
        assert packed.headers[name] == plain.headers[name]


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("127.0.0.1", {}),
        ("::1", {}),
        ("192.0.2.1", {"accepts": "identity"}),
        ("192.0.2.1", {"Range": "bytes=0-99"}),
    ],
)
def test_whoever_gains_nothing_or_cannot_read_it_gets_the_file_as_it_is(
    ask: Callable[..., httpx2.Response], address: str, headers: dict[str, str]
) -> None:
    assert "Content-Encoding" not in ask(CHARTS, address, **headers).headers


def test_behind_a_proxy_on_the_same_machine_the_browser_is_elsewhere(ask: Callable[..., httpx2.Response]) -> None:
    answered = ask(CHARTS, "127.0.0.1", **{"X-Forwarded-For": "192.0.2.1"})
    assert answered.headers["Content-Encoding"] == "gzip"


@pytest.mark.parametrize("path", ["/static/js/none.js", "/static/js/../../index.html", "/index.html"])
def test_all_else_is_streamlits(ask: Callable[..., httpx2.Response], path: str) -> None:
    answered = ask(path)
    assert "Content-Encoding" not in answered.headers
    assert answered.content == ask(path, "127.0.0.1").content
