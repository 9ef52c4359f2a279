import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clsviz.errors import ModelError, SettingError
from clsviz.jobs import ray
from clsviz.jobs.measure import key_of
from clsviz.jobs.worker import IN_PROCESS
from clsviz.measurements import Norms
from clsviz.progress import silent
from clsviz.settings import Experiment
from clsviz.sources import models, sampling
from clsviz.sources.sampling import Prepared
from clsviz.store.measurements import Measurements


def on_a_cluster(test):
    """Marks a test that starts Ray on this machine."""
    marks = pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore")
    for mark in (*marks, pytest.mark.slow, pytest.mark.enable_socket):
        test = mark(test)
    return test


@pytest.fixture
def prepared(tiny_model: Path, corpus_file: Path, tmp_path: Path) -> Prepared:
    experiment = Experiment(corpus=str(corpus_file), sample_size="all")
    return Prepared(models.find(str(tiny_model)), sampling.draw(experiment, tmp_path))


@pytest.mark.parametrize("address", ["127.0.0.1:9", "nowhere:port", "nowhere"])
def test_a_cluster_that_does_not_answer_is_one_sentence(address, prepared, tmp_path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(SettingError, match=f"There is no Ray cluster at “{address}”"):
        ray.measure(prepared, Experiment(), "norms", Measurements(tmp_path), address, silent)


def test_ray_is_optional(prepared: Prepared, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingError, match=r"pip install 'ray\[data\]'"):
        ray.measure(prepared, Experiment(), "norms", Measurements(tmp_path), "local", silent)


@on_a_cluster
def test_a_cluster_measures_what_is_missing_as_one_process_does(
    prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(ray, "TASK", 64)
    measurements, key = Measurements(tmp_path), key_of(prepared, Experiment(), "norms")
    alone = IN_PROCESS.run(prepared.weights, "exact", prepared.sample.sentences(), "norms")
    measurements.append(key, 100, {name: array[100:150] for name, array in alone.items()})
    seen: list[int] = []
    ray.measure(
        prepared, Experiment(), "norms", measurements, "local", lambda done, *_: seen.append(done)
    )
    assert sorted(set(np.diff(seen))) == [22, 36, 64]
    norms = Norms.from_slices(measurements.read(key, 300))
    np.testing.assert_allclose(norms.cls, alone["cls"], rtol=1e-5)
    np.testing.assert_array_equal(norms.n_tokens, alone["n_tokens"])


@on_a_cluster
def test_another_model_on_a_machine_is_one_sentence(prepared: Prepared, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    other = replace(prepared, weights=replace(prepared.weights, fingerprint="0" * 16))
    with pytest.raises(ModelError, match="another model on one of the machines"):
        ray.measure(other, Experiment(), "norms", Measurements(tmp_path), "local", silent)
