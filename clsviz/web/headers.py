"""What a browser is told and asked on every request: which content a page may have, and where it comes from."""

import base64
import hashlib
import math
import re
from collections.abc import Callable, Collection, Hashable, Mapping
from urllib.parse import urlsplit

from cachetools import TTLCache
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clsviz.ui.state import identity

_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)

_SAFE = "GET", "HEAD", "OPTIONS"


def content_security_policy(shell: str, frame_ancestors: str) -> str:
    """What a page may load and run, as the header has it; shell: the page that Streamlit sends.

    - Of scripts in the page, only those of the shell run, which are known by their digest. Streamlit loads the
      components of the page from blobs.
    - Plotly compiles what it draws by WebGL, for which it takes eval.
    - Streamlit writes the styles of its elements, and the page its own, into the page: there is no digest of those.
    """
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in _INLINE_SCRIPT.findall(shell)]
    scripts = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' blob: 'unsafe-eval' {scripts}".strip(),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self' blob:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "object-src 'none'",
            f"frame-ancestors {frame_ancestors}",
        ]
    )


class SecurityHeaders:
    """Says with every answer what the page may load, and who may show it."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": policy,
            "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
            "Referrer-Policy": "strict-origin-when-cross-origin",
            "X-Content-Type-Options": "nosniff",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to its answer."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class _Gate:
    """Passes requests on, or refuses them with the answer of `_refusal`; a session is not connected."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        raise NotImplementedError


_AROUND_A_FILE = 64 * 1024
"""What a browser sends around a file that it uploads."""

_RECENT_SECONDS = 600
"""For so long, what was uploaded counts."""


class SameOrigin(_Gate):
    """Refuses what a page of another site asks a visitor's browser to do here: connect to a session, or upload.

    Streamlit asks a service on the internet for this server's address before it refuses, so this comes first.
    """

    def __init__(self, app: ASGIApp, allowed: Collection[str] | None) -> None:
        """allowed: other origins that may; None for all."""
        super().__init__(app)
        self._allowed = allowed

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if self._allowed is None or scope.get("method") in _SAFE or origin is None:  # programs send none, browsers do
            return None
        is_ours = urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
        return None if is_ours or origin in self._allowed else PlainTextResponse("This comes from another site.", 403)


class LimitedUploads(_Gate):
    """Refuses a file that is larger than this server takes, or more than it takes now, before any of it is received.

    Streamlit keeps every file in memory for as long as its visitor has the page open.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, most_together: int | None, n_proxies: int) -> None:
        """most_together: bytes of all files of ten minutes, a quarter of them from one address; None: any number.

        n_proxies: how many are believed when they say whom they forward.
        """
        super().__init__(app)
        self._most_bytes, self._n_proxies = most_bytes + _AROUND_A_FILE, n_proxies
        self._recent: TTLCache[tuple[str, object], int] = TTLCache(
            most_together or math.inf, _RECENT_SECONDS, getsizeof=int
        )

    def _refusal(self, scope: Scope) -> Response | None:
        if scope.get("method") not in ("POST", "PUT"):
            return None
        length = Headers(scope=scope).get("content-length", "")
        if not length.isdecimal() or int(length) > self._most_bytes:
            return PlainTextResponse("The file is too large for this server.", 413)
        address, most = _address(HTTPConnection(scope), self._n_proxies), self._recent.maxsize
        self._recent.expire()
        before = sum(n_bytes for (whose, _), n_bytes in self._recent.items() if whose == address)
        if self._recent.currsize + int(length) > most or (before and before + int(length) > most / 4):
            wait = {"Retry-After": str(_RECENT_SECONDS)}
            return PlainTextResponse("Too much is being uploaded. Wait ten minutes.", 503, wait)
        self._recent[address, object()] = int(length)
        return None


class OnlyFor(_Gate):
    """Refuses some paths to all but those who are welcome there."""

    def __init__(self, app: ASGIApp, paths: Collection[str], is_welcome: Callable[..., bool]) -> None:
        """is_welcome: asked with the address of whoever asks, and `is_forwarded`: whether a proxy is between."""
        super().__init__(app)
        self._paths, self._is_welcome = paths, is_welcome

    def _refusal(self, scope: Scope) -> Response | None:
        if scope["path"].rstrip("/") not in self._paths:
            return None
        headers, (address, _) = Headers(scope=scope), scope.get("client") or ("", 0)
        is_forwarded = any(name in headers for name in ("forwarded", "x-forwarded-for", "x-real-ip"))
        if self._is_welcome(address, is_forwarded=is_forwarded):
            return None
        return PlainTextResponse("CLSVIZ_METRICS says who may read this.", 403)


class LimitedRequests(_Gate):
    """Refuses what a visitor asks beyond so many requests a minute; an address may have those of ten visitors."""

    def __init__(
        self, app: ASGIApp, most: Mapping[bool, int | None], is_preview: Callable[[Scope], bool], n_proxies: int
    ) -> None:
        """most: requests a minute, of those that are previews of links and of all others; None for any number.

        n_proxies: how many are believed when they say whom they forward.
        """
        super().__init__(app)
        self._most, self._is_preview, self._n_proxies = most, is_preview, n_proxies
        self._counts: TTLCache[Hashable, list[int]] = TTLCache(maxsize=50_000, ttl=60)

    def _refusal(self, scope: Scope) -> Response | None:
        kind = self._is_preview(scope)
        most = self._most[kind]
        if most is None:
            return None
        request = HTTPConnection(scope)
        address = _address(request, self._n_proxies)
        cookie = identity.name_in(request.cookies)
        may = True
        for name, times in (((kind, address), 10), ((kind, address, cookie), 1)):
            count = self._counts.setdefault(name, [0])  # from the first request on, a minute
            count[0] += 1
            may &= count[0] <= most * times
        return None if may else PlainTextResponse("Too many requests. Wait a minute.", 429, {"Retry-After": "60"})


def _address(request: HTTPConnection, n_proxies: int) -> str:
    """Where a request comes from, if so many proxies are believed when they say whom they forward."""
    forwarded = request.headers.get("x-forwarded-for", "").split(",")
    return identity.address_of(request.client.host if request.client else "", forwarded, n_proxies)
