"""Routes next to Streamlit's own: the page, the script of charts, figures, readiness."""

import functools
import gzip
import hashlib
import importlib
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Final

import cachetools
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

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

PAGES: Final = ("", "norm_vs_length", "sentence", "model")
"""Paths of pages."""

FOR_EVER: Final = {"Cache-Control": "public, max-age=31536000, immutable"}
"""For what is named by its digest."""

_packed: cachetools.LRUCache[str, bytes] = cachetools.LRUCache(MOST_PACKED, getsizeof=len)
_lock = threading.Lock()
_prepared = threading.Event()


def pack(figure: str) -> str:
    """The address of a figure, given as JSON, relative to the page; compressed once for all."""
    name = digest(figure.encode())
    with _lock:
        is_known = _packed.get(name) is not None
    if not is_known:
        content = gzip.compress(figure.encode(), 5, mtime=0)
        with _lock:
            _packed[name] = content
    return f"./figures/{name}"


def digest(content: bytes) -> str:
    """A name for what has this content."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


@functools.cache
def plotly() -> tuple[str, bytes]:
    """The digest of Plotly's script, and the script compressed."""
    script = (files("clsviz") / "ui" / "plotly" / "plotly.min.js").read_bytes()
    return digest(script), gzip.compress(script, mtime=0)


def plotly_address() -> str:
    """The address of Plotly's script, relative to the page; it changes with the script."""
    return f"./plotly/{plotly()[0]}.js"


@functools.cache
def shell() -> str:
    """Streamlit's page, which also loads Plotly's script at once."""
    page = (files("streamlit") / "static" / "index.html").read_text("utf-8")
    preload = f'<link rel="preload" as="script" href="{plotly_address()}">'
    return page.replace("<title>Streamlit</title>", f"<title>clsviz</title>{preload}", 1)


async def get_page(_: Request) -> Response:
    """Answer with the page that Streamlit fills."""
    return HTMLResponse(await run_in_threadpool(shell), headers={"Cache-Control": "no-cache"})


async def get_plotly(request: Request) -> Response:
    """Answer with Plotly's script."""
    name, content = await run_in_threadpool(plotly)
    is_current = request.path_params["name"] == name
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
    """Answer 200 once the modules of the first page are imported, 503 before."""
    is_ready = _prepared.is_set()
    return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)


def prepare() -> None:
    """Load what the first page takes."""
    plotly()
    for name in FIRST_PAGE:
        importlib.import_module(name)
    _prepared.set()


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Prepare in the background as the server starts; it ends after that: imports are not cut."""
    preparation = threading.Thread(target=prepare)
    preparation.start()
    yield
    await run_in_threadpool(preparation.join)


ROUTES: Final = [
    Route("/plotly/{name}.js", get_plotly),
    Route("/figures/{name}", get_figure),
    Route("/ready", get_ready),
    *(Route(f"/{page}", get_page) for page in PAGES),
]
