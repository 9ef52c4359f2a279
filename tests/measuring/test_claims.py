import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.buckets import bucket_urls, contents, emptied
from support.waiting import wait_for

from clsviz.errors import StoreError
from clsviz.measuring import claims
from clsviz.measuring.claims import DEAD, Claims
from clsviz.measuring.remote import Remote


@pytest.fixture(params=[0, 1], ids=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    emptied()
    return [*bucket_urls(tmp_path)][request.param]


@pytest.fixture
def machines(url: str, tmp_path: Path) -> list[Claims]:
    """Two machines that share a bucket, and a third."""
    return [Claims(Remote(url), tmp_path / name) for name in "abc"]


def age(url: str, path: str, by: object) -> None:
    """Let a claim be older."""
    there = Remote(url)
    said = json.loads(there.read(path) or "")
    there.replace(path, json.dumps(said | {"at": (datetime.now(UTC) - by).isoformat()}).encode())


def test_one_machine_has_a_claim_until_it_is_released(machines: list[Claims], url: str) -> None:
    here, there, _ = machines
    claim = here.take("folder", "000000032")
    assert claim is not None
    assert there.take("folder", "000000032") is None
    other = there.take("folder", "000000064")
    assert other is not None
    assert sorted(contents(url)) == ["folder/claims/000000032-0.lock", "folder/claims/000000064-0.lock"]
    claim.release()
    again = there.take("folder", "000000032")
    assert again is not None
    again.release()
    other.release()
    assert contents(url) == {}


def test_a_claim_that_nobody_keeps_up_goes_to_one_other(machines: list[Claims], url: str) -> None:
    dead, here, there = machines
    lost = dead.take("folder", "writer")
    assert lost is not None
    age(url, "folder/claims/writer-0.lock", DEAD * 0.9)
    assert here.take("folder", "writer") is None
    age(url, "folder/claims/writer-0.lock", DEAD * 1.1)
    claim = here.take("folder", "writer")
    assert claim is not None
    assert there.take("folder", "writer") is None
    claim.release()
    assert contents(url) == {}  # the dead one's as well
    lost.release()


def test_of_two_that_find_it_dead_at_once_one_takes_it_over(
    machines: list[Claims], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead, here, there = machines
    lost = dead.take("folder", "writer")
    age(url, "folder/claims/writer-0.lock", DEAD * 2)
    create, taken = Remote.create, []

    def after_another(self: Remote, path: str, content: bytes) -> bool:
        monkeypatch.setattr(Remote, "create", create)
        taken.append(there.take("folder", "writer"))
        return create(self, path, content)

    monkeypatch.setattr(Remote, "create", after_another)
    assert here.take("folder", "writer") is None
    assert taken[0] is not None
    taken[0].release()
    lost.release()


def test_what_a_killed_process_of_this_machine_had_is_free_at_once(machines: list[Claims], url: str) -> None:
    killed = machines[0].take("folder", "writer")
    again = Claims(Remote(url), machines[0]._root)  # whoever asks has the lock of this machine
    claim = again.take("folder", "writer")
    assert claim is not None
    assert machines[1].take("folder", "writer") is None
    claim.release()
    killed.release()


@pytest.mark.parametrize("content", [b"", b"no JSON", b"[]", b"{}", b'{"at": 3, "by": "x"}', b'{"at": "soon"}'])
def test_a_claim_that_says_nothing_is_nobodys(machines: list[Claims], url: str, content: bytes) -> None:
    Remote(url).create("folder/claims/writer-0.lock", content)
    claim = machines[0].take("folder", "writer")
    assert claim is not None
    claim.release()


def test_a_claim_is_kept_up_while_it_is_held(machines: list[Claims], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_KEEP_UP_SECONDS", 0.01)
    claim = machines[0].take("folder", "writer")
    assert claim is not None
    age(url, "folder/claims/writer-0.lock", DEAD * 2)

    def is_new() -> bool:
        said = json.loads(contents(url)["folder/claims/writer-0.lock"])
        return datetime.now(UTC) - datetime.fromisoformat(said["at"]) < DEAD

    wait_for(is_new)
    claim.release()
    assert contents(url) == {}


def test_a_machine_that_cannot_write_its_name_says_so(url: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Choose another"):
        Claims(Remote(url), tmp_path / "file" / "below").take("folder", "writer")
