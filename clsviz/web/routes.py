"""What the server answers beside what Streamlit does, what requests go through, and what it does as it starts."""

import functools
import gzip
import importlib
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from clsviz.limits import limits_of
from clsviz.ui.state import identity, serving
from clsviz.web import page
from clsviz.web.headers import (
    LimitedRequests,
    LimitedUploads,
    OnlyFor,
    SameOrigin,
    SecurityHeaders,
    content_security_policy,
)

if TYPE_CHECKING:  # a browser gets its page before they are loaded
    from clsviz.web.preview import Previews
    from clsviz.web.status import Readiness

T = TypeVar("T")

METRICS = "/metrics", "/_stcore/metrics"
"""Those of clsviz, and Streamlit's own."""

PATIENCE_SECONDS = 5.0
"""How long whoever collects previews waits for one; the link then says only what it asks."""

_MOST_WAITING = 16
"""Requests for previews beyond these get an answer that takes nothing."""

_SWITCH_SECONDS = 0.001
"""After so long a thread gives Python to another: what is measured asks for it thousands of times a second."""

_FIRST_SECONDS = 0.05
"""A browser that waits for the server to start gets its page in this time, before Python has more to do."""


def middleware() -> list[Middleware]:
    """What every request goes through; raises SettingError where a setting of the environment cannot be used."""
    hosting, base, limits = serving.hosting(), serving.base_path(), limits_of(os.environ)
    pages = {f"{base}/{path}" for path in serving.PATHS}

    def is_preview(scope: Scope) -> bool:
        """Whether a link is to be read and drawn: for its picture, or for a program that shows what it leads to."""
        asks = scope["path"] in pages and "sec-fetch-mode" not in Headers(scope=scope)
        return asks or scope["path"] == base + page.PICTURE

    most = {True: limits.previews_per_minute, False: limits.requests_per_minute}
    return [
        Middleware(SecurityHeaders, policy=content_security_policy(page.shell() + page.LEAVE, hosting.frame_ancestors)),
        Middleware(TrustedHostMiddleware, allowed_hosts=serving.allowed_hosts() or ["*"], www_redirect=False),
        Middleware(SameOrigin, allowed=serving.allowed_origins()),
        Middleware(LimitedRequests, most=most, is_preview=is_preview, n_proxies=limits.trusted_proxies),
        Middleware(
            LimitedUploads,
            most_bytes=limits.upload_bytes,
            most_together=limits.upload_memory_bytes,
            n_proxies=limits.trusted_proxies,
        ),
        Middleware(OnlyFor, paths=[base + path for path in METRICS], is_welcome=hosting.shows_metrics),
    ]


def routes(patience_seconds: float = PATIENCE_SECONDS) -> list[BaseRoute]:
    """The pages, with what a preview of them takes; what charts are drawn of; and how the server is doing.

    What measures and draws is loaded only as it is asked for: a browser that comes first gets its page before.
    patience_seconds: how long whoever collects previews waits for one.
    """
    base = serving.base_path()
    links = _Links(base, patience_seconds)

    async def ready(_: Request) -> Response:
        found = await run_in_threadpool(lambda: _readiness().state())
        return JSONResponse(found, 200 if found["ready"] else 503, {"Cache-Control": "no-store"})

    async def metrics(_: Request) -> Response:
        def measure() -> bytes:
            from clsviz.ui.state import server, sessions
            from clsviz.web import status

            return status.exposition(server.jobs(), sessions.n_connected())

        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store"}
        return Response(await run_in_threadpool(measure), headers=headers)

    async def plotly(_: Request) -> Response:
        return _packed(await run_in_threadpool(_script_of_charts), "text/javascript")

    async def drawn(request: Request) -> Response:
        from clsviz.ui.parts import plot

        content = plot.contents().get(request.path_params["name"])
        return Response(status_code=404) if content is None else _packed(content, "application/json")

    async def first(request: Request) -> Response:
        name = request.path_params["name"]
        known = {file.name: file for file in page.FIRST.glob("*.webp")}
        headers = {"Cache-Control": "public, max-age=86400"}
        return FileResponse(known[name], headers=headers) if name in known else Response(status_code=404)

    return [
        *(Route(f"{base}/{path}", links.page) for path in serving.PATHS),
        Route(f"{base}/first/{{name}}", first),
        Route(base + page.PICTURE, links.picture),
        Route(f"{base}/{serving.script_of_charts()}", plotly),
        Route(f"{base}/drawn/{{name}}", drawn),
        Route(f"{base}/ready", ready),
        Route(base + METRICS[0], metrics),
    ]


def _packed(content: bytes, media_type: str) -> Response:
    """What goes by a name that changes with it, as gzip has it; every browser reads that."""
    headers = {"Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=media_type)


@functools.cache
def _script_of_charts() -> bytes:
    from clsviz import figures

    return gzip.compress(figures.plotly_script().encode(), 6, mtime=0)


@functools.cache
def _readiness() -> "Readiness":
    from clsviz.ui.state import server
    from clsviz.web import status

    return status.Readiness(server.jobs)


@functools.cache
def _previews() -> "Previews":
    from clsviz.web import preview

    return preview.Previews()


class _Links:
    """Answers to links. What a preview takes is done by one thread at a time, so that pages and jobs come first."""

    def __init__(self, base: str, patience_seconds: float) -> None:
        """base: what stands before all paths."""
        self._base, self._patience_seconds = base, patience_seconds
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def page(self, request: Request) -> Response:
        """Streamlit's page. To programs its head says what the link leads to.

        A browser, which tells by a header that it is one, shows nothing of that, and gets the page at once; where the
        link is to a page as it opens, with its first picture.
        """
        is_embedded = any(value.lower() == "true" for value in request.query_params.getlist("embed"))
        is_browser = "sec-fetch-mode" in request.headers
        tags = page.TITLE if is_browser else await self._tags(request)
        shell = page.shell(is_embedded=is_embedded)
        if is_browser and not request.url.query:
            shell = page.with_first_picture(shell, self._path(request))
        headers = {"Cache-Control": "no-cache", "Vary": "Sec-Fetch-Mode"}
        answer = HTMLResponse(shell.replace(page.TITLE, tags, 1), headers=headers)
        if is_browser and not identity.name_in(request.cookies):
            is_secure = request.url.scheme == "https"
            answer.set_cookie(identity.COOKIE, identity.new_cookie(), httponly=True, samesite="lax", secure=is_secure)
        return answer

    def _path(self, request: Request) -> str:
        return request.url.path.removeprefix(self._base).strip("/")

    async def _tags(self, request: Request) -> str:
        path = self._path(request)
        query = dict(request.query_params)
        preview = None
        with anyio.move_on_after(self._patience_seconds):
            preview = await self._do(lambda: _previews().of(path, query))
        preview = preview or _previews().unread(path, query)
        is_secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"  # by a proxy
        address = f"{'https' if is_secure else 'http'}://{request.headers.get('host', '')}{self._base}"
        return page.tags(preview.query, preview.question, preview.answer, preview.alt, address, path)

    async def picture(self, request: Request) -> Response:
        """The picture of a link; for a link that makes no sense, that of the page as it opens."""
        query = dict(request.query_params)
        path = query.pop(page.PAGE_PARAMETER, "")
        if self._one_at_a_time.statistics().tasks_waiting >= _MOST_WAITING:
            return Response(status_code=503, headers={"Retry-After": "5", "Cache-Control": "no-store"})
        content, is_known = await self._do(lambda: _previews().picture(path, query))
        age = 3600 if is_known else 60  # what is not measured yet may be soon
        return Response(content, media_type="image/png", headers={"Cache-Control": f"public, max-age={age}"})

    async def _do(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._one_at_a_time)


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """For `st.App`: makes ready in the background as the server starts, and ends its jobs when it ends.

    They end like any others that are cancelled, before Python does: torch, and executors, must still work.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    thread = threading.Thread(target=lambda: make_ready())  # no daemon: Python must not end while it imports
    thread.start()
    yield
    await run_in_threadpool(thread.join)
    from clsviz.ui.state import server

    await run_in_threadpool(server.close)


def make_ready() -> None:
    """Load what the first page that is opened would load, while its browser starts."""
    time.sleep(_FIRST_SECONDS)
    importlib.import_module("clsviz.ui.app")
    _script_of_charts()
    _previews().of("", {})
