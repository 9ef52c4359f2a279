"""The guard of a public server, in front of a small application."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from clsviz import guard, limits
from clsviz.errors import SettingError

UPLOAD = "/_stcore/upload_file/session/file"

SHELL = "<script>\n  window.prerenderReady = false\n</script>"


async def answer(_: Request) -> PlainTextResponse:
    return PlainTextResponse("yes")


async def stream(socket: WebSocket) -> None:
    await socket.accept()
    await socket.receive()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    for cache in (guard._requests, guard._uploads, guard._sessions):
        cache.clear()
    return client_of()


def client_of() -> TestClient:
    routes = [
        Route("/", answer),
        Route("/_stcore/{path:path}", answer, methods=["GET", "PUT"]),
        WebSocketRoute("/_stcore/stream", stream),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(guard.Guard, lambda: SHELL)]))


def is_connected(client: TestClient, **headers: str) -> bool:
    try:
        with client.websocket_connect("/_stcore/stream", headers=headers) as socket:
            socket.send_text("")
    except WebSocketDisconnect:
        return False
    return True


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://testserver", 200),
        ("https://testserver", 200),
        ("https://friend.org", 200),
        ("https://evil.org", 403),
        ("http://testserver.evil.org", 403),
        ("http://testserver:81", 403),
        ("http://evil@testserver", 403),
        ("http://[", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_pages_of_other_sites_are_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, origin: str, status: int
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_ORIGINS", "https://friend.org, https://other.org")
    assert client.get("/", headers={"Origin": origin}).status_code == status
    assert is_connected(client, Origin=origin) == (status == 200)


def test_answers_say_what_a_browser_may_do(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_EMBEDDERS", "https://huggingface.co")
    headers = client_of().get("/").headers
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    # openssl dgst -sha256 -binary | base64
    assert "'sha256-4u1OPAdtCr8+M1HRaukHjIcJ16zKttM2uTopyOMkJqA='" in policy
    assert "script-src 'self' blob:" in policy
    assert policy.endswith("frame-ancestors 'self' https://huggingface.co")


@pytest.mark.parametrize("path", ["metrics", "agent/interact", "agent/openapi.json"])
def test_what_is_not_for_visitors_is_closed(client: TestClient, path: str) -> None:
    assert client.get(f"/_stcore/{path}").status_code == 404


@pytest.mark.parametrize(
    ("length", "status"),
    [("10", 200), ("1000000", 200), ("2000000", 413), ("-1", 411), ("1e3", 411), ("9" * 5000, 411)],
    ids=lambda value: str(value)[:9],
)
def test_an_upload_is_at_most_as_large(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, length: str, status: int
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_UPLOAD_BYTES", "1000000")
    headers = {"Content-Length": length}
    assert client.put(UPLOAD, headers=headers).status_code == status


def test_a_session_uploads_ten_large_files(client: TestClient) -> None:
    headers = {"Content-Length": str(limits.LIMITS["upload_bytes"])}
    statuses = [client.put(UPLOAD, headers=headers).status_code for _ in range(12)]
    assert statuses == [200] * 10 + [413] * 2


def test_a_full_server_takes_no_more_sessions(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_SESSIONS", "2")
    with client.websocket_connect("/_stcore/stream"):
        assert is_connected(client)
        with client.websocket_connect("/_stcore/stream"):
            assert guard.is_full()
            assert not is_connected(client)
    assert is_connected(client)
    assert not guard._sessions


def test_addresses_are_limited_behind_proxies_alone(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_REQUESTS", "2")
    monkeypatch.setenv("CLSVIZ_LIMIT_ADDRESS_SESSIONS", "1")
    monkeypatch.setattr("time.time", lambda: 0.0)
    forged = [{"X-Forwarded-For": f"{n}.1.1.1, 9.9.9.9"} for n in range(4)]
    assert [client.get("/", headers=one).status_code for one in forged] == [200] * 4
    monkeypatch.setenv("CLSVIZ_LIMIT_PROXIES", "1")
    assert [client.get("/", headers=one).status_code for one in forged] == [200, 200, 429, 429]
    other = {"X-Forwarded-For": "9.9.9.9, 8.8.8.8"}
    with client.websocket_connect("/_stcore/stream", headers=other):
        assert not is_connected(client, **other)
        assert is_connected(client, **{"X-Forwarded-For": "7.7.7.7"})


@given(st.lists(st.text("0123456789.:, \t", max_size=20), max_size=4), st.integers(0, 3))
def test_the_address_is_the_nth_from_the_right(entries: list[str], n_proxies: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLSVIZ_LIMIT_PROXIES", str(n_proxies))
        address = guard.address_of(
            Headers(raw=[(b"x-forwarded-for", entry.encode()) for entry in entries])
        )
    parts = [part.strip() for entry in entries or [""] for part in entry.split(",")]
    expected = parts[len(parts) - n_proxies] if 0 < n_proxies <= len(parts) else ""
    assert address == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_foreign_page_is_one_whose_origin_is_not_the_host(origin: str, host: str) -> None:
    raw = [(b"origin", origin.encode()), (b"host", host.encode())]
    own = [(b"origin", b"https://a.b:1"), (b"host", b"A.b:1")]
    assert guard.is_foreign(Headers(raw=raw))
    assert not guard.is_foreign(Headers(raw=own))


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "many", "“many”. Write a whole number"),
        ("CLSVIZ_LIMIT_SAMPLE_SIZE", "-1", "“-1”"),
        ("CLSVIZ_LIMIT_SAMPLESIZE", "5", "There is no limit"),
    ],
)
def test_a_limit_that_cannot_be_heeded_is_refused_as_the_server_starts(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, words: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(SettingError, match=words):
        limits.check()


def test_at_home_nothing_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLSVIZ_PUBLIC", raising=False)
    numbers = {name: limits.number(name) for name in limits.LIMITS}
    assert {name for name, n in numbers.items() if n < float("inf")} == {"upload_hours", "proxies"}
    monkeypatch.setenv("CLSVIZ_LIMIT_SAMPLE_SIZE", "7")
    assert limits.number("sample_size") == 7
