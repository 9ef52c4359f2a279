"""What the stand-in for the Hub holds, and what it says of it."""

import contextlib
import functools
import hashlib
import json
import math
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
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


def entries_of(files: dict[str, File], commit: str, expand: bool) -> list[dict[str, Any]]:
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


def info_of(repo: Repository, kind: str, commit: str, *, blobs: bool) -> dict[str, Any]:
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


def _described(files: dict[str, File], kind: str) -> dict[str, Any]:
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


def refs_of(repo: Repository) -> dict[str, list[dict[str, str]]]:
    groups = {"branches": "refs/heads/", "tags": "refs/tags/", "converts": "refs/convert/", "pullRequests": "refs/pr/"}
    return {
        group: [
            {"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": commit}
            for ref, commit in repo.refs.items()
            if ref.startswith(prefix)
        ]
        for group, prefix in groups.items()
    }
