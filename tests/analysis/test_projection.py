from pathlib import Path

import numpy as np
import pytest
from support.tiny import random_sentences

from clsviz import analysis
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.store import Store


@pytest.fixture(scope="module")
def found(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("projection")
    (folder / "corpus.txt").write_text("\n".join(random_sentences(300, seed=5)), encoding="utf-8")
    experiment = Experiment(model=str(tiny_folder), corpus=str(folder / "corpus.txt"))
    return Extraction(experiment, Store(folder / "store"), Encoders(), kind=Kind.VECTORS).run(Progress())


def test_the_vectors_of_the_view_are_projected(found: Found) -> None:
    view = Experiment(layer=1, length_cutoff=20, pooling=Pooling.MEAN).view
    projected = analysis.layers.project(found, view)
    short = np.flatnonzero(found.vectors.n_tokens < 20)
    np.testing.assert_array_equal(projected.index, short)
    np.testing.assert_array_equal(projected.lengths, found.vectors.n_tokens[short])
    vectors = found.vectors.of(Pooling.MEAN, 1)[short].astype(float)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    assert projected.projection.shares == pytest.approx(tuple(values[:2] / values.sum()), rel=1e-5)
