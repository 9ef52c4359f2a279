import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.extracting import Steps, equal, run
from support.tiny import write_model

from clsviz.encoder import Encoder
from clsviz.errors import CancelledError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.measurements import Measurements
from clsviz.progress import Progress
from clsviz.settings import Precision
from clsviz.sources.models import Weights
from clsviz.store import Store


def test_what_is_measured_are_the_sentences_of_the_sample(
    experiment: Experiment, store: Store, tiny_encoder: Encoder, text_file: Path
) -> None:
    found, _ = run(experiment, store)
    lines = text_file.read_text().splitlines()
    assert set(found.sentences) < set(lines)
    assert len(found.sentences) == 300
    expected = tiny_encoder.measure(found.sentences)
    np.testing.assert_allclose(found.measurements.cls_norms, expected.cls_norms, rtol=1e-5)
    np.testing.assert_array_equal(found.measurements.n_tokens, expected.n_tokens)


def test_a_second_run_loads_no_model(experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = run(experiment, store)
    monkeypatch.setattr(Encoders, "get", None)
    second, again = run(experiment, store)
    assert equal(first.measurements, second.measurements)
    assert again.sentences_per_second is None


def test_a_larger_sample_measures_only_what_is_new(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, _ = run(Experiment(experiment.model, experiment.corpus, sample_size=100), store)
    measured: list[str] = []
    tokenize = Encoder.tokenize
    monkeypatch.setattr(
        Encoder, "tokenize", lambda self, sentences: measured.extend(sentences) or tokenize(self, sentences)
    )
    large, _ = run(experiment, store)
    assert large.sentences[:100] == small.sentences
    assert measured == large.sentences[100:]
    assert equal(large.measurements.head(100), small.measurements)


def test_a_smaller_sample_reads_a_part_of_what_is_there(experiment: Experiment, store: Store) -> None:
    large, _ = run(experiment, store)
    small, _ = run(Experiment(experiment.model, experiment.corpus, sample_size=50), store)
    assert equal(small.measurements, large.measurements.head(50))


def test_another_seed_draws_other_sentences(experiment: Experiment, store: Store) -> None:
    one, _ = run(experiment, store)
    other, _ = run(Experiment(experiment.model, experiment.corpus, sample_size=300, seed=1), store)
    assert one.sentences != other.sentences
    assert len(list(store.root.glob("norms-*"))) == 2


def test_cancelling_keeps_what_was_measured_and_the_next_run_goes_on(experiment: Experiment, store: Store) -> None:
    undisturbed, _ = run(experiment, Store(store.root / "other"))
    stopped = Extraction(experiment, store, Encoders())
    progress = Steps(at=100, action=lambda: progress.cancel())
    with pytest.raises(CancelledError):
        stopped.run(progress)
    assert stopped.found is not None
    assert 0 < len(stopped.found.measurements) < 300
    resumed, _ = run(experiment, store)
    assert equal(resumed.measurements, undisturbed.measurements)


def test_a_killed_run_goes_on_where_its_last_part_ended(experiment: Experiment, store: Store) -> None:
    """Kill -9 in mid-run, in a process of its own."""
    undisturbed, _ = run(experiment, Store(store.root / "other"))
    program = f"""
import os, signal
from pathlib import Path
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.progress import Progress
from clsviz.store import Store
class Killed(Progress):
    def advance(self, done):
        if self.stage == "Measuring" and done > 200:
            os.kill(os.getpid(), signal.SIGKILL)
store = Store(Path({str(store.root)!r}))
Extraction(Experiment.from_query({experiment.to_query()!r}), store, Encoders()).run(Killed())
"""
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = sorted(path.name for path in store.root.glob("norms-*/*.safetensors"))
    assert left
    whole = (store.root / "other").glob("norms-*/*.safetensors")
    assert {name[:19] for name in left} < {path.name[:19] for path in whole}  # sentences from and to
    before = {path: path.stat().st_mtime_ns for path in store.root.glob("norms-*/*.safetensors")}
    resumed, _ = run(experiment, store)
    assert equal(resumed.measurements, undisturbed.measurements)
    assert all(path.stat().st_mtime_ns == modified for path, modified in before.items())


def test_damaged_parts_are_counted_and_measured_again(experiment: Experiment, store: Store) -> None:
    whole, _ = run(experiment, store)
    paths = sorted(store.root.glob("norms-*/*.safetensors"))
    assert len(paths) > 3
    for path in (paths[1], paths[3]):
        path.write_bytes(path.read_bytes()[:-1])
    others = {path: path.stat().st_mtime_ns for path in paths if path not in (paths[1], paths[3])}
    mended, _ = run(experiment, store)
    assert mended.damaged_parts == 2
    assert equal(mended.measurements, whole.measurements)
    assert all(path.stat().st_mtime_ns == modified for path, modified in others.items())


def test_two_processes_measure_the_same_only_once(experiment: Experiment, store: Store) -> None:
    """While another holds the lock this one waits, and takes what the other has measured."""
    waiting = Extraction(experiment, store, Encoders())
    looked_up = Extraction(experiment, store, Encoders())
    looked_up.look_up(Progress())
    assert looked_up.found is not None
    key = looked_up.key_of(looked_up.found)
    progress = Progress()
    with store.writer(key):
        thread = threading.Thread(target=waiting.run, args=[progress])
        thread.start()
        deadline = time.monotonic() + 30
        while "Another process" not in progress.stage and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "Another process" in progress.stage
        encoder = Encoders().get(looked_up.found.weights)
        store.append(key, 0, encoder.measure(looked_up.found.sentences), seconds=1)
    thread.join(timeout=30)
    assert waiting.found is not None
    assert waiting.found.n_missing == 0
    assert len(store.parts(key)) == 1
    assert waiting.sentences_per_second is None


def test_the_picture_sharpens_part_by_part(experiment: Experiment, store: Store) -> None:
    measuring = Extraction(experiment, store, Encoders())
    sizes: list[int] = []
    progress = Steps(at=0, action=lambda: measuring.found and sizes.append(len(measuring.found.measurements)))
    measuring.run(progress)
    assert sorted(set(sizes)) == [0, 32, 64, 128, 256]
    assert progress.total == 300


def test_a_cancel_does_not_wait_for_the_model(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def slow(self: Encoders, weights: Weights, precision: Precision) -> None:
        released.wait(30)

    monkeypatch.setattr(Encoders, "get", slow)
    progress = Progress()
    threading.Timer(0.2, progress.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        Extraction(experiment, store, Encoders()).run(progress)
    assert not released.is_set()
    assert time.monotonic() - began < 10  # not the 30 s of the load
    released.set()


def test_only_so_many_encoders_stay_loaded(tiny_weights: Weights, minilm_encoder: Encoder) -> None:
    encoders = Encoders(capacity=1)
    first = encoders.get(tiny_weights)
    assert encoders.get(tiny_weights) is first
    encoders.get(minilm_encoder.weights)
    assert encoders.get(tiny_weights) is not first


def test_threads_that_want_the_same_encoder_share_it(tiny_weights: Weights) -> None:
    encoders = Encoders()
    got: list[Encoder] = []
    threads = [threading.Thread(target=lambda: got.append(encoders.get(tiny_weights))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, got))) == 1


def test_a_slower_way_through_a_model_is_said(tmp_path: Path, experiment: Experiment, store: Store) -> None:
    usual, _ = run(experiment, store)
    assert usual.slow_path_reason == ""
    slower, _ = run(replace(experiment, model=str(write_model(tmp_path / "m", "modernbert"))), store)
    assert "no fast forward pass for models of the type modernbert" in slower.slow_path_reason


def test_the_next_part_is_tokenized_while_the_model_is_at_work(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenize, measure = Encoder.tokenize, Encoder.measure
    tokenized, ahead = threading.Semaphore(0), []

    def noted(self: Encoder, sentences: list[str]) -> object:
        tokens = tokenize(self, sentences)
        tokenized.release()
        return tokens

    def waits(self: Encoder, tokens: object, on_batch: object) -> Measurements:
        if len(ahead) < 2:  # the last of three parts has none after it
            ahead.append(tokenized.acquire(timeout=10) and tokenized.acquire(timeout=10))  # this part and the next
            tokenized.release()
        return measure(self, tokens, on_batch)

    monkeypatch.setattr(Encoder, "tokenize", noted)
    monkeypatch.setattr(Encoder, "measure", waits)
    run(replace(experiment, sample_size=65), store)
    assert ahead == [True, True]


def test_a_model_that_changed_in_its_folder_is_measured_anew(
    experiment: Experiment, store: Store, tiny_folder: Path, tmp_path: Path
) -> None:
    """What was measured of the one is never taken for the other's."""
    folder = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    experiment = replace(experiment, model=str(folder), sample_size=100)
    extraction = Extraction(experiment, store, Encoders())
    progress = Steps(40, lambda: progress.cancel())
    with pytest.raises(CancelledError):
        extraction.run(progress)
    assert extraction.found is not None
    before = extraction.found.weights.fingerprint
    write_model(folder, "bert")
    found = Extraction(experiment, store, Encoders(), extraction.found).run(Progress())
    assert found.weights.fingerprint != before
    expected = Encoder(found.weights, device="cpu").measure(found.sentences)
    np.testing.assert_allclose(found.measurements.cls_norms, expected.cls_norms, rtol=1e-5)
