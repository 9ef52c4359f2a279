"""The guard of a public server: it refuses requests, drops messages, and adds headers."""

import base64
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import cachetools
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from clsviz import limits

STREAM: Final = "/_stcore/stream"
UPLOAD: Final = "/_stcore/upload_file/"
CLOSED: Final = ("/_stcore/metrics", "/_stcore/agent")
"""Paths of Streamlit: of a session, of an upload, and those that are not for visitors."""

UPLOADS_OF_SESSION: Final = 10  # of the largest size; all sessions together have `uploads_bytes`
FORM_BYTES: Final = 2**14  # of the form around an upload, at most
FULL: Final = "The server is full. Try again in some minutes."

PLAIN: Final = (b"\x38\x01", b"\x88\x01\x01")
"""Messages of our pages without content, as Streamlit's protocol has them: stop, and I am there."""

TAGS: Final = (b"\x5a", b"\x82\x01", b"\x9a\x01")
"""What messages of our pages begin with: draw the page, addresses for uploads, a download.

`clear_cache` is not among them: by it a browser would clear the caches of all visitors.
"""

HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

POLICY: Final = (
    "default-src 'self'; script-src 'self' blob: 'unsafe-eval' {scripts}; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors {frames}"
)
"""Components come as blobs, Plotly's WebGL makes functions of text, and React styles elements."""

Refusal = tuple[int, str]  # a status and a sentence

_sessions: Counter[str] = Counter()  # that are open, by address
# Requests by address and minute, and bytes of uploads by session.
_requests: cachetools.TTLCache[tuple[str, int], int] = cachetools.TTLCache(100_000, ttl=120)
_uploads: cachetools.TTLCache[str, int] = cachetools.TTLCache(10_000, ttl=24 * 3600)


def is_full() -> bool:
    """True if the server has as many sessions as it may."""
    return _sessions.total() >= limits.number("sessions")


class Guard:
    """ASGI middleware. shell: returns the page whose inline scripts may run."""

    def __init__(self, app: ASGIApp, shell: Callable[[], str]) -> None:
        scripts = re.findall(r"<script>(.*?)</script>", shell(), re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in scripts]
        policy = POLICY.format(
            scripts=" ".join(f"'sha256-{digest.decode()}'" for digest in digests),
            frames=" ".join(["'self'", *limits.names("embedders")]),
        )
        self._app = app
        self._headers = {**HEADERS, "Content-Security-Policy": policy}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or answer it with our headers."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        connection, is_session = HTTPConnection(scope), scope["type"] == "websocket"
        if refused := refusal(connection):
            status, sentence = refused
            response = PlainTextResponse(sentence, status, self._headers)
            if is_session:
                await WebSocket(scope, receive, send).send_denial_response(response)
            else:
                await response(scope, receive, send)
            return

        is_answered = False  # else Streamlit has no upload

        async def send_with_headers(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = message["status"] < 400
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        async def receive_of_page() -> Message:
            while True:
                message = await receive()
                is_frame = message["type"] == "websocket.receive"
                if not is_frame or is_of_page(message.get("bytes") or b""):
                    return message

        address = address_of(connection.headers)
        _sessions[address] += is_session
        session, n_bytes = upload_of(connection)
        try:
            await self._app(scope, receive_of_page, send_with_headers)
        finally:
            if n_bytes and not is_answered:
                total = _uploads.pop(session, 0) - n_bytes
                if total > 0:
                    _uploads[session] = total
            _sessions[address] -= is_session
            if not _sessions[address]:
                del _sessions[address]


def is_of_page(frame: bytes) -> bool:
    """True if a frame of the websocket is one message that our pages send, and nothing else.

    Its first bytes are compared here, as the parser, `streamlit.proto`, is private. Messages may
    be joined, and the last one counts: so the first must be as long as the frame.
    """
    tag = next(filter(frame.startswith, TAGS), None)
    if tag is None:
        return frame in PLAIN
    length, start = 0, len(tag)
    for place, byte in enumerate(frame[start : start + 5]):  # 7 bits each; the last has no 128
        length |= (byte & 127) << 7 * place
        if byte < 128:
            return start + place + 1 + length == len(frame)
    return False


def address_of(headers: Headers) -> str:
    """The address of a visitor, as the outermost of our own proxies has it; "" where unknown."""
    n_proxies = int(limits.number("proxies"))
    entries = ",".join(headers.getlist("X-Forwarded-For")).split(",")
    return entries[-n_proxies].strip() if 0 < n_proxies <= len(entries) else ""


def is_foreign(headers: Headers) -> bool:
    """True if a page of another site sends a request."""
    origin, host = headers.get("Origin"), headers.get("Host", "").lower()
    if origin is None or origin in limits.names("origins"):
        return False
    return origin.lower() not in (f"http://{host}", f"https://{host}")


def refusal(connection: HTTPConnection) -> tuple[int, str] | None:
    """The status and the sentence with which a request is refused, or None."""
    headers, path = connection.headers, connection.url.path
    path = path[max(path.find("/_stcore/"), 0) :]  # the server may stand below another path
    if is_foreign(headers):
        return 403, "Pages of other sites may not talk to this server."
    if path.startswith(CLOSED):
        return 404, "Not found."
    if address := address_of(headers):
        key = address, int(time.time() // 60)
        _requests[key] = _requests.get(key, 0) + 1
        if _requests[key] > limits.number("requests"):
            return 429, "Too many requests. Try again in a minute."
    if path.startswith(STREAM):
        if is_full():
            return 503, FULL
        if address and _sessions[address] >= limits.number("address_sessions"):
            return 429, "Too many sessions of this address. Close some of its pages."
    return _refusal_of_upload(*upload_of(connection))


def upload_of(connection: HTTPConnection) -> tuple[str, int]:
    """The session and the bytes of an upload, -1 where it does not say them; no bytes of others."""
    _, _, rest = connection.url.path.partition(UPLOAD)
    if not rest or connection.scope.get("method") not in ("PUT", "POST"):
        return "", 0
    length = connection.headers.get("Content-Length", "")
    is_number = length.isascii() and length.isdecimal() and len(length) <= 20
    return rest.partition("/")[0], int(length) if is_number else -1


def _refusal_of_upload(session: str, n_bytes: int) -> tuple[int, str] | None:
    """Counts an upload that is not refused: Streamlit has it in memory, whether a page takes it.

    It forgets the uploads of a visitor who has left only when another one leaves.
    """
    if not n_bytes:
        return None
    if n_bytes < 0:
        return 411, "An upload has a Content-Length."
    most = limits.number("upload_bytes")
    if n_bytes > most + FORM_BYTES:
        return 413, f"An upload has at most {most / 1e6:,g} MB."
    total = _uploads.get(session, 0) + n_bytes
    if total > UPLOADS_OF_SESSION * most:
        return 413, "Too many uploads of this session. Reload the page."
    if sum(_uploads.values()) + n_bytes > limits.number("uploads_bytes"):
        return 503, "The server has no space for uploads. Try again in some hours."
    _uploads[session] = total
    return None
