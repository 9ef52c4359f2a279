"""What a run takes, told before it starts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.extracting import run
from support.tiny import random_sentences

from clsviz.experiment import Experiment
from clsviz.jobs import GPU_RATE, LOAD_SECONDS, Encoders, Extraction, Machine, Plan, plan
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.sources import catalogue, models
from clsviz.store import Store


def plan_of(experiment: Experiment, store: Store) -> Plan:
    machine = Machine()
    machine._measured = 1e9  # so that it need not be measured
    return plan(Extraction(experiment, store, Encoders(), machine=machine), machine, Progress())


def test_the_cost_follows_what_was_measured_here_and_is_nothing_when_all_is_stored(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(encoders: Encoders | None = None) -> float:
        return Extraction(experiment, store, encoders or Encoders()).look_up(Progress()).seconds

    assert seconds() > 0
    run(replace(experiment, sample_size=100), store)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "rate", lambda self, model, precision, kind: 2.0 if precision == "float32" else None)
        assert seconds() == pytest.approx(200 / 2.0 + LOAD_SECONDS)
        encoders = Encoders()
        encoders.get(models.find(experiment.model))
        assert seconds(encoders) == pytest.approx(200 / 2.0)
    run(experiment, store)
    assert seconds() == 0


def test_with_the_model_in_memory_a_few_of_these_sentences_tell_how_long_all_take(
    tmp_path: Path, tiny_folder: Path
) -> None:
    short, long = (tmp_path / f"{n_words}.txt" for n_words in (2, 300))
    words = " ".join(random_sentences(40, seed=2)).split()
    for path, n_words in ((short, 2), (long, 300)):
        lines = (" ".join(words[at % 100 : at % 100 + n_words]) + f" {at}" for at in range(6000))
        path.write_text("\n".join(lines), encoding="utf-8")
    store, encoders = Store(tmp_path / "store"), Encoders()
    encoders.get(models.find(str(tiny_folder)))

    def seconds(path: Path, encoders: Encoders) -> float:
        experiment = Experiment(model=str(tiny_folder), corpus=str(path), sample_size=5000)
        return Extraction(experiment, store, encoders).look_up(Progress()).seconds

    run(Experiment(model=str(tiny_folder), corpus=str(short), sample_size=64), store)
    without = seconds(short, Encoders()) / seconds(long, Encoders())
    assert without == pytest.approx(1, rel=0.1)  # by the speed of the 64, whatever their length
    # The least of some looks, as what else the machine does can only make a trial slower.
    of_long, of_short = (min(seconds(path, encoders) for _ in range(3)) for path in (long, short))
    assert of_long > 1.5 * of_short


def test_what_is_not_here_costs_a_download_or_its_building(
    experiment: Experiment, store: Store, tiny_folder: Path
) -> None:
    cost = Extraction(Experiment(model="bert-base-uncased"), store, Encoders()).look_up(Progress())
    assert cost.megabytes == 441
    assert 60 < cost.seconds < 3600
    extraction = Extraction(Experiment(model=str(tiny_folder), corpus="package-docs"), store, Encoders())
    assert extraction.look_up(Progress()).seconds > catalogue.CORPORA["package-docs"].build_seconds
    assert extraction.found is None
    assert not store.corpora.exists()
    planned = plan_of(replace(experiment, model="bert-base-uncased", sample_size=ALL), store)
    assert (planned.n_sentences, planned.n_missing) == (400, 400)
    assert planned.megabytes > 400
    assert planned.norms_bytes == 400 * (4 + 1 + 4 * 14)


def test_a_plan_is_of_what_is_missing_and_counts_operations_from_weights_and_tokens(
    experiment: Experiment, store: Store
) -> None:
    before = plan_of(experiment, store)
    assert (before.n_sentences, before.n_missing, before.is_measured) == (300, 300, False)
    found, _ = run(replace(experiment, sample_size=64), store)
    after = plan_of(experiment, store)
    assert (after.n_sentences, after.n_missing, after.is_measured) == (300, 236, True)
    assert after.rate == store.rate(found.weights.fingerprint, "float32")
    assert (after.seconds(), after.seconds(4)) == pytest.approx((236 / after.rate, 59 / after.rate))
    found, _ = run(experiment, store)
    assert plan_of(experiment, store).n_missing == 0
    assert before.n_tokens == pytest.approx(found.measurements.n_tokens.sum() + 2 * 300, rel=0.3)
    operations = 2 * models.find(experiment.model).n_parameters * before.n_tokens
    assert before.rate == pytest.approx(1e9 / (operations / 300), rel=1e-3)
    assert before.gpu_seconds == pytest.approx(operations / GPU_RATE, rel=1e-3)
    assert before.norms_bytes == sum(array.nbytes for array in found.measurements.to_arrays().values())
    slots, width = 3 * 3 + 1, 16
    assert before.vectors_bytes == 300 * slots * width * np.dtype(np.float16).itemsize
