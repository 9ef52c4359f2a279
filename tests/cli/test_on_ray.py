"""Ray itself is not among what the tests need: what runs it is skipped where it is not installed."""

import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from support.corpora import shrink
from support.extracting import run

from clsviz.cli.workers import Measure, _prepare, check_installed, cores_each, measure_on_ray
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.sources import sampling
from clsviz.store import Store

DRIVER = """
import sys
from pathlib import Path
from clsviz.cli.workers import measure_on_ray
from clsviz.experiment import Experiment
measure_on_ray(Experiment(sample_size=int(sys.argv[2])), Path(sys.argv[1]), "local", 2)
"""


@pytest.fixture
def experiment(tiny_folder: Path, text_file: Path) -> Experiment:
    return Experiment(str(tiny_folder), str(text_file), sample_size=200)


def files(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.root.glob("norms-*/0*.safetensors")}


def test_where_ray_is_missing_it_is_said_how_to_install_it(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingError, match=r"Ray is not installed: pip install clsviz\[ray\]"):
        measure_on_ray(experiment, tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_folder_called_ray_is_not_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ray").mkdir()
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(SettingError, match="Ray is not installed"):
        check_installed()


@pytest.mark.parametrize(
    ("cpus", "n_actors", "cores"),
    [([2], 2, 1), ([2], 1, 2), ([16, 16], 4, 8), ([16, 4], 5, 4), ([64], 1, 8), ([2], 5, 1), ([0, 6], 2, 3)],
)
def test_actors_share_the_cores_of_the_nodes(cpus: list[int], n_actors: int, cores: int) -> None:
    assert cores_each(cpus, n_actors) == cores


def test_an_actor_measures_the_parts_that_it_is_given_and_no_others(
    experiment: Experiment, store: Store, tmp_path: Path
) -> None:
    run(experiment, store)
    actor = Measure(experiment.to_query(), str(tmp_path / "shared"))
    assert actor({"start": 64, "stop": 128}) == {"n_measured": 64, "error": ""}
    assert actor({"start": 0, "stop": 32}) == {"n_measured": 32, "error": ""}
    shared = Store(tmp_path / "shared")
    assert files(shared) == {name: content for name, content in files(store).items() if name[6:9] in ("064", "000")}
    assert actor({"start": 64, "stop": 128})["n_measured"] == 0  # it is there
    assert actor({"start": 32, "stop": 64})["n_measured"] == 32


def test_an_actor_reads_what_of_a_whole_corpus_is_not_in_memory(
    experiment: Experiment, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, 200, 100)
    whole = Experiment(experiment.model, experiment.corpus, sample_size=ALL)
    run(whole, store)
    actor = Measure(whole.to_query(), str(tmp_path / "shared"))
    assert actor({"start": 256, "stop": 400})["n_measured"] == 144
    ((name, content),) = files(Store(tmp_path / "shared")).items()
    assert files(store)[name] == content


def test_the_sample_is_drawn_once_before_parts_are_handed_out(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    shuffled = sampling.shuffled
    monkeypatch.setattr(sampling, "shuffled", lambda n, seed: drawn.append(n) or shuffled(n, seed))
    key, n_sentences = _prepare(experiment, store, Progress())
    assert (n_sentences, drawn) == (200, [400])
    _, extraction = run(experiment, store)
    assert extraction.found is not None
    assert key == extraction.key_of(extraction.found)


def test_an_actor_tells_what_it_cannot_do(experiment: Experiment, tmp_path: Path) -> None:
    query = experiment.to_query() | {"model": str(tmp_path / "nothing")}
    assert "nothing" in Measure(query, str(tmp_path / "store"))({"start": 0, "stop": 32})["error"]


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "[::1]:{port}"])
def test_where_no_cluster_answers_it_is_said_at_once(
    address: str, experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.cli.workers.check_installed", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SettingError, match=re.escape(f"The Ray cluster at {address.format(port=port)} cannot be")):
        measure_on_ray(experiment, store.root, address.format(port=port))


def driver(store: Path, n: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(store), str(n)])


def descendants(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def actors(process: "subprocess.Popen[bytes]") -> Iterator[psutil.Process]:
    for child in descendants(process):
        try:
            if child.cmdline()[0].startswith("ray::MapWorker"):
                yield child
        except (psutil.Error, IndexError):
            pass


def wait_for(is_so: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    while not is_so():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        assert is_so(), f"it ended with {process.returncode}"


def test_what_actors_and_drivers_that_were_killed_had_in_hand_is_measured_by_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: deploy/requirements-ray.txt")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    shared, n = Store(tmp_path / "shared"), 6000
    first = driver(shared.root, n)
    wait_for(lambda: len(files(shared)) >= 4, first)
    next(actors(first)).kill()
    wait_for(lambda: len(files(shared)) >= 7, first)
    of_first, actors_of_first = descendants(first), [*actors(first)]
    first.kill()
    first.wait()
    assert not psutil.wait_procs(actors_of_first, timeout=60)[1]
    for process in psutil.wait_procs(of_first, timeout=0)[1]:  # Ray’s own agents stay for a while
        process.kill()
    assert driver(shared.root, n).wait() == 0
    assert driver(shared.root, n).wait() == 0  # nothing is left, and Ray is not even started
    run(Experiment(sample_size=n), store)
    assert files(shared) == files(store)
