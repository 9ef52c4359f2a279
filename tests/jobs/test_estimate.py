from pathlib import Path

import pytest
from support.extracting import run

from clsviz import jobs
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.progress import Progress
from clsviz.sources import catalogue, models
from clsviz.store import Store


def test_the_cost_is_nothing_when_all_is_stored(experiment: Experiment, store: Store) -> None:
    fresh = Extraction(experiment, store, Encoders())
    assert fresh.look_up(Progress()).seconds > 0
    run(experiment, store)
    assert Extraction(experiment, store, Encoders()).look_up(Progress()).seconds == 0


def test_the_cost_follows_what_was_measured_here(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Experiment(experiment.model, experiment.corpus, sample_size=100), store)
    monkeypatch.setattr(Store, "rate", lambda self, model, precision, kind: 2.0 if precision == "float32" else None)
    cost = Extraction(experiment, store, Encoders()).look_up(Progress())
    assert cost.seconds == pytest.approx(200 / 2.0 + jobs.LOAD_SECONDS)
    encoders = Encoders()
    encoders.get(models.find(experiment.model))
    assert Extraction(experiment, store, encoders).look_up(Progress()).seconds == pytest.approx(200 / 2.0)


def test_a_model_that_is_not_here_costs_a_download(store: Store) -> None:
    cost = Extraction(Experiment(model="bert-base-uncased"), store, Encoders()).look_up(Progress())
    assert cost.megabytes == 441
    assert 60 < cost.seconds < 3600


def test_a_corpus_that_is_not_built_costs_its_building(store: Store, tiny_folder: Path) -> None:
    looked_up = Extraction(Experiment(model=str(tiny_folder), corpus="package-docs"), store, Encoders())
    assert looked_up.look_up(Progress()).seconds > catalogue.CORPORA["package-docs"].build_seconds
    assert looked_up.found is None
    assert not store.corpora.exists()
