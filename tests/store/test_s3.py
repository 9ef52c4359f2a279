"""A store on S3, as moto’s server on this machine imitates it."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.buckets import Machine, contents, machine_of, overwrite
from support.extracting import run
from support.measured import KEY, measurements

from clsviz.errors import StoreError
from clsviz.experiment import Experiment
from clsviz.store import Bucket, Store

s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed: deploy/requirements-s3.txt")
server = pytest.importorskip("moto.server", reason="moto is not installed: requirements-test.txt")

URL = "s3://bucket/store"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield running.get_host_and_port()[1]
    running.stop()


def ask(port: int, path: str, body: bytes = b"") -> None:
    """Tell the server to do something that no S3 does."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", f"/moto-api/{path}", body)
    assert connection.getresponse().status == 200
    connection.close()


@pytest.fixture(autouse=True)
def _s3(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty bucket, and what leads to it."""
    ask(port, "reset")
    for name, value in {"ACCESS_KEY_ID": "test", "SECRET_ACCESS_KEY": "test", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir("bucket")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(URL, tmp_path, monkeypatch)


def test_what_one_machine_measured_another_reads(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    assert here.parts(KEY) == {}
    assert Bucket(URL)._is_exclusive
    with here.writer(KEY):
        part = here.append(KEY, 0, measurements(32), seconds=1)
    assert contents(URL).keys() == {f"{KEY.folder_name}/{name}" for name in ("key.json", part.path.name)}
    assert contents(URL)[f"{KEY.folder_name}/{part.path.name}"] == part.path.read_bytes()
    (found,) = there.parts(KEY).values()
    read = there.read(found)
    assert read is not None
    assert read.cls_norms.tobytes() == measurements(32).cls_norms.tobytes()
    found.path.unlink()
    overwrite(URL, f"{KEY.folder_name}/{part.path.name}", b"damaged")
    assert there.read(found) is None
    assert f"{KEY.folder_name}/{part.path.name}" not in contents(URL)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://nothing/store", r"s3://nothing/store is not there .* Create its bucket, or correct its name"),
        (f"s3://{'a' * 300}/store", r"^The store s3://aaa.*… cannot be used: no bucket can have this name\."),
    ],
)
def test_a_bucket_that_there_is_not_is_said_before_anything_is_measured(
    experiment: Experiment, url: str, said: str
) -> None:
    with pytest.raises(StoreError, match=said):
        run(experiment, Store(url))


def test_a_bucket_that_one_may_not_use_is_said(port: int, machine: Machine) -> None:
    ask(port, "reset-auth", b"0")  # from now on the keys have to be somebody’s
    try:
        with pytest.raises(StoreError, match=r"You may not read the store s3://bucket/store \(.*Give credentials"):
            machine("here").parts(KEY)
        with pytest.raises(StoreError, match=r"You may not (write to|read) the store"):
            machine("here").describe(KEY)
    finally:
        ask(port, "reset-auth", b"inf")


def test_a_server_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(StoreError, match=r"s3://bucket/store cannot be reached \(Could not connect .*the network"):
        Store(URL).parts(KEY)
