"""A store in a bucket, as several machines have it: each has a cache folder of its own."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.buckets import Faulty, Machine, bucket_urls, contents, emptied, machine_of, overwrite
from support.corpora import shrink
from support.extracting import equal, n_in_turns, run
from support.measured import KEY, measurements

from clsviz.errors import StoreError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Share
from clsviz.progress import Progress
from clsviz.settings import ALL, Pooling
from clsviz.store import Bucket, Key, Store, is_url, take_census

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=[0, 1], ids=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    emptied()
    return [*bucket_urls(tmp_path)][request.param]


@pytest.fixture
def machine(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(url, tmp_path, monkeypatch)


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Of a bucket that does as a test says."""
    emptied()
    return machine_of("faulty://bucket", tmp_path, monkeypatch)


@pytest.fixture
def whole(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """All 400 sentences of a corpus, of which 200 are shuffled and 100 in memory."""
    shrink(monkeypatch, 200, 100)
    return Experiment(experiment.model, experiment.corpus, sample_size=ALL)


def fill(store: Store) -> None:
    with store.writer(KEY):
        store.append(KEY, 0, measurements(32), seconds=1)
        store.append(KEY, 32, measurements(10, start=32), seconds=1)


def is_read(store: Store) -> bool:
    """Whether all that was filled in is there, and as it was."""
    read = [store.read(part) for _, part in sorted(store.parts(KEY).items())]
    return len(read) == 2 and all(
        one is not None and equal(one, expected)
        for one, expected in zip(read, [measurements(32), measurements(10, start=32)], strict=True)
    )


def named(url: str, start: int) -> str:
    """The file of a part in the bucket."""
    (path,) = [path for path in contents(url) if f"/{start:09d}-" in path]
    return path


def test_what_one_machine_measured_another_reads(machine: Machine, url: str) -> None:
    here, there = machine("here"), machine("there")
    fill(here)
    assert here.root != there.root
    assert is_read(there)
    names = {path.name for path in here.root.rglob("*.safetensors")}
    assert {path.partition("/")[2] for path in contents(url)} == names | {"key.json"}  # nothing else
    assert names == {path.name for path in there.root.rglob("*.safetensors")}
    assert (here.root / KEY.folder_name / "key.json").read_bytes() == contents(url)[f"{KEY.folder_name}/key.json"]
    assert here.address == there.own.address == url
    here.parts(KEY)[32].path.write_bytes(b"damaged")
    assert is_read(here)  # it is fetched again
    for path in contents(url):
        overwrite(url, path, b"")
    assert is_read(there)  # what was fetched once is here


def test_a_part_that_arrives_damaged_is_fetched_again(
    machine: Machine, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(machine("here"))
    before, fetch, fetched = contents(url), Bucket.fetch, []

    def cut_short(self: Bucket, path: str, is_whole: Callable[[Path], bool]) -> bool:
        def spoilt(arrived: Path) -> bool:
            fetched.append(path)
            if len(fetched) == 1:
                arrived.write_bytes(arrived.read_bytes()[:100])
            return is_whole(arrived)

        return fetch(self, path, spoilt)

    monkeypatch.setattr(Bucket, "fetch", cut_short)
    assert is_read(machine("there"))
    assert len(fetched) == 3
    assert contents(url) == before


@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_a_part_that_is_damaged_there_is_dropped_and_put_there_again(
    machine: Machine, url: str, content: bytes
) -> None:
    here, there = machine("here"), machine("there")
    fill(here)
    expected = contents(url)
    overwrite(url, named(url, 32), content)
    assert there.read(there.parts(KEY)[32]) is None
    assert [*there.parts(KEY)] == [0]
    assert expected.keys() - contents(url).keys() == {path for path in expected if "/000000032-" in path}
    here.push(KEY)
    assert contents(url) == expected
    assert is_read(machine("there"))


def test_a_part_of_something_else_is_dropped_there_and_here(machine: Machine, url: str) -> None:
    here, there, other = machine("here"), machine("there"), Key(**{**vars(KEY), "seed": 1})
    fill(here)
    part = here.parts(KEY)[0]
    overwrite(url, f"{other.folder_name}/{part.path.name}", part.path.read_bytes())
    (wrong,) = there.parts(other).values()
    assert there.read(wrong) is None
    assert not [path for path in contents(url) if path.startswith(other.folder_name) and "/0" in path]
    assert not [*(there.root / other.folder_name).glob("0*")]
    assert is_read(there)


def test_what_is_only_here_is_put_there_if_it_is_whole(machine: Machine, url: str) -> None:
    here = machine("here")
    fill(here)
    expected = contents(url)
    here.parts(KEY)[0].path.with_name(f"000000042-000000043-{'0' * 16}.safetensors").write_bytes(b"damaged")
    for path in expected:
        here._bucket.drop(path)
    here.push(KEY)
    assert contents(url) == {path: content for path, content in expected.items() if "/0" in path}
    here.describe(KEY)
    assert contents(url) == expected


def test_what_was_measured_stays_here_if_the_network_is_lost(faulty: Machine) -> None:
    here = faulty("here")
    with here.writer(KEY):
        Faulty.faults["pipe_file"] = ConnectionError("Network is unreachable")
        with pytest.raises(StoreError, match=r"Network is unreachable.*kept on this machine, and the next run puts"):
            here.append(KEY, 0, measurements(32), seconds=1)
    assert [path for path in contents("faulty://bucket") if "/0" in path] == []
    Faulty.faults.clear()
    assert [*here.parts(KEY)] == [0]
    here.push(KEY)
    assert [*faulty("there").parts(KEY)] == [0]


def test_a_run_measures_nothing_that_it_could_not_keep_and_puts_there_what_another_left_here(
    experiment: Experiment, faulty: Machine
) -> None:
    Faulty.faults["pipe_file"] = ConnectionError("Network is unreachable")
    with pytest.raises(StoreError, match="Network is unreachable"):
        run(experiment, here := faulty("here"))
    assert here.tally.n == 0
    Faulty.faults.clear()
    run(experiment, faulty("here"))
    before = contents("faulty://bucket")
    emptied()
    run(experiment, again := faulty("here"))
    assert again.tally.n == 0
    assert {path: content for path, content in before.items() if "/0" in path} == contents("faulty://bucket")


def test_a_bucket_that_may_only_be_read_is_read_and_not_measured_into(faulty: Machine) -> None:
    fill(faulty("here"))
    Faulty.faults["pipe_file"] = Faulty.faults["rm_file"] = PermissionError("Access Denied")
    there = faulty("there")
    assert is_read(there)
    assert take_census(there, KEY, 42, Progress()) is not None
    there.push(KEY)
    with pytest.raises(StoreError, match="You may not write to the store"), there.writer(KEY):
        pytest.fail("it would measure what it cannot keep there")
    with pytest.raises(StoreError, match="You may not write to the store"):
        there.describe(KEY)
    with there.lock(KEY):  # nobody has it
        pass


def test_a_damaged_part_that_cannot_be_deleted_is_measured_again(faulty: Machine) -> None:
    fill(faulty("here"))
    overwrite("faulty://bucket", named("faulty://bucket", 0), b"damaged")
    Faulty.faults["rm_file"] = PermissionError("Access Denied")
    there = faulty("there")
    assert there.read(there.parts(KEY)[0]) is None
    assert [*there.parts(KEY)] == [32]
    there.append(KEY, 0, measurements(32), seconds=1)
    assert is_read(there)


def test_a_census_is_shared(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(machine("here"))
    expected = take_census(machine("here"), KEY, 42, Progress())
    monkeypatch.setattr(Store, "read", lambda *_: pytest.fail("all parts are counted already"))
    for _ in range(2):
        counted = take_census(machine("there"), KEY, 42, Progress())
        assert counted is not None
        np.testing.assert_array_equal(*(one.vector(Pooling.CLS, 1).counts for one in (counted, expected)))
        (census,) = machine("there").root.glob("norms-*/census-*")
        census.write_bytes(b"damaged")  # and fetched again


def test_workers_on_two_machines_make_the_files_that_one_run_makes(
    whole: Experiment, store: Store, machine: Machine, url: str
) -> None:
    run(whole, store)
    runs = [
        Extraction(whole, machine(name), Encoders()).worker(Progress(), Share(rank, 2)).run()
        for rank, name in enumerate(("here", "there"))
    ]
    assert n_in_turns(runs) == 400
    parts = {path: content for path, content in contents(url).items() if "/0" in path}
    assert parts == {
        path.relative_to(store.root).as_posix(): path.read_bytes() for path in store.root.glob("norms-*/0*")
    }
    found, _ = run(whole, machine("elsewhere"))
    assert found.census is not None
    assert found.n_measured == 400


def test_fsspec_is_loaded_for_a_url_alone() -> None:
    urls = ["s3://bucket", "memory://x", "folder", "/a/b", Path("s3://b"), None]
    assert [is_url(place) for place in urls] == [True, True, False, False, False, False]
    program = "import sys; from clsviz.store import Store; Store('folder'); print('fsspec' in sys.modules); "
    program += "Store('memory://bucket'); print('fsspec' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["False", "True"]
