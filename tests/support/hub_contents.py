"""What the stand-in for the Hub holds, what it says of it, and how it refuses."""

import functools
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

_LFS = (".safetensors", ".bin", ".parquet")


@dataclass(frozen=True)
class File:
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
class Repository:
    name: str
    private: bool
    gated: bool
    refs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, File]] = field(default_factory=dict)

    def resolve(self, revision: str) -> str | None:
        for ref in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            if ref in self.refs:
                return self.refs[ref]
        return next((commit for commit in self.commits if len(revision) > 6 and commit.startswith(revision)), None)


@dataclass
class Answer:
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


def as_json(value: object) -> Answer:
    return Answer(json.dumps(value).encode())


def code_of(code: str, commit: str = "") -> dict[str, str]:
    return {"X-Error-Code": code} | ({"X-Repo-Commit": commit} if commit else {})


def split_path(parts: list[str], actions: tuple[str, ...]) -> tuple[str, str, list[str]]:
    """The name of the repository, with or without an owner, what is asked of it, and the rest of the path."""
    for n in (1, 2):
        if len(parts) > n and parts[n] in actions:
            return "/".join(parts[:n]), parts[n], parts[n + 1 :]
    return "/".join(parts), "", []


def commit_in(repo: Repository, rest: list[str]) -> tuple[str, str]:
    """The commit, and the path in it."""
    n = 3 if rest[0] == "refs" else 1
    revision = "/".join(rest[:n])
    commit = repo.resolve(revision)
    if commit is None:
        raise HTTPException(404, f"Invalid rev id: {revision}", code_of("RevisionNotFound"))
    return commit, "/".join(rest[n:])


def content_of(file: File, commit: str, wanted: str) -> Answer:
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
        return Answer(file.content, headers)
    first, last = found.groups()
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= end:
        raise HTTPException(416, "Range not satisfiable", {"Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return Answer(file.content[start:end], headers, 206)


def entries_of(files: dict[str, File]) -> list[dict[str, Any]]:
    """All files and folders, as a tree lists them."""
    entries: dict[str, dict[str, Any]] = {}
    for path, file in files.items():
        for parent in list(Path(path).parents)[:-1]:
            oid = hashlib.sha1(parent.as_posix().encode()).hexdigest()
            entries[parent.as_posix()] = {"type": "directory", "oid": oid, "size": 0, "path": parent.as_posix()}
        entry = {"type": "file", "oid": file.blob_id, "size": len(file.content), "path": path}
        if file.is_lfs:
            entry["lfs"] = {"oid": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
        entries[path] = entry
    return [entries[path] for path in sorted(entries)]


def info_of(repo: Repository, commit: str, *, blobs: bool) -> dict[str, Any]:
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
    }


REFUSALS = ("401", "403", "gated", "404", "429", "500")
"""Misbehaviours in the place of the answer, for HEAD as for GET."""
BODIES = ("slow", "stall", "cut", "wrong-length", "damaged")
"""Misbehaviours of the body: HEAD is answered truly, and is not counted."""


@dataclass
class Fault:
    what: str
    how: str
    times: float
    seconds: float


INVALID = HTTPException(
    401,
    "Invalid credentials in Authorization header",
    {"X-Error-Message": "Invalid credentials in Authorization header"},
)


def no_repository(*, anonymous: bool) -> HTTPException:
    """The anonymous are not told whether there is such a repository."""
    if anonymous:
        return HTTPException(401, "Invalid username or password.", code_of("RepoNotFound"))
    return HTTPException(404, "Repository not found", code_of("RepoNotFound"))


def gated(*, anonymous: bool) -> HTTPException:
    if anonymous:
        return HTTPException(401, "Access to this repository is restricted. Please log in.", code_of("GatedRepo"))
    return HTTPException(403, "You are not in the authorized list. Ask for access.", code_of("GatedRepo"))


def refusal(fault: Fault, has_token: bool) -> HTTPException:
    match fault.how:
        case "401":
            return INVALID
        case "403":
            return HTTPException(403, "Forbidden", {"X-Error-Message": "You have no access to this resource"})
        case "gated":
            return gated(anonymous=not has_token)
        case "404":
            return no_repository(anonymous=False)
        case "429":
            return HTTPException(429, "Too many requests", {"Retry-After": f"{fault.seconds:.0f}"})
    return HTTPException(500, "Internal error")
