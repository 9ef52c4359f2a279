"""Vectors that were measured elsewhere, of which all but they themselves came along."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.waiting import Somebody, wait_for

from clsviz.errors import StoreError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found, JobQueue, MeasuringJob, State
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.store import Store, read_outline, write_outline


def ended(job: MeasuringJob) -> MeasuringJob:
    job.watch(Somebody())
    wait_for(lambda: not job.state.is_active)
    return job


@pytest.fixture(scope="module")
def experiment(tiny_folder: Path, text_file: Path) -> Experiment:
    return Experiment(str(tiny_folder), str(text_file), sample_size=300)


@pytest.fixture(scope="module")
def shipped(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found]:
    """A folder with the outline of 300 sentences, and what was measured of them."""
    extraction = Extraction(experiment, Store(tmp_path_factory.mktemp("elsewhere")), Encoders(), kind=Kind.VECTORS)
    found = extraction.run(Progress())
    folder = tmp_path_factory.mktemp("shipped")
    write_outline(folder, extraction.key_of(found), found.vectors)
    return folder, found


def looked_up(experiment: Experiment, store: Store, *, outlines: bool = True) -> tuple[Extraction, float]:
    extraction = Extraction(experiment, store, Encoders(), kind=Kind.VECTORS, outlines=outlines)
    return extraction, extraction.look_up(Progress()).seconds


def test_all_but_the_vectors_is_there(shipped: tuple[Path, Found], experiment: Experiment, tmp_path: Path) -> None:
    folder, measured = shipped
    extraction, seconds = looked_up(experiment, Store(tmp_path, shipped=folder))
    found = extraction.found
    assert seconds == 0
    assert (found.is_outline, found.n_missing, found.n_shipped) == (True, 0, 300)
    for pooling in Pooling:
        for layer in (None,) if pooling is Pooling.POOLER else range(measured.vectors.n_layers + 1):
            expected = np.linalg.norm(measured.vectors.of(pooling, layer), axis=1)
            np.testing.assert_allclose(found.vectors.norms(pooling, layer), expected, rtol=1e-3)
            np.testing.assert_array_equal(found.vectors.norms(pooling, layer), measured.vectors.norms(pooling, layer))
            with pytest.raises(StoreError, match="only their norms"):
                found.vectors.of(pooling, layer)
    np.testing.assert_array_equal(found.vectors.layer_norms, measured.vectors.layer_norms)
    np.testing.assert_array_equal(found.vectors.n_tokens, measured.vectors.n_tokens)
    assert found.vectors.width == measured.vectors.width
    assert found.vectors.head(100).is_outline
    assert not list(tmp_path.glob("vectors-*"))


def test_it_is_only_taken_where_it_is_asked_for_and_is_enough(
    shipped: tuple[Path, Found], experiment: Experiment, tmp_path: Path
) -> None:
    store = Store(tmp_path, shipped=shipped[0])
    fewer, seconds = looked_up(replace(experiment, sample_size=100), store)
    assert (seconds, len(fewer.found.measurements), fewer.found.n_shipped) == (0, 100, 100)
    for others, outlines in (
        (replace(experiment, sample_size=301), True),
        (replace(experiment, seed=1), True),
        (experiment, False),
    ):
        extraction, seconds = looked_up(others, store, outlines=outlines)
        assert seconds > 0
        assert not extraction.found.is_outline


def test_vectors_measured_here_come_before_it(
    shipped: tuple[Path, Found], experiment: Experiment, tmp_path: Path
) -> None:
    store = Store(tmp_path, shipped=shipped[0])
    Extraction(experiment, store.own, Encoders(), kind=Kind.VECTORS).run(Progress())
    extraction, _ = looked_up(experiment, store)
    assert (extraction.found.is_outline, extraction.found.n_shipped) == (False, 0)


def test_one_of_something_else_does_not_count(shipped: tuple[Path, Found], experiment: Experiment) -> None:
    folder, found = shipped
    key = Extraction(experiment, Store(folder), Encoders(), kind=Kind.VECTORS).key_of(found)
    assert read_outline(folder, key) is not None
    assert read_outline(folder, replace(key, seed=1)) is None
    path = folder / key.folder_name / "outline.safetensors"
    other = folder / replace(key, seed=1).folder_name
    other.mkdir()
    (other / path.name).write_bytes(path.read_bytes())
    assert read_outline(folder, replace(key, seed=1)) is None
    (other / path.name).write_bytes(path.read_bytes()[:100])
    assert read_outline(folder, replace(key, seed=1)) is None


def test_measuring_here_leaves_it_to_others_until_it_is_done(
    shipped: tuple[Path, Found], experiment: Experiment, tmp_path: Path
) -> None:
    jobs = JobQueue(Store(tmp_path, shipped=shipped[0]))
    try:
        outline = ended(jobs.open(experiment, Kind.VECTORS))
        assert outline.work.found.is_outline
        here = jobs.open(experiment, Kind.VECTORS, here=True, hold=True)
        assert here is not outline
        assert jobs.open(experiment, Kind.VECTORS, hold=True) is outline
        assert jobs.open(experiment, Kind.VECTORS, here=True, start=True) is here
        assert ended(here).state is State.DONE
        assert (here.work.found.is_outline, here.work.found.n_missing) == (False, 0)
        assert jobs.open(experiment, Kind.VECTORS) is here
    finally:
        jobs.close()
