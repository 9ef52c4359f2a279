"""Routes next to Streamlit's own, and what stands in front of all of them."""

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
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
)
from starlette.routing import Route

from clsviz import limits
from clsviz.guard import Guard, is_full

MOST_PACKED = 64 * 2**20
"""Bytes of compressed figures that are kept for browsers."""

FIRST_PAGE: Final = (
    "clsviz.results.norms",
    "clsviz.figures.scatter",
    "clsviz.jobs.measure",
    "pandas",
    "plotly.graph_objects",
    "pyarrow.parquet",
    "scipy.special",
)
"""Modules that the first page takes: the server imports them while the first browser starts."""

PAGES: Final = (
    "",
    "norm_vs_length",
    "where_length_lives",
    "search",
    "compare",
    "sentence",
    "model",
)
"""Paths of pages."""

SCRIPTS: Final = {"plotly": "plotly/plotly.min.js", "chart": "chart.js"}
"""Scripts of charts, by the name in their address: the files of `ui`."""

PICTURES: Final = files("clsviz") / "ui" / "pictures"
"""A picture of every page, and cards.json; `python -m benchmarks.cards` makes them."""

FIRST_STYLE: Final = """
#first-words { position: fixed; z-index: 999991; inset: 0 0 0 300px; padding: 0.75rem 5rem;
  font-family: "Source Sans", sans-serif; background: #fff; color: #31333f; pointer-events: none;
  animation: leave 0s 20s forwards; }
#first-words * { font-weight: 600; line-height: 1.2; margin: 0 0 4px; }
#first-words h2 { font-size: 1.45rem; }
#first-words h3 { font-size: 1.2rem; }
@media (prefers-color-scheme: dark) { #first-words { background: #0e1117; color: #fafafa; } }
@media (max-width: 768px) { #first-words { inset: 0; padding: 3.5rem 1rem; } }
@keyframes leave { to { visibility: hidden; } }
body:has(.stAlert, [role=dialog], [role=progressbar]) #first-words { display: none; }
"""
"""The words of a page until its first chart; they leave where the page says something else."""

FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
"""For what is named by its digest."""

_packed: cachetools.LRUCache[str, bytes] = cachetools.LRUCache(MOST_PACKED, getsizeof=len)
_lock = threading.Lock()
_prepared = threading.Event()


def pack(figure: str) -> str:
    """The address of a figure, given as JSON, relative to the page; compressed once for all."""
    name = _name(figure)
    with _lock:
        is_known = _packed.get(name) is not None
    if not is_known:
        content = gzip.compress(figure.encode(), 5, mtime=0)
        with _lock:
            _packed[name] = content
    return f"./figures/{name}"


@functools.lru_cache(maxsize=32)
def _name(figure: str) -> str:
    """The name of a figure; the cached ones are those that the page has at hand anyway."""
    return digest(figure.encode())


def digest(content: bytes) -> str:
    """A name for what has this content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@functools.cache
def script(name: str) -> tuple[str, bytes]:
    """The digest of a script of `SCRIPTS`, and the script compressed."""
    content = files("clsviz").joinpath("ui", SCRIPTS[name]).read_bytes()
    return digest(content), gzip.compress(content, mtime=0)


def script_address(name: str) -> str:
    """The address of a script, relative to the page; it changes with the script."""
    return f"./{name}/{script(name)[0]}.js"


@functools.cache
def shell() -> str:
    """Streamlit's page, which also loads our scripts at once."""
    page = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    ours = (
        f'<link rel="preload" as="script" href="{script_address("plotly")}">'
        f'<script type="module" src="{script_address("chart")}"></script>'
    )
    return page.replace("</title>", f"</title>{ours}", 1)


@functools.cache
def cards() -> dict[str, dict[str, str]]:
    """{title, question, verdict} of every page with the default settings, as shipped."""
    text = (PICTURES / "cards.json").read_text("utf-8")
    by_page: dict[str, dict[str, str]] = json.loads(text)
    return by_page


def page_of(path: str, root: str, is_default: bool) -> str:
    """The page at a path, with what links to it show.

    root: the server's address. is_default: its answer is the shipped one, which stands in the page
    as words until the first chart is drawn.
    """
    name = path or PAGES[1]
    card = {key: html.escape(text) for key, text in cards()[name].items()}
    picture = html.escape(f"{root}pictures/{name}.png")
    title = f"<title>{card['title']} · clsviz</title>"
    properties = {
        "og:type": "website",
        "og:title": card["title"],
        "og:description": f"{card['question']} {card['verdict']}" if is_default else "clsviz",
        "og:image": picture,
        "og:image:width": "1200",
        "og:image:height": "630",
    }
    tags = "".join(
        f'<meta property="{name}" content="{text}">' for name, text in properties.items()
    )
    tags += '<meta name="twitter:card" content="summary_large_image">'
    page = shell().replace("<title>Streamlit</title>", f"{title}{tags}", 1)
    if not is_default:
        return page
    words = f"<h2>{card['question']}</h2><h3>{card['verdict']}</h3>"
    layer = f'<style>{FIRST_STYLE}</style><div id="first-words">{words}</div>'
    return page.replace("</body>", f"{layer}</body>", 1)


async def get_page(request: Request) -> Response:
    """Answer with the page that Streamlit fills."""
    if is_full():
        text = "The server is full. Try again in some minutes."
        return PlainTextResponse(text, 503, headers={"Retry-After": "60"})
    path, is_default = request.url.path.strip("/"), not request.url.query
    page = await run_in_threadpool(page_of, path, str(request.base_url), is_default)
    return HTMLResponse(page, headers={"Cache-Control": "no-cache"})


async def get_picture(request: Request) -> Response:
    """Answer with the picture of a page, for links."""
    name = request.path_params["name"]
    if name not in cards():
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    path = str(PICTURES / f"{name}.png")
    return FileResponse(path, headers={"Cache-Control": "public, max-age=86400"})


async def get_script(name: str, request: Request) -> Response:
    """Answer with a script of `SCRIPTS`."""
    current, content = await run_in_threadpool(script, name)
    is_current = request.path_params["digest"] == current
    return _compressed(content if is_current else None, "text/javascript")


async def get_figure(request: Request) -> Response:
    """Answer with a figure that was packed."""
    with _lock:
        content = _packed.get(request.path_params["name"])
    return _compressed(content, "application/json")


def _compressed(content: bytes | None, media_type: str) -> Response:
    if content is None:
        return Response(status_code=404, headers={"Cache-Control": "no-store"})
    headers = {**FOR_EVER, "Content-Encoding": "gzip"}
    return Response(content, media_type=media_type, headers=headers)


async def get_ready(_: Request) -> Response:
    """Answer 200 once the modules of the first page are imported, 503 before, or when full."""
    is_ready = _prepared.is_set() and not is_full()
    return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)


def prepare() -> None:
    """Load what the first page takes."""
    for name in SCRIPTS:
        script(name)
    for name in FIRST_PAGE:
        importlib.import_module(name)
    _prepared.set()


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Prepare in the background as the server starts; it ends after that: imports are not cut."""
    limits.check()
    preparation = threading.Thread(target=prepare)
    preparation.start()
    yield
    await run_in_threadpool(preparation.join)


ROUTES: Final = [
    *(Route(f"/{name}/{{digest}}.js", functools.partial(get_script, name)) for name in SCRIPTS),
    Route("/figures/{name}", get_figure),
    Route("/pictures/{name}.png", get_picture),
    Route("/ready", get_ready),
    *(Route(f"/{page}", get_page) for page in PAGES),
]


def middleware() -> list[Middleware]:
    """The guard, in public mode."""
    return [Middleware(Guard, shell)] if limits.is_public() else []
