from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clsviz.errors import ModelError, StoreError
from clsviz.experiment import Experiment
from clsviz.jobs import measure as module
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import Measured, Prepared, measure
from clsviz.jobs.worker import InProcess, Worker
from clsviz.sources.models import Weights
from clsviz.sources.sampling import draw
from clsviz.store.chunks import Chunks


@pytest.fixture
def experiment(corpus_file: Path) -> Experiment:
    return Experiment(model="tiny", corpus=str(corpus_file), sample_size=250)


@pytest.fixture
def prepared(experiment: Experiment, tiny_weights: Weights, tmp_path: Path) -> Prepared:
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


def run(
    prepared: Prepared, experiment: Experiment, root: Path, runner: InProcess, n_steps: int = 10**9
) -> Job[Measured]:
    job: Job[Measured] = Job()
    steps = measure(job, prepared, experiment, "norms", Chunks(root), runner)
    for _, _ in zip(range(n_steps), steps, strict=False):
        pass
    return job


def test_a_sample_is_measured_in_its_order(
    prepared: Prepared, experiment: Experiment, tmp_path: Path
) -> None:
    job = run(prepared, experiment, tmp_path, InProcess())
    assert (job.done, job.total, job.unit) == (250, 250, "sentences")
    alone = InProcess().run(prepared.weights, "exact", prepared.sample.sentences(), "norms")
    assert job.result.is_complete
    np.testing.assert_allclose(job.result.norms.cls, alone["cls"], rtol=1e-5)


def test_only_what_is_missing_is_run(
    prepared: Prepared, experiment: Experiment, tmp_path: Path
) -> None:
    run(prepared, experiment, tmp_path, broken := Counting(), n_steps=2)
    run(prepared, experiment, tmp_path, rest := Counting())
    assert 0 < broken.n < 250
    assert broken.n + rest.n == 250
    run(prepared, experiment, tmp_path, again := Counting())
    assert again.n == 0
    smaller = replace(prepared, sample=replace(prepared.sample, order=prepared.sample.order[:99]))
    assert len(run(smaller, experiment, tmp_path, again).result.norms) == 99


def test_results_are_published_while_it_is_measured(
    prepared: Prepared, experiment: Experiment, tmp_path: Path
) -> None:
    job = run(prepared, experiment, tmp_path, InProcess(), n_steps=2)
    assert len(job.result.norms) == module.FIRST_SLICE
    assert not job.result.is_complete


def test_an_error_loses_no_slice_that_was_measured(
    prepared: Prepared, experiment: Experiment, tmp_path: Path
) -> None:
    with pytest.raises(ModelError):
        run(prepared, experiment, tmp_path, Counting(fails_at=module.FIRST_SLICE))
    run(prepared, experiment, tmp_path, rest := Counting())
    assert rest.n == 250 - module.FIRST_SLICE


def test_slices_are_merged(
    prepared: Prepared, experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MERGED", 2)
    monkeypatch.setattr(module, "SLICE_SECONDS", 0.0)  # the smallest slices
    job = run(prepared, experiment, tmp_path, InProcess())
    n_slices = -(-250 // module.FIRST_SLICE)
    assert len(list((tmp_path / job.result.key).iterdir())) == -(-n_slices // 2)
    again = run(prepared, experiment, tmp_path, Counting())
    np.testing.assert_array_equal(again.result.norms.cls, job.result.norms.cls)


def test_a_store_that_cannot_be_written_says_so(
    prepared: Prepared, experiment: Experiment, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        run(prepared, experiment, tmp_path / "file", InProcess())


@pytest.mark.slow
def test_the_worker_measures_and_is_replaced_when_it_ends_or_hangs(
    prepared: Prepared, tmp_path: Path
) -> None:
    import os
    import signal

    import psutil

    worker = Worker(hung_seconds=8)
    worker.load(prepared.weights, "exact")  # which takes a busy machine longer
    sentences = prepared.sample.sentences(0, 5)
    expected = InProcess().run(prepared.weights, "exact", sentences, "norms")["cls"]

    def measured() -> bool:
        arrays = worker.run(prepared.weights, "exact", sentences, "norms")
        return bool(np.allclose(arrays["cls"], expected, rtol=1e-5))

    def pid() -> int:
        """The worker: the child with our threads, not loky's own tracker."""
        children = psutil.Process().children()
        return max(children, key=lambda child: child.memory_info().rss).pid

    assert measured()
    os.kill(pid(), signal.SIGKILL)
    worker.load(prepared.weights, "exact")
    assert measured()
    os.kill(first := pid(), signal.SIGSTOP)
    with pytest.raises(ModelError, match="did not answer"):
        measured()
    worker.load(prepared.weights, "exact")
    assert measured()
    assert pid() != first


@pytest.mark.slow
def test_the_worker_ends_with_its_parent(tmp_path: Path, tiny_model: Path) -> None:
    import subprocess
    import sys
    import time

    import psutil

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
    end = time.monotonic() + 10
    while any(child.is_running() and child.status() != "zombie" for child in children):
        assert time.monotonic() < end, "the worker outlives its parent"
        time.sleep(0.1)
