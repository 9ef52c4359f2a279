"""The guard of a public server, in front of a small application."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg

from clsviz import guard, limits
from clsviz.errors import SettingError

UPLOAD = "/_stcore/upload_file/session/file"

SHELL = "<script>\n  window.prerenderReady = false\n</script>"

Serve = Callable[..., TestClient]


async def answer(request: Request) -> PlainTextResponse:
    return PlainTextResponse("yes", 400 if "nobody" in request.url.path else 200)


async def stream(socket: WebSocket) -> None:
    """Send back what comes."""
    await socket.accept()
    with suppress(WebSocketDisconnect):
        while True:
            await socket.send_bytes(await socket.receive_bytes())


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A client of a new server in public mode, with limits by name."""

    def serve(**limits_by_name: object) -> TestClient:
        monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
        for name, value in limits_by_name.items():
            monkeypatch.setenv(f"CLSVIZ_LIMIT_{name.upper()}", str(value))
        for counts in (guard._requests, guard._uploads, guard._sessions):
            counts.clear()
        routes = [
            Route("/", answer),
            Route("/_stcore/{path:path}", answer, methods=["GET", "PUT"]),
            WebSocketRoute("/_stcore/stream", stream),
        ]
        guarded = [Middleware(guard.Guard, lambda: SHELL)]
        return TestClient(Starlette(routes=routes, middleware=guarded))

    return serve


def is_connected(client: TestClient, **headers: str) -> bool:
    try:
        with client.websocket_connect("/_stcore/stream", headers=headers) as socket:
            socket.send_text("")
    except WebSocketDisconnect:
        return False
    return True


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("http://testserver", True),
        ("https://testserver", True),
        ("https://friend.org", True),
        ("https://evil.org", False),
        ("http://testserver.evil.org", False),
        ("http://testserver:81", False),
        ("http://evil@testserver", False),
        ("http://[", False),
        ("null", False),
        ("", False),
    ],
)
def test_pages_of_other_sites_are_refused(serve: Serve, origin: str, is_ours: bool) -> None:
    client = serve(origins="https://friend.org, https://other.org")
    status = client.get("/", headers={"Origin": origin}).status_code
    assert status == (200 if is_ours else 403)
    assert is_connected(client, Origin=origin) == is_ours


def test_answers_say_what_a_browser_may_do(serve: Serve) -> None:
    headers = serve(embedders="https://huggingface.co").get("/").headers
    assert headers["x-content-type-options"] == "nosniff"
    policy = headers["content-security-policy"]
    # openssl dgst -sha256 -binary | base64
    assert "'sha256-4u1OPAdtCr8+M1HRaukHjIcJ16zKttM2uTopyOMkJqA='" in policy
    assert "script-src 'self' blob:" in policy
    assert policy.endswith("frame-ancestors 'self' https://huggingface.co")


def test_refusals_have_the_headers_too(serve: Serve) -> None:
    client, evil = serve(), {"Origin": "https://evil.org"}
    names = {"content-security-policy", *(name.lower() for name in guard.HEADERS)}
    assert names <= client.get("/", headers=evil).headers.keys()
    with (
        pytest.raises(WebSocketDenialResponse) as refusal,
        client.websocket_connect("/_stcore/stream", headers=evil),
    ):
        pass
    assert refusal.value.status_code == 403
    assert names <= refusal.value.headers.keys()


PAGES_SEND = {
    "rerun_script": {"query_string": "a" * 300},
    "stop_script": True,
    "file_urls_request": {"file_names": ["a.txt"]},
    "app_heartbeat": True,
    "backend_operation_request": {"request_id": "1", "deferred_file": {"file_id": "2"}},
}


def test_only_messages_that_pages_send_reach_streamlit(serve: Serve) -> None:
    others = {field.name: True for field in BackMsg.DESCRIPTOR.fields}
    messages = [BackMsg(**{name: content}) for name, content in (others | PAGES_SEND).items()]
    with serve().websocket_connect("/_stcore/stream") as socket:
        for message in messages:
            socket.send_bytes(message.SerializeToString())
        socket.send_text("clear_cache")
        socket.send_bytes(last := BackMsg(rerun_script={}).SerializeToString())
        answers = iter(socket.receive_bytes, last)
        passed = {BackMsg.FromString(answer).WhichOneof("type") for answer in answers}
    assert passed == PAGES_SEND.keys()


@given(st.lists(st.sampled_from([*guard.TAGS, *guard.PLAIN, b"\x28\x01", b"\0", b"\x80", b"\x05"])))
def test_no_frame_that_passes_is_another_message(parts: list[bytes]) -> None:
    frame = b"".join(parts)
    if guard.is_of_page(frame):
        with suppress(DecodeError):  # Streamlit closes the connection
            assert BackMsg.FromString(frame).WhichOneof("type") in PAGES_SEND


def test_what_is_not_for_visitors_is_closed(serve: Serve) -> None:
    for path in ("metrics", "agent/interact", "agent/openapi.json"):
        assert serve().get(f"/_stcore/{path}").status_code == 404


@pytest.mark.parametrize(
    ("lengths", "statuses"),
    [
        (["10", "1000000", "2000000", "-1", "1e3", "9" * 5000], [200, 200, 413, 411, 411, 411]),
        (["1000000"] * 12, [200] * 10 + [413] * 2),
    ],
)
def test_uploads_are_at_most_as_large(serve, lengths, statuses) -> None:
    client = serve(upload_bytes=1_000_000)
    answers = [client.put(UPLOAD, headers={"Content-Length": length}) for length in lengths]
    assert [answer.status_code for answer in answers] == statuses


def test_uploads_of_all_sessions_have_a_limit_and_those_that_fail_do_not_count(serve) -> None:
    client, length = serve(uploads_bytes=3_000_000), {"Content-Length": "1000000"}
    sessions = ["nobody", "a", "b", "nobody", "nobody", "c", "d"]
    answers = [client.put(f"/_stcore/upload_file/{one}/f", headers=length) for one in sessions]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [400, 200, 200, 400, 400, 200, 503]
    assert "no space for uploads" in answers[-1].text


def test_a_full_server_takes_no_more_sessions(serve: Serve) -> None:
    client = serve(sessions=2)
    with client.websocket_connect("/_stcore/stream"):
        assert is_connected(client)
        with client.websocket_connect("/_stcore/stream"):
            assert guard.is_full()
            assert not is_connected(client)
    assert is_connected(client)
    assert not guard._sessions


@pytest.mark.parametrize(("proxies", "last"), [(0, 200), (1, 429), (2, 200)])
def test_addresses_are_limited_behind_proxies_alone(serve, monkeypatch, proxies, last) -> None:
    client = serve(requests=2, address_sessions=1, proxies=proxies)
    monkeypatch.setattr("time.time", lambda: 0.0)
    forged = [{"X-Forwarded-For": f"{n}.1.1.1, 9.9.9.9"} for n in range(4)]
    statuses = [client.get("/", headers=headers).status_code for headers in forged]
    assert statuses == [200, 200, last, last]
    one, other = ({"X-Forwarded-For": f"9.9.9.9, {n}.8.8.8"} for n in (8, 7))
    with client.websocket_connect("/_stcore/stream", headers=one):
        assert is_connected(client, **one) == (proxies == 0)
        assert is_connected(client, **other) == (proxies < 2)


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_foreign_page_is_one_whose_origin_is_not_the_host(origin: str, host: str) -> None:
    assert guard.is_foreign(Headers(raw=[(b"origin", origin.encode()), (b"host", host.encode())]))
    assert not guard.is_foreign(Headers({"origin": "https://a.b:1", "host": "A.b:1"}))


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
