import errno
import sys
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry, known_implementations
from support.buckets import Faulty, bucket_urls, contents, emptied

from clsviz.errors import StoreError
from clsviz.store import remote
from clsviz.store.remote import Remote


@pytest.fixture(autouse=True)
def _empty() -> None:
    emptied()


@pytest.fixture(params=[0, 1], ids=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return [*bucket_urls(tmp_path)][request.param]


@pytest.fixture
def there(url: str) -> Remote:
    return Remote(url)


def test_what_is_written_is_there_until_it_is_deleted_and_nothing_else(there: Remote, url: str, tmp_path: Path) -> None:
    assert there.names("folder") == set()
    assert there.create("folder/a", b"1")
    assert there.create("folder/b", b"2")
    there.replace("folder/b", b"3")
    assert there.names("folder") == {"a", "b"}
    assert there.read("folder/b") == b"3"
    assert there.read("folder/c") is None
    assert contents(url) == {"folder/a": b"1", "folder/b": b"3"}
    assert not there.create("folder/a", b"2")
    assert there.fetch("folder/a", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"1"
    assert not there.fetch("folder/c", tmp_path / "not here")
    assert [there.delete(f"folder/{name}") for name in "aba"] == [True] * 3
    assert there.names("folder") == set()
    assert contents(url) == {}


def test_what_does_not_arrive_whole_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = Remote(f"file://{tmp_path / 'bucket'}")
    there.create("folder/a", b"1")
    monkeypatch.setattr("fsspec.implementations.local.LocalFileSystem.mv", lambda *_: 1 / 0)
    with pytest.raises(StoreError):
        there.create("folder/b", b"2")
    assert contents(there.url) == {"folder/a": b"1"}


def test_a_folder_is_listed_once_in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(remote.time, "monotonic", lambda: now[0])
    there, other = Remote("faulty://bucket"), Remote("faulty://bucket")
    assert [there.names("folder") for _ in range(3)] == [set()] * 3
    assert Faulty.asked == ["ls"]
    other.create("folder/a", b"1")
    assert there.names("folder") == set()
    assert there.names("folder", fresh=True) == {"a"}
    other.create("folder/b", b"1")
    now[0] += 60
    assert there.names("folder") == {"a", "b"}
    there.create("folder/c", b"1")
    assert there.names("folder") == {"a", "b", "c"}  # what it wrote itself it knows


def test_what_is_damaged_and_cannot_be_deleted_is_not_seen_again() -> None:
    there = Remote("faulty://bucket")
    there.create("folder/a", b"1")
    Faulty.faults["rm_file"] = PermissionError("Access Denied")
    assert not there.delete("folder/a")
    assert there.names("folder") == {"a"}
    there.drop("folder/a")
    assert there.names("folder") == set()
    assert Remote("faulty://bucket").names("folder") == {"a"}


@pytest.mark.parametrize(
    ("method", "fault", "said"),
    [
        ("pipe_file", PermissionError("Access Denied"), r"You may not write to the store faulty://bucket \(Access Den"),
        ("ls", PermissionError("Access Denied"), "You may not read the store faulty://bucket .* credentials"),
        ("pipe_file", FileNotFoundError("No such bucket."), r"is not there \(No such bucket\)\. Create its bucket"),
        ("cat_file", TimeoutError(), r"cannot be reached \(TimeoutError\)\. Check its name, the network"),
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
def test_whatever_goes_wrong_is_one_sentence(method: str, fault: Exception, said: str, tmp_path: Path) -> None:
    there = Remote("faulty://bucket")
    asks = {
        "pipe_file": lambda: there.create("a", b"1"),
        "ls": lambda: there.names("folder"),
        "cat_file": lambda: there.read("a"),
        "get_file": lambda: there.fetch("a", tmp_path / "here"),
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
        Remote(url).names("folder")


def test_the_package_for_s3_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(_registry, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(StoreError, match=r"needs another package: pip install clsviz\[s3\]"):
        Remote("s3://bucket").names("folder")


def test_a_slash_at_the_end_makes_no_difference() -> None:
    Remote("memory://bucket/store/").create("a", b"1")
    assert Remote("memory://bucket/store").names("") == {"a"}
    assert [*MemoryFileSystem.store] == ["/bucket/store/a"]
