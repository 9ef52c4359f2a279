"""A small Hugging Face Hub on this machine, for the real clients, and ways in which it fails."""

import fnmatch
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

ROUTE = re.compile(
    r"/(api/)?(?:(models|datasets)/)?([^/]+(?:/[^/]+)?)"
    r"(?:/(revision|tree|resolve)/(refs/\w+/\w+|[^/]+)(?:/(.*))?)?"
)
"""Kind, name, action, revision and path in the path of a request."""

Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Repository:
    name: str
    is_gated: bool = False
    revisions: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)


@dataclass
class Request:
    path: str
    n_bytes: int = 0


class Standin:
    """Repositories, the log of requests, and the faults in force.

    A fault is a pattern of paths and a way to fail: “stall” (no answer), “stall midway” (half of
    the content), “cut” (half, then the connection ends), “endless” (one more page each time), or
    an HTTP status.
    """

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.new_names: dict[str, str] = {}
        self.requests: list[Request] = []
        self.faults: list[tuple[str, str]] = []
        self.is_closing = threading.Event()
        self.port = 0

    @property
    def environment(self) -> dict[str, str]:
        """Variables that point the clients of a process to it; set HF_HOME too."""
        return {
            "HF_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "HF_TOKEN": "hf_test",
            "HF_HUB_OFFLINE": "0",
            "HF_DATASETS_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def add(
        self,
        name: str,
        files: dict[str, bytes],
        kind: str = "dataset",
        revision: str = "main",
        is_gated: bool = False,
    ) -> str:
        """Serve files at a revision, and return their commit."""
        digests = sorted((path, digest(content)) for path, content in files.items())
        commit = hashlib.sha1(repr(digests).encode()).hexdigest()
        repository = self.repositories.setdefault((kind, name), Repository(name, is_gated))
        repository.commits[commit] = files
        repository.revisions[revision] = commit
        return commit

    def fault(self, pattern: str, how: str) -> None:
        self.faults.append((pattern, how))

    def mend(self) -> None:
        self.faults.clear()

    def bytes_of(self, pattern: str = "*") -> int:
        return sum(r.n_bytes for r in self.requests if fnmatch.fnmatchcase(r.path, pattern))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: Standin

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        request = Request(path)
        self.hub.requests.append(request)
        faults = [how for pattern, how in self.hub.faults if fnmatch.fnmatchcase(path, pattern)]
        how = faults[0] if faults else ""
        if how == "stall":
            self._wait()
        answer = (int(how), b"{}", {}) if how.isdigit() else self._answer(url.path, url.query)
        status, content, headers = answer
        is_broken = how in ("stall midway", "cut") and status < 300
        end = len(content) // 2 if is_broken else len(content)
        self.send_response(status)
        if how == "endless":
            headers["Link"] = f'<http://127.0.0.1:{self.hub.port}{self.path}>; rel="next"'
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            request.n_bytes = end
            self.wfile.write(content[:end])
            self.wfile.flush()
            if how == "stall midway":
                self._wait()
            self.close_connection |= is_broken

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass

    def _wait(self) -> None:
        """Until the fault is mended."""
        while self.hub.faults and not self.hub.is_closing.wait(0.02):
            pass
        self.close_connection = True

    def _answer(self, path: str, query: str) -> Answer:
        hub = self.hub
        match = ROUTE.fullmatch(path)
        if match is None:
            return 404, b"{}", {}
        api, kind, name, action, revision, path = (unquote(part or "") for part in match.groups())
        if name in hub.new_names:
            return 307, b"", {"Location": self.path.replace(name, hub.new_names[name], 1)}
        repository = hub.repositories.get(("dataset" if kind == "datasets" else "model", name))
        if repository is None:
            return 404, b"{}", {"X-Error-Code": "RepoNotFound"}
        commit = repository.revisions.get(revision or "main", revision)
        if commit not in repository.commits:
            return 404, b"{}", {"X-Error-Code": "RevisionNotFound"}
        files = repository.commits[commit]
        headers = {"X-Repo-Commit": commit}
        if action == "tree":
            entries = tree(files, path, is_recursive="recursive=true" in query.lower())
            if path and not entries:
                return 404, b"{}", headers | {"X-Error-Code": "EntryNotFound"}
            return 200, json.dumps(entries).encode(), {}
        if api:
            siblings = [{"rfilename": path, "size": len(files[path])} for path in files]
            about = {"id": repository.name, "sha": commit, "siblings": siblings}
            return 200, json.dumps(about).encode(), {}
        if repository.is_gated:
            return 403, b"{}", {"X-Error-Code": "GatedRepo"}
        if path not in files:
            return 404, b"{}", headers | {"X-Error-Code": "EntryNotFound"}
        content = files[path]
        headers |= {"ETag": f'"{digest(content)}"', "X-Linked-Size": str(len(content))}
        return self._content(content, headers)

    def _content(self, content: bytes, headers: dict[str, str]) -> Answer:
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if match is None:
            return 200, content, headers
        start, end = int(match[1]), min(len(content), int(match[2] or len(content)) + 1)
        span = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}
        return 206, content[start:end], headers | span


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tree(files: dict[str, bytes], below: str, *, is_recursive: bool) -> list[dict[str, Any]]:
    """Files and folders, as the Hub lists them."""
    entries: dict[str, dict[str, Any]] = {}
    for path, content in files.items():
        entry = {"path": path, "type": "file", "oid": digest(content)[:40], "size": len(content)}
        entries[path] = entry
        for parent in map(str, PurePosixPath(path).parents):
            entries[parent] = {"path": parent, "type": "directory", "oid": "0" * 40, "size": 0}
    prefix = f"{below}/" if below else ""
    return [
        entry
        for path, entry in sorted(entries.items())
        if path != "." and path.startswith(prefix)
        if is_recursive or "/" not in path.removeprefix(prefix)
    ]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Clients that leave are expected."""


@contextmanager
def serve() -> Iterator[Standin]:
    """An empty Hub on a free port, until the end of the block."""
    hub = Standin()
    server = Server(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"hub": hub}))
    hub.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.is_closing.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
