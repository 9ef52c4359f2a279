"""The server without Streamlit's own routes: what clsviz answers, and a stand-in for a session's WebSocket."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from clsviz.ui.state import server
from clsviz.web import routes


@pytest.fixture(autouse=True)
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing measured yet, no jobs."""
    monkeypatch.setenv("CLSVIZ_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(server, "soon", lambda action: None)
    st.cache_resource.clear()
    routes._readiness.cache_clear()
    routes._previews.cache_clear()
    yield
    server.jobs().close()
    st.cache_resource.clear()


async def stream(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("hello")
    await websocket.close()


async def upload(_: Request) -> Response:
    return PlainTextResponse("kept")


@pytest.fixture
def open_site() -> Callable[..., TestClient]:
    """A client of the server, which asks from this address."""

    def open_site(address: str = "127.0.0.1") -> TestClient:
        own = [
            WebSocketRoute("/_stcore/stream", stream),
            Route("/_stcore/upload", upload, methods=["PUT"]),
            Route("/_stcore/metrics", upload),
        ]
        # It is patient, so that what is tested does not depend on how busy the machine is.
        app = Starlette(routes=[*routes.routes(patience_seconds=120), *own], middleware=routes.middleware())
        return TestClient(app, base_url="http://demo.example", client=(address, 50000))

    return open_site


@pytest.fixture
def site(open_site: Callable[..., TestClient]) -> TestClient:
    return open_site()
