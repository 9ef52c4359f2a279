from dataclasses import replace

import numpy as np
import pytest
from support.extracting import run

from clsviz.experiment import Experiment
from clsviz.jobs import GPU_RATE, Encoders, Extraction, Machine, plan
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.sources.models import find
from clsviz.store import Store


def plan_of(experiment: Experiment, store: Store) -> object:
    machine = Machine()
    machine._measured = 1e9  # so that it need not be measured
    return plan(Extraction(experiment, store, Encoders(), machine=machine), machine, Progress())


def test_a_plan_is_of_what_is_missing(experiment: Experiment, store: Store) -> None:
    before = plan_of(experiment, store)
    assert (before.n_sentences, before.n_missing, before.is_measured) == (300, 300, False)
    found, _ = run(replace(experiment, sample_size=64), store)
    after = plan_of(experiment, store)
    assert (after.n_sentences, after.n_missing, after.is_measured) == (300, 236, True)
    assert after.rate == store.rate(found.weights.fingerprint, "float32")
    assert after.seconds() == pytest.approx(236 / after.rate)
    assert after.seconds(4) == pytest.approx(after.seconds() / 4)
    run(experiment, store)
    assert plan_of(experiment, store).n_missing == 0


def test_operations_are_counted_from_weights_and_tokens(experiment: Experiment, store: Store) -> None:
    planned = plan_of(experiment, store)
    found, _ = run(experiment, store)
    tokens = found.measurements.n_tokens.sum() + 2 * 300
    assert planned.n_tokens == pytest.approx(tokens, rel=0.3)
    operations = 2 * find(experiment.model).n_parameters * planned.n_tokens
    assert planned.rate == pytest.approx(1e9 / (operations / 300), rel=1e-3)
    assert planned.gpu_seconds == pytest.approx(operations / GPU_RATE, rel=1e-3)


def test_a_model_that_is_not_here_is_planned_for_by_what_the_catalogue_says(
    experiment: Experiment, store: Store
) -> None:
    planned = plan_of(replace(experiment, model="bert-base-uncased", sample_size=ALL), store)
    assert (planned.n_sentences, planned.n_missing) == (400, 400)
    assert planned.megabytes > 400
    assert planned.norms_bytes == 400 * (4 + 1 + 4 * 14)


def test_what_is_kept_is_as_large_as_planned(experiment: Experiment, store: Store) -> None:
    planned = plan_of(experiment, store)
    found, _ = run(experiment, store)
    arrays = found.measurements.to_arrays().values()
    assert planned.norms_bytes == sum(array.nbytes for array in arrays)
    slots, width = 3 * 3 + 1, 16
    assert planned.vectors_bytes == 300 * slots * width * np.dtype(np.float16).itemsize
