import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from clsviz.errors import ModelError
from clsviz.jobs import measure as module
from clsviz.jobs.jobs import Jobs
from clsviz.jobs.measure import Workspace, measure
from clsviz.jobs.worker import IN_PROCESS, InProcess, Worker
from clsviz.progress import Calls, Cancelled, silent
from clsviz.settings import Experiment
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Measured, Prepared, draw
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results

N = 250


@pytest.fixture
def prepared(corpus_file: Path, tiny_weights: Weights, tmp_path: Path) -> Prepared:
    experiment = Experiment(corpus=str(corpus_file), sample_size=N)
    return Prepared(tiny_weights, draw(experiment, tmp_path))


class Counting(InProcess):
    """Counts the sentences that it runs, and fails at one of them."""

    def __init__(self, fails_at: int = 10**9) -> None:
        self.n, self.fails_at = 0, fails_at

    def run(self, weights, precision, sentences, kind):
        if self.n + len(sentences) > self.fails_at:
            raise ModelError("It broke.")
        self.n += len(sentences)
        return super().run(weights, precision, sentences, kind)


def cancel(done: int, *_: object) -> None:
    """Ends the work after its first sentences."""
    if done:
        raise Cancelled


def run(prepared, root, runner=IN_PROCESS, progress=silent, publish=lambda _: None) -> Measured:
    workspace = Workspace(root, Measurements(root), Results(root), runner)
    return measure(prepared, Experiment(), "norms", workspace, progress, publish)


def test_a_sample_is_measured_in_its_order(prepared: Prepared, tmp_path: Path) -> None:
    parts, states = list[Measured](), list[object]()
    progress = Calls(lambda *state: states.append(state))
    measured = run(prepared, tmp_path, progress=progress, publish=parts.append)
    assert states[-1] == (N, N, "sentences")
    assert measured.is_complete
    assert len(parts[0].norms) == module.FIRST_SLICE
    assert [part.is_complete for part in parts] == [False] * (len(parts) - 1) + [True]
    alone = IN_PROCESS.run(prepared.weights, "exact", prepared.sample.sentences(), "norms")
    np.testing.assert_allclose(measured.norms.cls, alone["cls"], rtol=1e-5)


def test_only_what_is_missing_is_run(prepared: Prepared, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        run(prepared, tmp_path, first := Counting(), Calls(cancel))
    assert first.n == module.FIRST_SLICE
    run(prepared, tmp_path, rest := Counting())
    assert first.n + rest.n == N
    smaller = replace(prepared, sample=replace(prepared.sample, order=prepared.sample.order[:99]))
    assert len(run(smaller, tmp_path, again := Counting()).norms) == 99
    assert again.n == 0


def test_two_jobs_on_the_same_measure_each_sentence_once(prepared, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "SLICE_SECONDS", 0.0)  # the smallest slices
    runner, jobs = Counting(), Jobs()
    both = [
        jobs.ask(name, lambda job: run(prepared, tmp_path, runner, job), name)
        for name in ("one", "other")
    ]
    while any(job.is_active for job in both):
        time.sleep(0.01)
    assert runner.n == N
    assert all(np.array_equal(job.result.norms.cls, both[0].result.norms.cls) for job in both)
    assert all(len(job.result.norms) == N for job in both)


def test_slices_are_merged(prepared, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "MERGED", 2)
    monkeypatch.setattr(module, "SLICE_SECONDS", 0.0)  # the smallest slices
    measured = run(prepared, tmp_path)
    n_slices = -(-N // module.FIRST_SLICE)
    assert len(list((tmp_path / measured.key).iterdir())) == -(-n_slices // 2)
    again = run(prepared, tmp_path, Counting(fails_at=0))
    np.testing.assert_array_equal(again.norms.cls, measured.norms.cls)


@pytest.mark.slow
def test_the_worker_measures_and_is_replaced_when_it_ends_or_hangs(prepared: Prepared) -> None:
    worker = Worker(hung_seconds=240)
    question = prepared.weights, "exact", prepared.sample.sentences(0, 5), "norms"
    expected = IN_PROCESS.run(*question)["cls"]

    def measured() -> bool:
        return bool(np.allclose(worker.run(*question)["cls"], expected, rtol=1e-5))

    def process() -> psutil.Process:
        """The worker: the child with our threads, not loky's own tracker."""
        return max(psutil.Process().children(), key=lambda child: child.memory_info().rss)

    worker.load(*question[:2])  # which takes a busy machine longer
    assert measured()
    process().kill()
    worker.load(*question[:2])
    assert measured()
    (hung := process()).suspend()
    worker.hung_seconds = 3
    with pytest.raises(ModelError, match="did not answer"):
        measured()
    psutil.wait_procs([hung], timeout=60)
    assert not hung.is_running()


@pytest.mark.slow
def test_the_worker_ends_with_its_parent(tiny_model: Path) -> None:
    script = (
        "import time; from pathlib import Path;"
        "from clsviz.jobs.worker import Worker; from clsviz.sources.models import Weights;"
        f"Worker().load(Weights('t', 't', Path({str(tiny_model)!r}), 'f'), 'exact');"
        "print('ready', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        children = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert [child for child in alive if child.status() != "zombie"] == []
