"""A sample measured part by part: what is stored, added, stopped, killed, damaged, waited for and altered."""

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
from support.tiny import write_bert, write_model

from clsviz.encoder import Encoder
from clsviz.errors import AlterationError, CancelledError, ModelError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found, measure_altered, measure_texts
from clsviz.measurements import Kind, Measurements
from clsviz.progress import Progress
from clsviz.settings import Alteration, Pooling
from clsviz.sources.models import Weights
from clsviz.store import Store


class NoEncoders(Encoders):
    def get(self, *_: object, **__: object) -> Encoder:
        raise AssertionError("nothing is measured twice")


def test_what_is_measured_are_the_sentences_of_the_sample_and_once(
    experiment: Experiment, store: Store, tiny_encoder: Encoder, text_file: Path
) -> None:
    found, _ = run(experiment, store)
    assert set(found.sentences) < set(text_file.read_text().splitlines())
    assert len(found.sentences) == 300
    expected = tiny_encoder.measure(found.sentences)
    np.testing.assert_allclose(found.measurements.cls_norms, expected.cls_norms, rtol=1e-5)
    np.testing.assert_array_equal(found.measurements.n_tokens, expected.n_tokens)
    again = Extraction(experiment, store, NoEncoders())
    assert equal(again.run(Progress()).measurements, found.measurements)
    assert again.sentences_per_second is None
    smaller = Extraction(replace(experiment, sample_size=50), store, NoEncoders()).run(Progress())
    assert equal(smaller.measurements, found.measurements.head(50))
    assert run(replace(experiment, seed=1), store)[0].sentences != found.sentences
    assert len(list(store.root.glob("norms-*"))) == 2


def test_a_larger_sample_measures_only_what_is_new(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, _ = run(replace(experiment, sample_size=100), store)
    measured: list[str] = []
    tokenize = Encoder.tokenize
    monkeypatch.setattr(
        Encoder, "tokenize", lambda self, sentences: measured.extend(sentences) or tokenize(self, sentences)
    )
    large, _ = run(experiment, store)
    assert large.sentences[:100] == small.sentences
    assert measured == large.sentences[100:]
    assert equal(large.measurements.head(100), small.measurements)


def test_the_picture_sharpens_part_by_part_and_a_stop_keeps_what_was_measured(
    experiment: Experiment, store: Store
) -> None:
    other = Store(store.root / "other")
    measuring, sizes = Extraction(experiment, other, Encoders()), []
    progress = Steps(at=0, action=lambda: measuring.found and sizes.append(len(measuring.found.measurements)))
    undisturbed = measuring.run(progress)
    assert sorted(set(sizes)) == [0, 32, 64, 128, 256]
    assert progress.total == 300
    stopped = Extraction(experiment, store, Encoders())
    progress = Steps(at=100, action=lambda: progress.cancel())
    with pytest.raises(CancelledError):
        stopped.run(progress)
    assert 0 < len(stopped.found.measurements) < 300
    assert equal(run(experiment, store)[0].measurements, undisturbed.measurements)


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
    before = {path: path.stat().st_mtime_ns for path in store.root.glob("norms-*/*.safetensors")}
    assert before
    whole = (store.root / "other").glob("norms-*/*.safetensors")
    assert {path.name[:19] for path in before} < {path.name[:19] for path in whole}  # sentences from and to
    assert equal(run(experiment, store)[0].measurements, undisturbed.measurements)
    assert all(path.stat().st_mtime_ns == modified for path, modified in before.items())


def test_a_part_within_another_is_passed_over(experiment: Experiment, store: Store) -> None:
    """A run of a smaller sample ended within what another run measured at the same time."""
    whole, extraction = run(experiment, Store(store.root / "other"))
    key = extraction.key_of(whole)
    with store.writer(key):
        for start, stop in ((0, 32), (32, 64), (32, 40), (40, 80), (80, 160)):
            part = Measurements(**{name: array[start:stop] for name, array in whole.measurements.to_arrays().items()})
            store.append(key, start, part, seconds=1)
    found, _ = run(experiment, store)
    np.testing.assert_allclose(found.measurements.cls_norms, whole.measurements.cls_norms, rtol=1e-5)
    assert sorted(store.parts(key)) == [0, 32, 40, 64, 80, 160]


def test_a_cancel_does_not_wait_for_the_model(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, progress = threading.Event(), Progress()
    monkeypatch.setattr(Encoders, "get", lambda *_: released.wait(30))
    threading.Timer(0.2, progress.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        Extraction(experiment, store, Encoders()).run(progress)
    assert time.monotonic() - began < 10  # not the 30 s of the load
    released.set()


def test_only_so_many_encoders_stay_loaded_and_threads_share_them(
    tiny_weights: Weights, minilm_encoder: Encoder
) -> None:
    encoders, got = Encoders(capacity=1), []
    threads = [threading.Thread(target=lambda: got.append(encoders.get(tiny_weights))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, got))) == 1
    encoders.get(minilm_encoder.weights)
    assert encoders.get(tiny_weights) is not got[0]


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
    before = extraction.found.weights.fingerprint
    write_model(folder, "bert")
    found = Extraction(experiment, store, Encoders(), extraction.found).run(Progress())
    assert found.weights.fingerprint != before
    expected = Encoder(found.weights, device="cpu").measure(found.sentences)
    np.testing.assert_allclose(found.measurements.cls_norms, expected.cls_norms, rtol=1e-5)


def vectors_of(experiment: Experiment, store: Store) -> Found:
    return Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())


def test_texts_that_are_no_sample_are_measured_once_and_kept(
    experiment: Experiment, tiny_encoder: Encoder, store: Store
) -> None:
    experiment = replace(experiment, sample_size=20)
    found = vectors_of(experiment, store)
    texts = [f"{one} {other}" for one, other in zip(found.sentences[:10], found.sentences[10:], strict=True)]
    measured = measure_texts(texts, experiment, found, store, Encoders(), Progress())
    expected = tiny_encoder.vectors(texts)
    np.testing.assert_allclose(measured.of(Pooling.MEAN, 1), expected.of(Pooling.MEAN, 1), atol=2e-3)
    np.testing.assert_array_equal(measured.n_tokens, expected.n_tokens)
    again = measure_texts(texts, experiment, found, store, NoEncoders(), Progress())
    np.testing.assert_array_equal(again.of(Pooling.CLS, 2), measured.of(Pooling.CLS, 2))
    sample = Extraction(experiment, store, NoEncoders(), kind=Kind.VECTORS).run(Progress())
    np.testing.assert_array_equal(sample.vectors.of(Pooling.CLS, 2), found.vectors.of(Pooling.CLS, 2))


@pytest.mark.parametrize("alteration", Alteration)
def test_altered_sentences_are_kept_beside_the_natural_ones_and_more_are_added(
    alteration: Alteration, experiment: Experiment, tiny_encoder: Encoder, store: Store
) -> None:
    experiment = replace(experiment, sample_size=80)
    found = vectors_of(experiment, store)
    progress = Steps(40, lambda: progress.cancel())
    with pytest.raises(CancelledError):
        measure_altered(80, alteration, experiment, found, store, Encoders(), progress)
    kept = measure_altered(32, alteration, experiment, found, store, NoEncoders(), Progress())
    measured = measure_altered(80, alteration, experiment, found, store, Encoders(), Progress())
    expected = tiny_encoder.altered(alteration, experiment.seed).vectors(found.sentences)
    for layer in range(3):
        np.testing.assert_allclose(measured.of(Pooling.CLS, layer), expected.of(Pooling.CLS, layer), atol=2e-2)
    np.testing.assert_array_equal(measured.of(Pooling.CLS, 2)[:32], kept.of(Pooling.CLS, 2))
    assert not np.allclose(measured.of(Pooling.CLS, 2), found.vectors.of(Pooling.CLS, 2), atol=1e-2)


def test_what_a_model_cannot_read_is_said_and_one_that_was_changed_measures_nothing_else(
    experiment: Experiment, tmp_path: Path, store: Store
) -> None:
    experiment = replace(experiment, model=str(write_model(tmp_path / "model", "mpnet")), sample_size=20)
    found, parts = vectors_of(experiment, store), set(store.root.rglob("*.safetensors"))
    with pytest.raises(AlterationError, match="position vectors alone"):
        measure_altered(20, Alteration.ONE_POSITION, experiment, found, store, Encoders(), Progress())
    assert set(store.root.rglob("*.safetensors")) == parts
    shutil.rmtree(tmp_path / "model")
    write_bert(tmp_path / "model", num_hidden_layers=3)
    with pytest.raises(ModelError, match="were changed meanwhile"):
        measure_texts(["the cat"], experiment, found, store, Encoders(), Progress())
