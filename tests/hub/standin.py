"""A small Hugging Face Hub on this machine, for the real clients, and ways in which it fails."""

import fnmatch
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

KINDS = {"models": "model", "datasets": "dataset"}


@dataclass(frozen=True)
class File:
    content: bytes = field(repr=False)
    is_large: bool

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def blob_id(self) -> str:
        content = self.sha256.encode() if self.is_large else self.content
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.is_large else self.blob_id

    @property
    def entry(self) -> dict[str, Any]:
        about: dict[str, Any] = {"size": len(self.content)}
        if self.is_large:
            about["lfs"] = {"size": len(self.content), "pointerSize": 134}
        return about


@dataclass
class Repository:
    name: str
    is_gated: bool = False
    revisions: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, File]] = field(default_factory=dict)


class RefusedError(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, code: str = "", commit: str = "", **headers: str) -> None:
        self.status = status
        self.headers = {key.replace("_", "-"): value for key, value in headers.items()}
        if code:
            self.headers["X-Error-Code"] = code
        if commit:
            self.headers["X-Repo-Commit"] = commit


@dataclass
class Request:
    method: str
    path: str
    host: str
    has_token: bool
    n_bytes: int = 0


class Standin:
    """Repositories, the log of requests, and the faults in force.

    A fault is a pattern of paths and a way to fail: “stall” (no answer), “stall midway” (half of
    the content), “cut” (half, then the connection ends), or an HTTP status.
    """

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.new_names: dict[str, str] = {}
        self.requests: list[Request] = []
        self.faults: list[tuple[str, str]] = []
        self.has_cdn = False
        self.is_closing = threading.Event()
        self.port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables that point the clients of a process to it; set HF_HOME too."""
        return {
            "HF_ENDPOINT": self.address,
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
        held = {
            path: File(content, path.endswith((".parquet", ".safetensors", ".bin")))
            for path, content in sorted(files.items())
        }
        digest = "".join(f"{path}\0{file.etag}\n" for path, file in held.items())
        commit = hashlib.sha1(digest.encode()).hexdigest()
        repository = self.repositories.setdefault((kind, name), Repository(name, is_gated))
        repository.commits[commit] = held
        repository.revisions[revision] = commit
        return commit

    def fault(self, pattern: str, how: str) -> None:
        self.faults.append((pattern, how))

    def mend(self) -> None:
        self.faults.clear()
        self.has_cdn = False

    def bytes_of(self, pattern: str = "*") -> int:
        return sum(r.n_bytes for r in self.requests if fnmatch.fnmatchcase(r.path, pattern))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    hub: Standin

    def do_GET(self) -> None:
        self._respond()

    def do_HEAD(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def log_message(self, *_: object) -> None:
        pass

    def _respond(self, body: bytes = b"") -> None:
        url = urlsplit(self.path)
        host = self.headers.get("Host", "").partition(":")[0]
        path = unquote(url.path)
        request = Request(self.command, path, host, "Authorization" in self.headers)
        self.hub.requests.append(request)
        patterns = [how for pattern, how in self.hub.faults if fnmatch.fnmatchcase(path, pattern)]
        how = patterns[0] if patterns else ""
        headers: dict[str, str] = {}
        try:
            if how == "stall":
                self._wait()
            if how.isdigit():
                raise RefusedError(int(how))
            # A revision with a slash is one part of the raw path.
            parts = [unquote(part) for part in url.path.strip("/").split("/")]
            status, content, headers = self._answer(parts, parse_qs(url.query), body)
        except RefusedError as refused:
            status, content, headers = refused.status, b'{"error": "refused"}', refused.headers
        end = len(content) // 2 if how in ("stall midway", "cut") and status < 300 else len(content)
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            request.n_bytes = end
            self.wfile.write(content[:end])
            self.wfile.flush()
            if end < len(content):
                if how == "stall midway":
                    self._wait()
                self.close_connection = True

    def _wait(self) -> None:
        """Until the fault is mended."""
        while self.hub.faults and not self.hub.is_closing.wait(0.02):
            pass
        self.close_connection = True

    def _answer(
        self, parts: list[str], query: dict[str, list[str]], body: bytes
    ) -> tuple[int, bytes, dict[str, str]]:
        if parts[0] == "cdn":
            commits = [c for r in self.hub.repositories.values() for c in r.commits.values()]
            held = [file for commit in commits for file in commit.values()]
            return self._content(next(file for file in held if file.sha256 == parts[1]), {})
        if parts == ["api", "agent-harnesses"]:
            return as_json({"standardEnvVars": [], "harnesses": {}})
        is_api = parts[0] == "api"
        parts = parts[is_api:]
        kind = KINDS.get(parts[0], "model")
        parts = parts[parts[0] in KINDS :]
        actions = ("revision", "tree", "paths-info") if is_api else ("resolve",)
        at = next((n for n in (1, 2) if len(parts) > n and parts[n] in actions), len(parts))
        name, action, rest = "/".join(parts[:at]), "".join(parts[at : at + 1]), parts[at + 1 :]
        if name in self.hub.new_names:
            new = self.path.replace(name, self.hub.new_names[name], 1)
            raise RefusedError(307, Location=new)
        repository = self.hub.repositories.get((kind, name))
        if repository is None:
            raise RefusedError(404, "RepoNotFound")
        n = 3 if rest[:1] == ["refs"] else 1
        revision, path = "/".join(rest[:n]) or "main", "/".join(rest[n:])
        commit = repository.revisions.get(revision, revision)
        if commit not in repository.commits:
            raise RefusedError(404, "RevisionNotFound")
        files = repository.commits[commit]
        if action == "tree":
            return as_json(
                tree(files, path, commit, is_recursive=query.get("recursive") == ["true"])
            )
        if action == "paths-info":
            entries = {entry["path"]: entry for entry in tree(files, "", commit, is_recursive=True)}
            wanted = parse_qs(body.decode()).get("paths", [])
            return as_json([entries[path] for path in wanted if path in entries])
        if action != "resolve":
            return as_json(info_of(repository, commit))
        if repository.is_gated:
            raise RefusedError(403, "GatedRepo")
        if path not in files:
            raise RefusedError(404, "EntryNotFound", commit)
        return self._file(files[path], commit)

    def _file(self, file: File, commit: str) -> tuple[int, bytes, dict[str, str]]:
        headers = {"X-Repo-Commit": commit, "ETag": f'"{file.etag}"'}
        if file.is_large:
            headers["X-Linked-Etag"] = headers["ETag"]
            headers["X-Linked-Size"] = str(len(file.content))
            if self.hub.has_cdn:  # another host, to which no token may go
                address = f"http://localhost:{self.hub.port}/cdn/{file.sha256}"
                return 302, b"", headers | {"Location": address}
        return self._content(file, headers)

    def _content(self, file: File, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
        size = len(file.content)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if match is None:
            return 200, file.content, headers
        first, last = match.groups()
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if start >= end:
            raise RefusedError(416)
        part = {"Content-Range": f"bytes {start}-{end - 1}/{size}"}
        return 206, file.content[start:end], headers | part


def as_json(value: object) -> tuple[int, bytes, dict[str, str]]:
    return 200, json.dumps(value).encode(), {"Content-Type": "application/json"}


def tree(
    files: dict[str, File], below: str, commit: str, *, is_recursive: bool
) -> list[dict[str, Any]]:
    """Files and folders, as the Hub lists them."""
    entries: dict[str, dict[str, Any]] = {}
    for path, file in files.items():
        for parent in list(map(str, PurePosixPath(path).parents))[:-1]:
            entries[parent] = {"type": "directory", "oid": commit, "size": 0, "path": parent}
        entry = {"type": "file", "oid": file.blob_id, "path": path} | file.entry
        if file.is_large:
            entry["lfs"] = entry["lfs"] | {"oid": file.sha256}
        entries[path] = entry
    if below and below not in entries:
        raise RefusedError(404, "EntryNotFound", commit)
    prefix = f"{below}/" if below else ""
    return [
        entry
        for path, entry in sorted(entries.items())
        if path.startswith(prefix) and (is_recursive or "/" not in path[len(prefix) :])
    ]


def info_of(repository: Repository, commit: str) -> dict[str, Any]:
    siblings = []
    for path, file in repository.commits[commit].items():
        sibling = {"rfilename": path, "blobId": file.blob_id} | file.entry
        if file.is_large:
            sibling["lfs"] = sibling["lfs"] | {"sha256": file.sha256}
        siblings.append(sibling)
    return {
        "_id": commit[:24],
        "id": repository.name,
        "sha": commit,
        "private": False,
        "gated": "manual" if repository.is_gated else False,
        "disabled": False,
        "lastModified": "2024-01-01T00:00:00.000Z",
        "createdAt": "2024-01-01T00:00:00.000Z",
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": siblings,
    }


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
