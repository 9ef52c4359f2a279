"""What comes with clsviz is what anybody would measure."""

import datetime
from pathlib import Path

import numpy as np
from support.waiting import Somebody, wait_for

from clsviz import words
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.jobs import SHOWCASE, Encoders, Extraction, Found, JobQueue, State, origin
from clsviz.progress import Progress
from clsviz.sources import models
from clsviz.store import Store


def looked_up(store: Store, **settings: int) -> tuple[Extraction, Found]:
    extraction = Extraction(Experiment(**settings), store, Encoders())
    extraction.look_up(Progress())
    assert extraction.found is not None
    return extraction, extraction.found


def test_the_default_experiment_needs_no_model(tmp_path: Path) -> None:
    extraction, found = looked_up(Store(tmp_path, shipped=SHOWCASE))
    assert extraction.look_up(Progress()).seconds == 0
    assert (found.n_missing, found.n_shipped) == (0, 5000)
    assert not list(tmp_path.iterdir())
    assert found.n_shipped == len(found.measurements)
    _, fewer = looked_up(Store(tmp_path, shipped=SHOWCASE), sample_size=700)
    assert (fewer.n_missing, fewer.n_shipped) == (0, 700)
    _, more = looked_up(Store(tmp_path, shipped=SHOWCASE), sample_size=6000)
    assert (more.n_missing, more.n_shipped) == (1000, 5000)
    _, other = looked_up(Store(tmp_path, shipped=SHOWCASE), seed=1)
    assert (other.n_missing, other.n_shipped) == (5000, 0)


def test_measured_anew_the_norms_are_the_same(tmp_path: Path, minilm_encoder: Encoder) -> None:
    """In other batches and perhaps on another machine, so not to the last bit."""
    _, found = looked_up(Store(tmp_path, shipped=SHOWCASE))
    index = np.random.default_rng().choice(5000, 256, replace=False)
    measured = minilm_encoder.measure([found.sentences[i] for i in index])
    np.testing.assert_array_equal(measured.n_tokens, found.measurements.n_tokens[index])
    np.testing.assert_array_equal(measured.truncated, found.measurements.truncated[index])
    np.testing.assert_allclose(measured.cls_norms, found.measurements.cls_norms[index], rtol=2e-5)
    np.testing.assert_allclose(measured.pooler_norms, found.measurements.pooler_norms[index], rtol=2e-5)


def test_own_measurements_come_before_shipped_ones(tmp_path: Path) -> None:
    store = Store(tmp_path / "own", shipped=SHOWCASE)
    own = Extraction(Experiment(sample_size=32), store.own, Encoders()).run(Progress())
    assert own.n_shipped == 0
    _, found = looked_up(store, sample_size=100)
    assert (found.n_missing, found.n_shipped) == (0, 68)
    assert found.key != looked_up(Store(tmp_path / "empty", shipped=SHOWCASE), sample_size=100)[1].key


def test_a_damaged_shipped_part_is_measured_here_and_left_alone(tmp_path: Path) -> None:
    shipped = Store(tmp_path / "shipped")
    experiment = Experiment(models.find("minilm").pinned, sample_size=40)
    Extraction(experiment, shipped, Encoders()).run(Progress())
    first, last = sorted(shipped.root.rglob("*.safetensors"))
    last.write_bytes(last.read_bytes()[:-1])
    store = Store(tmp_path / "own", shipped=shipped.root)
    extraction = Extraction(experiment, store, Encoders())
    found = extraction.run(Progress())
    assert (found.n_missing, found.n_shipped) == (0, 32)
    assert first.exists()
    assert last.exists()


def test_measuring_here_replaces_what_came_along(tmp_path: Path) -> None:
    jobs = JobQueue(Store(tmp_path, shipped=SHOWCASE))
    experiment = Experiment(sample_size=40)

    def ended(*, here: bool = False) -> Found:
        job = jobs.open(experiment, here=here, start=True)
        job.watch(Somebody())
        wait_for(lambda: not job.state.is_active)
        assert job.state is State.DONE
        assert job.work.found is not None
        return job.work.found

    try:
        shipped, here = ended(), ended(here=True)
        assert (shipped.n_shipped, here.n_shipped) == (40, 0)
        np.testing.assert_allclose(here.measurements.cls_norms, shipped.measurements.cls_norms, rtol=2e-5)
        assert ended() is here
    finally:
        jobs.close()


def test_where_and_when_is_said() -> None:
    made = origin()
    day = datetime.date.fromisoformat(made.day)
    assert day >= datetime.date(2026, 11, 1)
    text = words.shipped(5000, 5000)
    assert text.startswith(f"These norms come with clsviz: measured on {made.day} with torch {made.torch} on ")
    assert words.shipped(5000, 6000).startswith("The first 5,000 norms come with clsviz")
