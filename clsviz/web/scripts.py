"""Streamlit's scripts and styles, compressed for browsers that are elsewhere: Streamlit sends its 7 MB as they are."""

import gzip
import threading
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from clsviz.hosting import is_this_machine
from clsviz.ui.state import serving
from clsviz.web.headers import who_asks

_TYPES = {".js": "text/javascript", ".css": "text/css"}

_LEAST_BYTES = 1_000
"""What is smaller fits into one packet anyway."""

_LEVEL = 6


class CompressedScripts:
    """Answers browsers on other machines; each file is compressed when it is first asked for, and then kept."""

    def __init__(self, app: ASGIApp, folder: Path, base: str) -> None:
        """folder: what Streamlit takes the files from. base: what stands before all paths."""
        self._app = app
        self._files = {
            f"{base}/{path.relative_to(folder).as_posix()}": path
            for path in folder.glob("static/*/*")
            if path.suffix in _TYPES and path.stat().st_size >= _LEAST_BYTES
        }
        self._kept: dict[str, bytes] = {}
        self._lock = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the file, or pass on what is no such request."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] in self._files and _wants(scope):
            content = await run_in_threadpool(self._compressed, scope["path"])
            headers = {
                "Cache-Control": f"public, immutable, max-age={serving.SCRIPTS_STAY_SECONDS}",
                "Content-Encoding": "gzip",
                "Vary": "Accept-Encoding",
            }
            kind = _TYPES[self._files[scope["path"]].suffix]
            await Response(content, headers=headers, media_type=kind)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _compressed(self, name: str) -> bytes:
        with self._lock:  # a crowd that comes at once has it compressed once
            if name not in self._kept:
                self._kept[name] = gzip.compress(self._files[name].read_bytes(), _LEVEL, mtime=0)
            return self._kept[name]


def _wants(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    accepted = {coding.partition(";")[0].strip().lower() for coding in headers.get("accept-encoding", "").split(",")}
    address, is_forwarded = who_asks(scope)
    is_near = is_this_machine(address) and not is_forwarded
    return "gzip" in accepted and "range" not in headers and not is_near
