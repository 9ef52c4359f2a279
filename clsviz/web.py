"""Routes next to Streamlit's own, and what stands in front of all of them."""

import difflib
import functools
import gzip
import hashlib
import html
import importlib
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final

import cachetools
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from clsviz import limits
from clsviz.guard import FULL, Guard, is_full
from clsviz.questions import FIRST_PAGE, PAGES, PRODUCT

IMPORTS: Final = (
    "clsviz.api",
    "clsviz.figures.scatter",
    "pandas",
    "plotly.graph_objects",
    "pyarrow.parquet",
    "scipy.special",
)
"""Modules that the first page takes: the server imports them while the first browser starts."""

MOST_PACKED: Final = 64 * 2**20  # bytes of compressed figures that are stored for browsers

SCRIPTS: Final = {"plotly": "plotly/plotly.min.js", "chart": "chart.js"}
"""Scripts of charts: the files of `ui`."""

PICTURES: Final = files("clsviz") / "ui" / "pictures"
"""A picture of every page, and cards.json; `python -m benchmarks.cards` makes them."""

FIRST_STYLE: Final = """
#first-words { position: fixed; z-index: 999991; inset: 0 0 0 300px; padding: 0.75rem 5rem;
  font-family: "Source Sans", sans-serif; background: #fff; color: #2f2d2b; pointer-events: none;
  animation: leave 0s 20s forwards; }
#first-words * { line-height: 1.2; letter-spacing: -0.005em; margin: 0; }
#first-words p { font-size: 0.875rem; height: 2.4rem; }
#first-words h2 { font-size: 1.15rem; font-weight: 500; padding-bottom: 0.1rem; }
#first-words h3 { font-size: 1.45rem; font-weight: 600; }
@media (prefers-color-scheme: dark) { #first-words { background: #171614; color: #edebe8; } }
@media (max-width: 768px) { #first-words { inset: 3.75rem 0 0; padding: 0.75rem 1rem; }
  #first-words p { height: 6.05rem; } }
@keyframes leave { to { visibility: hidden; } }
body:has(.stAlert, [role=dialog], [role=progressbar]) #first-words { display: none; }
"""
"""The words of a page until its first chart; they leave where the page says something else."""

OLD_PATHS: Final = {page.old_path: path for path, page in PAGES.items() if page.old_path}
ALIKE: Final = 0.8  # share of letters in common from which a mistyped path means a page
FOR_EVER: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Encoding": "gzip",
}
"""For what is compressed, and named by its digest."""

_packed: cachetools.LRUCache[str, bytes] = cachetools.LRUCache(MOST_PACKED, getsizeof=len)
_lock = threading.Lock()
_is_prepared = threading.Event()


@functools.lru_cache(maxsize=16)  # every visit asks for that of the same few
def digest(text: str) -> str:
    """A name for what has this content."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cachetools.cached(_packed, key=digest, lock=_lock)
def compress(figure: str) -> bytes:
    """A figure, given as JSON, compressed once for all browsers."""
    return gzip.compress(figure.encode(), 5, mtime=0)


def pack(figure: str) -> str:
    """The address of a figure, given as JSON, relative to the page."""
    compress(figure)
    return f"./packed/{digest(figure)}"


@functools.cache
def script(name: str) -> tuple[str, bytes]:
    """The address of a script of `SCRIPTS`, which changes with it, and the script compressed."""
    text = files("clsviz").joinpath("ui", SCRIPTS[name]).read_text("utf-8")
    return f"./packed/{digest(text)}.js", gzip.compress(text.encode(), mtime=0)


@functools.cache
def shell() -> str:
    """Streamlit's page, which also loads our scripts at once.

    It says where the server is: from a page's own path Streamlit would look below that first.
    """
    page = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    ours = (
        '<script>window.__streamlit = { BACKEND_BASE_URL: new URL(".", location).href }</script>'
        f'<script async src="{script("plotly")[0]}"></script>'
        f'<script type="module" src="{script("chart")[0]}"></script>'
    )
    return page.replace("</title>", f"</title>{ours}", 1)


@functools.cache
def cards() -> dict[str, dict[str, str]]:
    """{question, verdict} of every page with the default settings, as shipped."""
    text = (PICTURES / "cards.json").read_text("utf-8")
    by_page: dict[str, dict[str, str]] = json.loads(text)
    return by_page


def page_of(path: str, root: str, is_default: bool) -> str:
    """The page at a path, with what links to it show.

    root: the server's address. is_default: its answer is the shipped one, which stands in the page
    as words until the first chart is drawn.
    """
    name = path or FIRST_PAGE
    title = html.escape(PAGES[name].title)
    question, verdict = (html.escape(cards()[name][key]) for key in ("question", "verdict"))
    properties = {
        "og:type": "website",
        "og:title": title,
        "og:description": f"{question} {verdict}" if is_default else "clsviz",
        "og:image": html.escape(f"{root}pictures/{name}.png"),
        "og:image:width": "1200",
        "og:image:height": "630",
    }
    tags = [f'<meta property="{key}" content="{text}">' for key, text in properties.items()]
    head = f"<title>{title} · clsviz</title>{''.join(tags)}"
    head += '<meta name="twitter:card" content="summary_large_image">'
    page = shell().replace("<title>Streamlit</title>", head, 1)
    words = f"<p>{PRODUCT}</p>" * (name == FIRST_PAGE)
    words += f"<h2>{question}</h2><h3>{verdict}</h3>"
    layer = f'<style>{FIRST_STYLE}</style><div id="first-words">{words}</div>'
    return page.replace("</body>", f"{layer * is_default}</body>", 1)


async def get_page(request: Request) -> Response:
    """Answer with the page that Streamlit fills."""
    if is_full():
        return Response(FULL, 503, {"Retry-After": "60"}, "text/plain")
    path, is_default = request.url.path.strip("/"), not request.url.query
    page = await run_in_threadpool(page_of, path, str(request.base_url), is_default)
    return HTMLResponse(page, headers={"Cache-Control": "no-cache"})


class UnknownPath(Convertor[str]):
    """Every path that Streamlit does not answer by itself: neither its own, nor that of a file."""

    regex = (
        r"(?!(media|component|static|app|auth|oauth2callback)(/|$))"
        r"(?!.*_stcore)(?!.*\.(?!html?$)\w+$)[^/].*"
    )

    def convert(self, value: str) -> str:
        """The path as it is."""
        return value

    def to_string(self, value: str) -> str:
        """The path as it is."""
        return value


register_url_convertor("unknown", UnknownPath())


async def get_unknown(request: Request) -> Response:
    """Lead to the page that a path means, or to the first one: Streamlit's own has no charts there.

    The address is relative: a proxy in front may stand at a path of its own.
    """
    path = request.path_params["path"]
    page = "../" * path.count("/") + page_meant_by(path) or "./"
    return RedirectResponse(f"{page}?{request.url.query}".removesuffix("?"))


def page_meant_by(path: str) -> str:
    """The path of the page that a mistyped or an old path means; "", the first one's, of others."""
    name = path.partition("/")[0].partition(".")[0].lower().replace("-", "_")
    [meant] = difflib.get_close_matches(name, [*PAGES, *OLD_PATHS], 1, ALIKE) or [FIRST_PAGE]
    page = OLD_PATHS.get(meant, meant)
    return page if page != FIRST_PAGE else ""


async def get_packed(request: Request) -> Response:
    """Answer with a script of `SCRIPTS`, or with a figure that was packed."""
    name = request.path_params["name"]
    scripts = dict(map(script, SCRIPTS))
    with _lock:
        content = scripts.get(f"./packed/{name}", _packed.get(name))
    if content is None:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    kind = "text/javascript" if name.endswith(".js") else "application/json"
    return Response(content, media_type=kind, headers=FOR_EVER)


async def get_ready(_: Request) -> Response:
    """Answer 200 once the modules of the first page are imported, 503 before, or when full."""
    is_ready = _is_prepared.is_set() and not is_full()
    return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)


def prepare() -> None:
    """Load what the first page takes."""
    shell()
    for name in IMPORTS:
        importlib.import_module(name)
    _is_prepared.set()


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Prepare in the background as the server starts; it ends after that: imports are not cut."""
    limits.check()
    preparation = threading.Thread(target=prepare)
    preparation.start()
    yield
    await run_in_threadpool(preparation.join)


ROUTES: Final = [
    Route("/packed/{name}", get_packed),
    Mount("/pictures", StaticFiles(directory=str(PICTURES))),
    Route("/ready", get_ready),
    *(Route(f"/{page}", get_page) for page in ("", *PAGES) if page != FIRST_PAGE),
    Route("/{path:unknown}", get_unknown),
]


def middleware() -> list[Middleware]:
    """The guard, in public mode."""
    return [Middleware(Guard, shell)] if limits.is_public() else []
