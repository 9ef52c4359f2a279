"""A small Hugging Face Hub on this machine, for the real clients: what it holds, and how it fails them.

huggingface_hub, transformers and datasets run as they are installed; only the address they ask is another one. What
they are sent follows the protocol they read: the headers of a file, the listing of a tree, the codes of the errors.
"""

import asyncio
import contextlib
import fnmatch
import functools
import hashlib
import importlib.util
import json
import math
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
import uvicorn
import yaml
from starlette import requests
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

TOKEN = "hf_test"
"""Of an account that may read everything."""
STRANGER = "hf_stranger"
"""Of an account without access to what is private or gated."""

_KINDS = {"models": "model", "datasets": "dataset", "spaces": "space"}
_LFS = (".safetensors", ".bin", ".parquet")
_PIECE = 64 * 1024

REFUSALS = ("401", "403", "gated", "404", "429", "500")
"""Misbehaviours in the place of the answer, for HEAD as for GET."""
BODIES = ("slow", "stall", "cut", "wrong-length", "damaged")
"""Misbehaviours of the body: HEAD is answered truly, and is not counted."""


@dataclass
class Request:
    """What a client asked for, and how much it was sent."""

    method: str
    path: str
    range: str
    status: int = 0
    n_bytes: int = 0


@dataclass(frozen=True)
class _File:
    path: str
    content: bytes = field(repr=False)

    @property
    def is_lfs(self) -> bool:
        return self.path.endswith(_LFS)

    @functools.cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def pointer(self) -> bytes:
        """What git holds of a large file."""
        version = "version https://git-lfs.github.com/spec/v1"
        return f"{version}\noid sha256:{self.sha256}\nsize {len(self.content)}\n".encode()

    @functools.cached_property
    def blob_id(self) -> str:
        stored = self.pointer if self.is_lfs else self.content
        return hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.is_lfs else self.blob_id


@dataclass
class _Repo:
    name: str
    private: bool
    gated: bool
    refs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, _File]] = field(default_factory=dict)

    def resolve(self, revision: str) -> str | None:
        for ref in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            if ref in self.refs:
                return self.refs[ref]
        return next((commit for commit in self.commits if len(revision) > 6 and commit.startswith(revision)), None)


@dataclass
class _Fault:
    what: str
    how: str
    times: float
    seconds: float


@dataclass
class _Answer:
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


class Hub:
    """Repositories, the log of what was asked for, and the misbehaviours in force."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[Request] = []
        self.page_size = 1000
        self.closing = False
        self._repos: dict[tuple[str, str], _Repo] = {}
        self._faults: list[_Fault] = []

    def add(
        self,
        repo: str,
        folder: Path,
        *,
        kind: str = "model",
        revision: str = "main",
        private: bool = False,
        gated: bool = False,
    ) -> str:
        """Serve the files below `folder` as they are now, and say the commit, which is a digest of them.

        `revision` is a branch, or a full name such as "refs/tags/v1", "refs/convert/parquet" or "refs/pr/1". It moves
        to the new commit; the old one remains under its hash.
        """
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        files = [_File(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]
        commit = hashlib.sha1("".join(f"{file.path}\0{file.blob_id}\n" for file in files).encode()).hexdigest()
        held = self._repos.setdefault((kind, repo), _Repo(repo, private, gated))
        held.private, held.gated = private, gated
        held.commits[commit] = {file.path: file for file in files}
        held.refs[revision if revision.startswith("refs/") else f"refs/heads/{revision}"] = commit
        return commit

    def misbehave(self, what: str, how: str, times: int | None = None, *, seconds: float | None = None) -> None:
        """Fail the requests whose path matches `what`, all or the first so many, in one of these ways.

        "401" (a token that is not valid), "403", "gated" (401 to the anonymous, else 403), "404" (no such repository),
        "429" (`seconds` is how long the client is told to wait, 0 if not given), "500"; "slow" (in pieces, `seconds`
        apart), "stall" (half of the body, then nothing until the client leaves), "cut" (half of the body, then the
        connection ends), "wrong-length" (a body one byte shorter than what HEAD and the listings say), "damaged" (one
        byte in the middle is another).
        """
        assert how in REFUSALS + BODIES, how
        default = 0.05 if how == "slow" else 0
        self._faults.append(
            _Fault(what, how, math.inf if times is None else times, default if seconds is None else seconds)
        )

    def behave(self) -> None:
        self._faults.clear()

    def bytes_sent(self, pattern: str = "*") -> int:
        """The bytes of the bodies sent for the paths that match."""
        return sum(request.n_bytes for request in self.requests if fnmatch.fnmatchcase(request.path, pattern))

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI app."""
        request = requests.Request(scope, receive)
        logged = Request(request.method, scope["path"], request.headers.get("range", ""))
        self.requests.append(logged)
        fault = self._fault(logged)
        try:
            if fault and fault.how in REFUSALS:
                raise _refusal(fault, bool(_token(request)))
            answer = self._answer(request, await request.body())
        except HTTPException as refused:
            answer = _Answer(
                json.dumps({"error": refused.detail}).encode(), dict(refused.headers or {}), refused.status_code
            )
        logged.status = answer.status
        await self._send(answer, logged, fault, receive, send)

    def _fault(self, request: Request) -> _Fault | None:
        for fault in self._faults:
            reached = request.method != "HEAD" or fault.how in REFUSALS
            if reached and fault.times > 0 and fnmatch.fnmatchcase(request.path, fault.what):
                fault.times -= 1
                return fault
        return None

    async def _send(self, answer: _Answer, logged: Request, fault: _Fault | None, receive: Receive, send: Send) -> None:
        body = answer.body
        how = fault.how if fault else ""
        if how == "damaged" and body:
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 255]) + body[middle + 1 :]
        if how == "wrong-length":
            body = body[:-1]
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} | answer.headers
        start = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": start})
        if logged.method == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        leaving = asyncio.ensure_future(_leaving(receive))
        try:
            piece = max(1, min(_PIECE, len(body) // 10)) if how == "slow" else _PIECE
            end = len(body) // 2 if how in ("stall", "cut") else len(body)
            for at in range(0, end, piece):
                if leaving.done() or self.closing:
                    return
                part = body[at : min(at + piece, end)]
                logged.n_bytes += len(part)  # before it is sent: whoever has read it finds it counted
                await send({"type": "http.response.body", "body": part, "more_body": True})
                if fault and how == "slow":
                    await asyncio.sleep(fault.seconds)
            while how == "stall" and not leaving.done() and not self.closing:
                await asyncio.sleep(0.02)
            if how not in ("stall", "cut"):  # else the server ends the connection, as the response is not complete
                await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()

    def _answer(self, request: requests.Request, body: bytes) -> _Answer:
        # From the raw path: a revision with a slash is one part of it there.
        parts = [unquote(part) for part in request.scope["raw_path"].decode().strip("/").split("/")]
        if parts == ["api", "agent-harnesses"]:
            return _json({"standardEnvVars": [], "harnesses": {}})
        if parts[0] == "api" and len(parts) > 2 and parts[1] in _KINDS:
            kind = _KINDS[parts[1]]
            name, action, rest = _split(parts[2:], ("revision", "tree", "paths-info", "refs"))
            repo = self._repo(request, kind, name)
            if action == "refs":
                return _json(_refs(repo))
            commit, path = _commit(repo, rest or ["main"])
            files = repo.commits[commit]
            if action == "tree":
                return self._tree(request, files, path, commit)
            if action == "paths-info":
                wanted = parse_qs(body.decode())
                expand = wanted.get("expand", ["false"])[0].lower() == "true"
                entries = {entry["path"]: entry for entry in _entries(files, commit, expand)}
                return _json([entries[path] for path in wanted.get("paths", []) if path in entries])
            return _json(_info(repo, kind, commit, blobs=request.query_params.get("blobs", "").lower() == "true"))
        kind = _KINDS.get(parts[0], "model")
        name, action, rest = _split(parts[parts[0] in _KINDS :], ("resolve",))
        if action != "resolve" or not rest:
            raise HTTPException(404, "Not found")
        repo = self._repo(request, kind, name, content=True)
        commit, path = _commit(repo, rest)
        if path not in repo.commits[commit]:
            raise HTTPException(404, "Entry not found", _code("EntryNotFound", commit))
        return _content(repo.commits[commit][path], commit, request.headers.get("range", ""))

    def _repo(self, request: requests.Request, kind: str, name: str, *, content: bool = False) -> _Repo:
        """The repository, if it is there for this visitor; of a gated one only the `content` is kept back."""
        token = _token(request)
        if token and token not in (TOKEN, STRANGER):
            raise _INVALID
        repo = self._repos.get((kind, name))
        if repo is None or (repo.private and token != TOKEN):
            raise _no_repo(anonymous=not token)
        if content and repo.gated and token != TOKEN:
            raise _gated(anonymous=not token)
        return repo

    def _tree(self, request: requests.Request, files: dict[str, _File], path: str, commit: str) -> _Answer:
        asked = request.query_params
        recursive = asked.get("recursive", "").lower() == "true"
        entries = _entries(files, commit, asked.get("expand", "").lower() == "true")
        if path and path not in {entry["path"] for entry in entries}:
            raise HTTPException(404, "Entry not found", _code("EntryNotFound", commit))
        if path not in files:
            below = f"{path}/" if path else ""
            entries = [entry for entry in entries if entry["path"].startswith(below)]
            if not recursive:
                entries = [entry for entry in entries if "/" not in entry["path"][len(below) :]]
        else:
            entries = [entry for entry in entries if entry["path"] == path]
        first = int(asked.get("cursor", "0"))
        last = first + self.page_size
        answer = _json(entries[first:last])
        if last < len(entries):
            url = request.url.include_query_params(cursor=last)
            answer.headers["Link"] = f'<{url}>; rel="next"'
        return answer


async def _leaving(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _token(request: requests.Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _json(value: object) -> _Answer:
    return _Answer(json.dumps(value).encode())


def _code(code: str, commit: str = "") -> dict[str, str]:
    return {"X-Error-Code": code} | ({"X-Repo-Commit": commit} if commit else {})


_INVALID = HTTPException(
    401,
    "Invalid credentials in Authorization header",
    {"X-Error-Message": "Invalid credentials in Authorization header"},
)


def _no_repo(*, anonymous: bool) -> HTTPException:
    """The anonymous are not told whether there is such a repository."""
    if anonymous:
        return HTTPException(401, "Invalid username or password.", _code("RepoNotFound"))
    return HTTPException(404, "Repository not found", _code("RepoNotFound"))


def _gated(*, anonymous: bool) -> HTTPException:
    if anonymous:
        return HTTPException(401, "Access to this repository is restricted. Please log in.", _code("GatedRepo"))
    return HTTPException(403, "You are not in the authorized list. Ask for access.", _code("GatedRepo"))


def _refusal(fault: _Fault, has_token: bool) -> HTTPException:
    match fault.how:
        case "401":
            return _INVALID
        case "403":
            return HTTPException(403, "Forbidden", {"X-Error-Message": "You have no access to this resource"})
        case "gated":
            return _gated(anonymous=not has_token)
        case "404":
            return _no_repo(anonymous=False)
        case "429":
            return HTTPException(429, "Too many requests", {"Retry-After": f"{fault.seconds:.0f}"})
    return HTTPException(500, "Internal error")


def _split(parts: list[str], actions: tuple[str, ...]) -> tuple[str, str, list[str]]:
    """The name of the repository, with or without an owner, what is asked of it, and the rest of the path."""
    for n in (1, 2):
        if len(parts) > n and parts[n] in actions:
            return "/".join(parts[:n]), parts[n], parts[n + 1 :]
    return "/".join(parts), "", []


def _commit(repo: _Repo, rest: list[str]) -> tuple[str, str]:
    """The commit, and the path in it."""
    n = 3 if rest[0] == "refs" else 1
    revision = "/".join(rest[:n])
    commit = repo.resolve(revision)
    if commit is None:
        raise HTTPException(404, f"Invalid rev id: {revision}", _code("RevisionNotFound"))
    return commit, "/".join(rest[n:])


def _content(file: _File, commit: str, wanted: str) -> _Answer:
    size = len(file.content)
    headers = {
        "Content-Type": "application/octet-stream",
        "ETag": f'"{file.etag}"',
        "X-Repo-Commit": commit,
        "Accept-Ranges": "bytes",
    }
    if file.is_lfs:
        headers |= {"X-Linked-Etag": f'"{file.etag}"', "X-Linked-Size": str(size)}
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted.replace(" ", ""))
    if found is None or found.groups() == ("", ""):
        return _Answer(file.content, headers)
    first, last = found.groups()
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= end:
        raise HTTPException(416, "Range not satisfiable", {"Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return _Answer(file.content[start:end], headers, 206)


def _entries(files: dict[str, _File], commit: str, expand: bool) -> list[dict[str, Any]]:
    """All files and folders, as a tree lists them."""
    more: dict[str, Any] = {}
    if expand:
        more["lastCommit"] = {"id": commit, "title": "A commit", "date": "2024-01-01T00:00:00.000Z"}
    entries: dict[str, dict[str, Any]] = {}
    for path, file in files.items():
        for parent in list(Path(path).parents)[:-1]:
            oid = hashlib.sha1(parent.as_posix().encode()).hexdigest()
            entries[parent.as_posix()] = {"type": "directory", "oid": oid, "size": 0, "path": parent.as_posix()} | more
        entry = {"type": "file", "oid": file.blob_id, "size": len(file.content), "path": path} | more
        if file.is_lfs:
            entry["lfs"] = {"oid": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
        entries[path] = entry
    return [entries[path] for path in sorted(entries)]


def _info(repo: _Repo, kind: str, commit: str, *, blobs: bool) -> dict[str, Any]:
    files = repo.commits[commit]
    siblings: list[dict[str, Any]] = []
    for path, file in files.items():
        sibling: dict[str, Any] = {"rfilename": path}
        if blobs:
            sibling |= {"size": len(file.content), "blobId": file.blob_id}
            if file.is_lfs:
                sibling["lfs"] = {"sha256": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
        siblings.append(sibling)
    return {
        "_id": hashlib.sha1(repo.name.encode()).hexdigest()[:24],
        "id": repo.name,
        "sha": commit,
        "private": repo.private,
        "gated": "manual" if repo.gated else False,
        "disabled": False,
        "lastModified": "2024-01-01T00:00:00.000Z",
        "createdAt": "2024-01-01T00:00:00.000Z",
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": siblings,
    } | _described(files, kind)


def _described(files: dict[str, _File], kind: str) -> dict[str, Any]:
    """What the Hub reads in the files: the head of the README, and a model's configuration and parameters."""
    found: dict[str, Any] = {}
    # Files spoilt on purpose are served all the same, and not described.
    with contextlib.suppress(KeyError, TypeError, yaml.YAMLError):
        card = re.match(rb"---\n(.*?)\n---", files["README.md"].content, re.DOTALL)
        found["cardData"] = yaml.safe_load(card[1])  # type: ignore[index]
    if kind == "model":
        with contextlib.suppress(KeyError, TypeError, ValueError):
            config = json.loads(files["config.json"].content)
            found["config"] = {key: config[key] for key in ("architectures", "model_type") if key in config}
            found["library_name"] = "transformers"
        with contextlib.suppress(KeyError, AttributeError, ValueError, struct.error):
            content = files["model.safetensors"].content
            header = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
            parameters: dict[str, int] = {}
            for name, tensor in header.items():
                if name != "__metadata__":
                    parameters[tensor["dtype"]] = parameters.get(tensor["dtype"], 0) + math.prod(tensor["shape"])
            found["safetensors"] = {"parameters": parameters, "total": sum(parameters.values())}
    return found


def _refs(repo: _Repo) -> dict[str, list[dict[str, str]]]:
    groups = {"branches": "refs/heads/", "tags": "refs/tags/", "converts": "refs/convert/", "pullRequests": "refs/pr/"}
    return {
        group: [
            {"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": commit}
            for ref, commit in repo.refs.items()
            if ref.startswith(prefix)
        ]
        for group, prefix in groups.items()
    }


@contextmanager
def serve_hub() -> Iterator[Hub]:
    """An empty Hub on a free port, until the end of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or every answer waits for an acknowledgement
    hub = Hub(f"http://127.0.0.1:{listening.getsockname()[1]}")
    server = uvicorn.Server(
        uvicorn.Config(
            hub.respond,
            interface="asgi3",
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=2,
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while not server.started:
            assert thread.is_alive(), "the server ended"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)
        yield hub
    finally:
        hub.closing = True
        server.should_exit = True
        thread.join(10)
        listening.close()


def environment(hub: Hub, cache: Path) -> dict[str, str]:
    """For another process: the variables that point its clients at the hub, with all they keep below `cache`."""
    return {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(cache),
        "HF_HUB_CACHE": str(cache / "hub"),
        "HF_ASSETS_CACHE": str(cache / "assets"),
        "HF_DATASETS_CACHE": str(cache / "datasets"),
        "HF_MODULES_CACHE": str(cache / "modules"),
        "HF_TOKEN_PATH": str(cache / "token"),
        "HF_TOKEN": "",
        "HF_HUB_OFFLINE": "0",
        "HF_DATASETS_OFFLINE": "0",
        "TRANSFORMERS_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_UPDATE_DOWNLOAD_COUNTS": "0",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def point_at(hub: Hub, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point the clients of this process at the hub, with all they keep below `cache`, until the test ends.

    They read the environment once, when they are imported: what they hold of it is replaced wherever it was copied.
    """
    import huggingface_hub
    from huggingface_hub import HfFileSystem, constants, hf_api, hf_file_system
    from huggingface_hub.utils import _cache_manager, _detect_agent, _http

    for name, value in environment(hub, cache).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(constants, "ENDPOINT", hub.address)
    template = hub.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    for name, path in {
        "HF_HOME": cache,
        "HF_HUB_CACHE": cache / "hub",
        "HUGGINGFACE_HUB_CACHE": cache / "hub",
        "HF_ASSETS_CACHE": cache / "assets",
        "HF_XET_CACHE": cache / "xet",
        "HF_TOKEN_PATH": cache / "token",
        "HF_STORED_TOKENS_PATH": cache / "stored_tokens",
        "AGENT_HARNESSES_PATH": cache / ".agent_harnesses.json",
    }.items():
        monkeypatch.setattr(constants, name, str(path))
    for name, value in {"OFFLINE": False, "DISABLE_XET": True, "DISABLE_TELEMETRY": True}.items():
        monkeypatch.setattr(constants, f"HF_HUB_{name}", value)
    monkeypatch.setattr(_cache_manager, "HF_HUB_CACHE", str(cache / "hub"))
    monkeypatch.setattr(_detect_agent, "_registry", {"standardEnvVars": [], "harnesses": {}})
    monkeypatch.setattr(_http, "_HUB_ORIGINS", {*_http._HUB_ORIGINS, _http._url_origin(hub.address)})
    monkeypatch.setattr(hf_api.api, "endpoint", hub.address)
    _http.close_session()
    HfFileSystem.clear_instance_cache()
    for module in (hf_file_system, huggingface_hub):
        monkeypatch.setattr(module, "hffs", HfFileSystem(skip_instance_cache=True))

    from transformers.utils import hub as transformers_hub

    monkeypatch.setattr(transformers_hub, "_hf_api", None)
    if importlib.util.find_spec("datasets"):
        from datasets import config

        monkeypatch.setattr(config, "HF_ENDPOINT", hub.address)
        monkeypatch.setattr(config, "HUB_DATASETS_URL", hub.address + "/datasets/{repo_id}/resolve/{revision}/{path}")
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_UPDATE_DOWNLOAD_COUNTS"):
            monkeypatch.setattr(config, name, False)
        # The dataset viewer is asked at another host, whose name is made of the address: there is none.
        monkeypatch.setattr(config, "USE_PARQUET_EXPORT", False)
        monkeypatch.setattr(config, "HF_CACHE_HOME", str(cache))
        monkeypatch.setattr(config, "HF_DATASETS_CACHE", cache / "datasets")
        monkeypatch.setattr(config, "HF_MODULES_CACHE", cache / "modules")
        monkeypatch.setattr(config, "DOWNLOADED_DATASETS_PATH", cache / "datasets" / "downloads")
        monkeypatch.setattr(config, "EXTRACTED_DATASETS_PATH", cache / "datasets" / "downloads" / "extracted")
