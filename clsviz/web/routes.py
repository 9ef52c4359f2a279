"""What the server answers beside what Streamlit does, and what every request goes through."""

import functools

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from clsviz import web
from clsviz.ui import state
from clsviz.ui.state import serving
from clsviz.web import still
from clsviz.web.headers import OnlyFor, SameOrigin, SecurityHeaders, content_security_policy
from clsviz.web.links import PATIENCE_SECONDS, PICTURE, Links

METRICS = "/metrics", "/_stcore/metrics"
"""Those of clsviz, and Streamlit's own."""

_TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


def middleware() -> list[Middleware]:
    """What every request goes through; raises SettingError where a setting of the environment cannot be used."""
    hosting, base = serving.hosting(), serving.base_path()
    policy = content_security_policy(serving.shell() + still.script(), hosting.frame_ancestors)
    return [
        Middleware(SecurityHeaders, policy=policy),
        Middleware(TrustedHostMiddleware, allowed_hosts=serving.allowed_hosts() or ["*"], www_redirect=False),
        Middleware(SameOrigin, allowed=serving.allowed_origins()),
        Middleware(OnlyFor, paths=[base + path for path in METRICS], is_welcome=hosting.shows_metrics),
    ]


def routes(patience_seconds: float = PATIENCE_SECONDS) -> list[BaseRoute]:
    """The pages, with what a preview of them takes; and how the server is doing.

    What measures and draws is loaded only as it is asked for: a browser that comes first gets its page before.
    patience_seconds: how long whoever collects previews waits for one.
    """
    base = serving.base_path()
    previews = functools.cache(lambda: web.preview.Previews())
    readiness = functools.cache(lambda: web.ready.Readiness(state.server.jobs))
    shell, embedded = serving.shell(), serving.shell(is_embedded=True)
    links = Links(shell, embedded, still.shells(shell), base, previews, patience_seconds)

    async def ready(_: Request) -> Response:
        found = await run_in_threadpool(lambda: readiness().state())
        return JSONResponse(found, 200 if found["ready"] else 503, {"Cache-Control": "no-store"})

    async def drawn(request: Request) -> Response:
        content = web.drawn.content(request.path_params["name"])
        return _packed(content, "application/json") if content else Response(status_code=404)

    async def plotly(_: Request) -> Response:
        return _packed(await run_in_threadpool(web.drawn.script), "text/javascript")

    async def metrics(_: Request) -> Response:
        content = await run_in_threadpool(lambda: web.metrics.exposition(state.server.jobs(), serving.n_sessions()))
        return Response(content, headers={"Content-Type": _TEXT_FORMAT, "Cache-Control": "no-store"})

    pages = [Route(f"{base}/{path}", links.page) for path in serving.PATHS]
    return [
        *pages,
        Route(base + PICTURE, links.picture),
        Route(f"{base}/ready", ready),
        Route(f"{base}/drawn/{{name}}", drawn),
        Route(f"{base}/{serving.script_of_charts()}", plotly),
        Route(base + METRICS[0], metrics),
    ]


def _packed(content: bytes, media_type: str) -> Response:
    """What goes by a name that changes with it, as gzip has it; every browser reads that."""
    headers = {"Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(content, headers=headers, media_type=media_type)
