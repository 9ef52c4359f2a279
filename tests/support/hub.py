"""A small Hugging Face Hub on this machine, for the real clients: what it holds, and how it fails them.

huggingface_hub, transformers and datasets run as they are installed; only the address they ask is another one. What
they are sent follows the protocol they read: the headers of a file, the listing of a tree, the codes of the errors."""

import asyncio
import fnmatch
import hashlib
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote

import uvicorn
from starlette import requests
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from support.hub_contents import (
    BODIES,
    INVALID,
    REFUSALS,
    Answer,
    Fault,
    File,
    Repository,
    as_json,
    code_of,
    commit_in,
    content_of,
    entries_of,
    gated,
    info_of,
    no_repository,
    refusal,
    split_path,
)

TOKEN = "hf_test"
"""Of an account that may read everything."""
STRANGER = "hf_stranger"
"""Of an account without access to what is private or gated."""

_KINDS = {"models": "model", "datasets": "dataset"}
_PIECE = 64 * 1024


@dataclass
class Request:
    """What a client asked for, and how much it was sent."""

    method: str
    path: str
    range: str
    status: int = 0
    n_bytes: int = 0


class Hub:
    """Repositories, the log of what was asked for, and the misbehaviours in force."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[Request] = []
        self.closing = False
        self._repos: dict[tuple[str, str], Repository] = {}
        self._faults: list[Fault] = []

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
        files = [File(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]
        commit = hashlib.sha1("".join(f"{file.path}\0{file.blob_id}\n" for file in files).encode()).hexdigest()
        held = self._repos.setdefault((kind, repo), Repository(repo, private, gated))
        held.private, held.gated = private, gated
        held.commits[commit] = {file.path: file for file in files}
        held.refs[revision if revision.startswith("refs/") else f"refs/heads/{revision}"] = commit
        return commit

    def forget(self, repo: str, commit: str, *, kind: str = "model") -> None:
        """Have no such commit any more, as where what led to it was rewritten."""
        del self._repos[kind, repo].commits[commit]

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
            Fault(what, how, math.inf if times is None else times, default if seconds is None else seconds)
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
                raise refusal(fault, bool(_token(request)))
            answer = self._answer(request, await request.body())
        except HTTPException as refused:
            answer = Answer(
                json.dumps({"error": refused.detail}).encode(), dict(refused.headers or {}), refused.status_code
            )
        logged.status = answer.status
        await self._send(answer, logged, fault, receive, send)

    def _fault(self, request: Request) -> Fault | None:
        for fault in self._faults:
            reached = request.method != "HEAD" or fault.how in REFUSALS
            if reached and fault.times > 0 and fnmatch.fnmatchcase(request.path, fault.what):
                fault.times -= 1
                return fault
        return None

    async def _send(self, answer: Answer, logged: Request, fault: Fault | None, receive: Receive, send: Send) -> None:
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

    def _answer(self, request: requests.Request, body: bytes) -> Answer:
        # From the raw path: a revision with a slash is one part of it there.
        parts = [unquote(part) for part in request.scope["raw_path"].decode().strip("/").split("/")]
        if parts == ["api", "agent-harnesses"]:
            return as_json({"standardEnvVars": [], "harnesses": {}})
        if parts[0] == "api" and len(parts) > 2 and parts[1] in _KINDS:
            kind = _KINDS[parts[1]]
            name, action, rest = split_path(parts[2:], ("revision", "tree", "paths-info"))
            repo = self._repo(request, kind, name)
            commit, path = commit_in(repo, rest or ["main"])
            files = repo.commits[commit]
            if action == "tree":
                return self._tree(request, files, path, commit)
            if action == "paths-info":
                wanted = parse_qs(body.decode())
                entries = {entry["path"]: entry for entry in entries_of(files)}
                return as_json([entries[path] for path in wanted.get("paths", []) if path in entries])
            return as_json(info_of(repo, commit, blobs=request.query_params.get("blobs", "").lower() == "true"))
        kind = _KINDS.get(parts[0], "model")
        name, action, rest = split_path(parts[parts[0] in _KINDS :], ("resolve",))
        if action != "resolve" or not rest:
            raise HTTPException(404, "Not found")
        repo = self._repo(request, kind, name, content=True)
        commit, path = commit_in(repo, rest)
        if path not in repo.commits[commit]:
            raise HTTPException(404, "Entry not found", code_of("EntryNotFound", commit))
        return content_of(repo.commits[commit][path], commit, request.headers.get("range", ""))

    def _repo(self, request: requests.Request, kind: str, name: str, *, content: bool = False) -> Repository:
        """The repository, if it is there for this visitor; of a gated one only the `content` is kept back."""
        token = _token(request)
        if token and token not in (TOKEN, STRANGER):
            raise INVALID
        repo = self._repos.get((kind, name))
        if repo is None or (repo.private and token != TOKEN):
            raise no_repository(anonymous=not token)
        if content and repo.gated and token != TOKEN:
            raise gated(anonymous=not token)
        return repo

    def _tree(self, request: requests.Request, files: dict[str, File], path: str, commit: str) -> Answer:
        recursive = request.query_params.get("recursive", "").lower() == "true"
        entries = entries_of(files)
        if path and path not in {entry["path"] for entry in entries}:
            raise HTTPException(404, "Entry not found", code_of("EntryNotFound", commit))
        below = f"{path}/" if path else ""
        entries = [entry for entry in entries if entry["path"].startswith(below)]
        return as_json([entry for entry in entries if recursive or "/" not in entry["path"][len(below) :]])


async def _leaving(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _token(request: requests.Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


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
