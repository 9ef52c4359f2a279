"""What the server answers beside what Streamlit does, and what every request goes through."""

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from clsviz import web
from clsviz.ui.state import server, serving
from clsviz.web.headers import OnlyFor, SameOrigin, SecurityHeaders, content_security_policy
from clsviz.web.links import PICTURE, Links
from clsviz.web.pages import PAGES
from clsviz.web.preview import Previews
from clsviz.web.ready import Readiness

METRICS = "/metrics", "/_stcore/metrics"
"""Those of clsviz, and Streamlit's own."""

_TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"


def middleware() -> list[Middleware]:
    """What every request goes through; raises SettingError where a setting of the environment cannot be used."""
    hosting, base = serving.hosting(), serving.base_path()
    policy = content_security_policy(serving.shell(), hosting.frame_ancestors)
    return [
        Middleware(SecurityHeaders, policy=policy),
        Middleware(TrustedHostMiddleware, allowed_hosts=serving.allowed_hosts() or ["*"], www_redirect=False),
        Middleware(SameOrigin, allowed=serving.allowed_origins()),
        Middleware(OnlyFor, paths=[base + path for path in METRICS], is_welcome=hosting.shows_metrics),
    ]


def routes(patience_seconds: float = 0) -> list[BaseRoute]:
    """The pages, with what a preview of them takes; and how the server is doing.

    patience_seconds: how long a visitor's page waits for its preview.
    """
    base = serving.base_path()
    links = Links(serving.shell(), serving.shell(is_embedded=True), base, Previews(), patience_seconds)
    readiness = Readiness(server.jobs)

    async def ready(_: Request) -> Response:
        state = await run_in_threadpool(readiness.state)
        return JSONResponse(state, 200 if state["ready"] else 503, {"Cache-Control": "no-store"})

    async def metrics(_: Request) -> Response:
        content = await run_in_threadpool(lambda: web.metrics.exposition(server.jobs(), serving.n_sessions()))
        return Response(content, headers={"Content-Type": _TEXT_FORMAT, "Cache-Control": "no-store"})

    pages = [Route(f"{base}/{path}", links.page) for path in PAGES]
    return [
        *pages,
        Route(base + PICTURE, links.picture),
        Route(f"{base}/ready", ready),
        Route(base + METRICS[0], metrics),
    ]
