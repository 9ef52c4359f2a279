"""What a link answers before its page is drawn: Streamlit's page with the tags of a preview, and the picture."""

import functools
import html
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clsviz import web, words
from clsviz.experiment import Experiment
from clsviz.ui.state import serving
from clsviz.web.cache import Pictures

if TYPE_CHECKING:  # a browser gets its page before they are loaded
    from clsviz.web.preview import Preview, Previews

T = TypeVar("T")

PICTURE = "/preview.png"
PAGE_PARAMETER = "page"
"""Which page a picture is of, beside the settings of the link."""

SIZE = 1200, 630
"""Pixels of the picture, as social networks show it in full."""

_MOST_WAITING = 16
"""Requests beyond these get an answer that takes nothing."""

PATIENCE_SECONDS = 5.0
"""How long whoever collects previews waits for one; the link then says only what it asks."""


class Links:
    """Answers to links. What a preview takes is done by one thread at a time, so that pages and jobs come first."""

    def __init__(
        self,
        shell: str,
        embedded: str,
        stills: Mapping[str, str],
        base: str,
        previews: "Callable[[], Previews]",
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """What is answered.

        shell: the page that Streamlit sends; embedded: the same for a frame; stills: the same with what a page opens
        with, by its path. base: what stands before all paths.
        """
        self._shell, self._embedded, self._stills = shell, embedded, stills
        self._base, self._previews = base, previews
        self._patience_seconds = patience_seconds
        self.pictures = Pictures()
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def page(self, request: Request) -> Response:
        """Streamlit's page. To programs its head says what the link leads to.

        A browser, which tells by a header that it is one, shows nothing of that, and gets the page at once; where the
        link is to a page as it opens, with that page standing still.
        """
        is_browser = "sec-fetch-mode" in request.headers
        tags = serving.TITLE if is_browser else await self._tags(request)
        is_embedded = any(
            value.lower() == "true" for value in request.query_params.getlist("embed")
        )  # as Streamlit asks
        shell = self._embedded if is_embedded else self._shell
        if is_browser and not request.url.query:
            shell = self._stills.get(self._path(request), shell)
        headers = {"Cache-Control": "no-cache", "Vary": "Sec-Fetch-Mode"}
        answer = HTMLResponse(shell.replace(serving.TITLE, tags, 1), headers=headers)
        serving.give_cookie(request, answer)
        return answer

    async def _tags(self, request: Request) -> str:
        path, query = self._path(request), dict(request.query_params)
        preview = None
        with anyio.move_on_after(self._patience_seconds):
            preview = await self._do(lambda: self._previews().of(path, query))
        preview = preview or self._previews().unread(path, query)
        return tags_of(preview, f"{_origin(request)}{self._base}", path)

    def _path(self, request: Request) -> str:
        return request.url.path.removeprefix(self._base).strip("/")

    async def picture(self, request: Request) -> Response:
        """The picture of a link, 1200 × 630; for a link that makes no sense, that of the page as it opens."""
        query = dict(request.query_params)
        path = query.pop(PAGE_PARAMETER, "")
        is_busy = self._one_at_a_time.statistics().tasks_waiting >= _MOST_WAITING
        if is_busy:
            return Response(status_code=503, headers={"Retry-After": "5", "Cache-Control": "no-store"})
        content, is_known = await self._do(lambda: self._draw(path, query))
        age = 3600 if is_known else 60  # what is not measured yet may be soon
        return Response(content, media_type="image/png", headers={"Cache-Control": f"public, max-age={age}"})

    def _draw(self, path: str, query: dict[str, str]) -> tuple[bytes, bool]:
        preview = self._previews().of(path, query)
        draw = functools.partial(web.drawing.draw, preview)  # through the face: Pillow's fonts load only now
        return self.pictures.get(preview.key, draw), bool(preview.answer)

    async def _do(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._one_at_a_time)


def query_of_picture(experiment: Experiment, path: str) -> dict[str, str]:
    """The URL parameters of the picture of a link to the page with that path."""
    return experiment.to_query() | ({PAGE_PARAMETER: path} if path else {})


def tags_of(preview: "Preview", address: str, path: str) -> str:
    """The tags of a preview, by Open Graph and as X reads them; address: where the server's paths begin."""
    query = query_of_picture(preview.experiment, path)
    picture = f"{address}{PICTURE}" + (f"?{urlencode(query)}" if query else "")
    description = preview.answer or words.sharing.ABOUT
    n = len(preview.scatter.lengths) if preview.scatter else 0
    named = {"description": description, "twitter:card": "summary_large_image"}
    properties = {
        "og:type": "website",
        "og:site_name": words.sharing.SITE,
        "og:title": preview.question,
        "og:description": description,
        "og:image": picture,
        "og:image:type": "image/png",
        "og:image:width": str(SIZE[0]),
        "og:image:height": str(SIZE[1]),
        "og:image:alt": words.sharing.alt(preview.experiment, n),
    }
    named |= {f"twitter:{name}": properties[f"og:{name}"] for name in ("title", "description", "image", "image:alt")}
    lines = [f"<title>{html.escape(preview.question)}</title>"]
    lines += [f'<meta name="{name}" content="{html.escape(text)}" />' for name, text in named.items()]
    lines += [f'<meta property="{name}" content="{html.escape(text)}" />' for name, text in properties.items()]
    return "\n    ".join(lines)


def _origin(request: Request) -> str:
    is_secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"  # by a proxy
    return f"{'https' if is_secure else 'http'}://{request.headers.get('host', '')}"
