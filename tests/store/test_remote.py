import errno
import sys
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry, known_implementations
from support.buckets import Faulty, bucket_urls, contents, emptied

from clsviz.errors import StoreError
from clsviz.store import Bucket, remote


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emptied()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(params=[0, 1], ids=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return [*bucket_urls(tmp_path)][request.param]


def put(there: Bucket, path: str, content: bytes = b"1", *, replace: bool = False) -> None:
    """Put a file into the bucket that has this content here."""
    (there.root / path).parent.mkdir(parents=True, exist_ok=True)
    (there.root / path).write_bytes(content)
    there.put(path, replace=replace)


def test_what_is_put_there_stays_until_it_is_replaced_or_dropped(url: str) -> None:
    there = Bucket(url)
    assert there.names("folder") == set()
    put(there, "folder/a")
    put(there, "folder/b", b"2")
    put(there, "folder/b", b"3", replace=True)
    put(there, "folder/a", b"2")
    assert there.names("folder") == {"a", "b"}
    assert contents(url) == {"folder/a": b"1", "folder/b": b"3"}
    assert there.fetch("folder/a")
    assert (there.root / "folder/a").read_bytes() == b"1"
    assert not there.fetch("folder/c")
    assert not there.fetch("folder/b", lambda path: path.read_bytes() == b"2")
    for name in "aba":
        there.drop(f"folder/{name}")
    assert there.names("folder") == set()
    assert contents(url) == {}


def test_what_does_not_arrive_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = Bucket(f"file://{tmp_path / 'bucket'}")
    put(there, "folder/a")
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.mv", lambda *_: 1 / 0)
    with pytest.raises(StoreError):
        put(there, "folder/b")
    assert contents(there.url) == {"folder/a": b"1"}


def test_a_folder_is_listed_once_in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(remote.time, "monotonic", lambda: now[0])
    there, other = Bucket("faulty://bucket"), Bucket("faulty://bucket")
    assert [there.names("folder") for _ in range(3)] == [set()] * 3
    assert Faulty.asked == ["ls"]
    put(other, "folder/a")
    assert there.names("folder") == set()
    assert there.names("folder", fresh=True) == {"a"}
    put(other, "folder/b")
    now[0] += 60
    assert there.names("folder") == {"a", "b"}
    put(there, "folder/c")
    assert there.names("folder") == {"a", "b", "c"}  # what it wrote itself it knows


@pytest.mark.parametrize(
    ("method", "fault", "said"),
    [
        ("pipe_file", PermissionError("Access Denied"), r"You may not write to the store faulty://bucket \(Access Den"),
        ("ls", PermissionError("Access Denied"), "You may not read the store faulty://bucket .* credentials"),
        ("pipe_file", FileNotFoundError("No such bucket."), r"is not there \(No such bucket\)\. Create its bucket"),
        ("get_file", TimeoutError(), r"cannot be reached \(TimeoutError\)\. Check its name, the network"),
        ("get_file", RuntimeError("Unable to locate credentials"), r"cannot be reached \(Unable to locate cred"),
        (
            "ls",
            OSError(errno.ENAMETOOLONG, "File name too long"),
            r"^The name of the store, faulty://bucket…, is too long",
        ),
        ("pipe_file", OSError(errno.EIO, "KeyTooLongError"), "faulty://bucket…, is too long. Choose a shorter one"),
        ("ls", ValueError('Wrong:\nInvalid bucket name "a!"'), "faulty://bucket cannot be used: no bucket can have"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence(method: str, fault: Exception, said: str) -> None:
    there = Bucket("faulty://bucket")
    asks = {
        "pipe_file": lambda: put(there, "a"),
        "ls": lambda: there.names("folder"),
        "get_file": lambda: there.fetch("a"),
    }
    Faulty.faults[method] = fault
    with pytest.raises(StoreError, match=said):
        asks[method]()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://", "s3:// names no bucket"),
        ("nothing://bucket", "nothing://bucket cannot be a store .*nothing.* Give a folder, or a URL such as s3://"),
        ("needy://user:secret@bucket", r"^The store needy://bucket needs another package: Install it\.$"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(known_implementations, "needy", {"class": "nowhere.Needy", "err": "Install it."})
    with pytest.raises(StoreError, match=said):
        Bucket(url).names("folder")


def test_the_package_for_s3_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(_registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(StoreError, match=r"needs another package: pip install clsviz\[s3\]"):
        Bucket("s3://bucket").names("folder")


def test_a_slash_at_the_end_makes_no_difference() -> None:
    put(Bucket("memory://bucket/store/"), "a")
    assert Bucket("memory://bucket/store").names("") == {"a"}
    assert [*MemoryFileSystem.store] == ["/bucket/store/a"]
