"""The tiny model's vectors of 280 sentences, of 1 to 40 words, some of them over the cutoff."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clsviz.jobs.measure import Workspace, measure
from clsviz.jobs.worker import InProcess
from clsviz.progress import silent
from clsviz.settings import Experiment
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Measured, Prepared, draw
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results


def workspace_of(store: Path | Results) -> Workspace:
    """A workspace without what comes with clsviz, whose model runs in this process."""
    results = store if isinstance(store, Results) else Results(store)
    return Workspace(results.root, Measurements(results.root), results, InProcess())


@pytest.fixture(scope="session")
def experiment(corpus_file: Path) -> Experiment:
    return Experiment(model="tiny", corpus=str(corpus_file), sample_size=280, length_cutoff=30)


@pytest.fixture(scope="session")
def vectors_of(
    experiment: Experiment, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Weights], Measured]:
    root = tmp_path_factory.mktemp("vectors")

    def vectors(weights: Weights) -> Measured:
        prepared = Prepared(weights, draw(experiment, root))
        return measure(prepared, experiment, "vectors", workspace_of(root), silent)

    return vectors


@pytest.fixture(scope="session")
def measured(vectors_of: Callable[[Weights], Measured], tiny_weights: Weights) -> Measured:
    return vectors_of(tiny_weights)


@pytest.fixture(scope="session")
def n_tokens(measured: Measured) -> np.ndarray:
    return np.array([len(text.split()) for text in measured.sample.sentences()])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("results"))
