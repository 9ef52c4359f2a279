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
    return page.replace("<title>Streamlit</title>", f"<title>clsviz</title>{ours}", 1)


async def get_page(_: Request) -> Response:
    """Answer with the page that Streamlit fills."""
    return HTMLResponse(await run_in_threadpool(shell), headers={"Cache-Control": "no-cache"})


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
    """Answer 200 once the modules of the first page are imported, 503 before."""
    is_ready = _prepared.is_set()
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
    preparation = threading.Thread(target=prepare)
    preparation.start()
    yield
    await run_in_threadpool(preparation.join)


ROUTES: Final = [
    *(Route(f"/{name}/{{digest}}.js", functools.partial(get_script, name)) for name in SCRIPTS),
    Route("/figures/{name}", get_figure),
    Route("/ready", get_ready),
    *(Route(f"/{page}", get_page) for page in PAGES),
]
