import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from support.extracting import Steps, equal, run
from support.processor import needs_bfloat16

from clsviz import words
from clsviz.encoder import Encoder
from clsviz.errors import CancelledError
from clsviz.experiment import Experiment
from clsviz.jobs import AUDIT_SIZE, Encoders, Extraction, Found
from clsviz.progress import Progress
from clsviz.settings import Precision
from clsviz.sources.models import Weights
from clsviz.store import Store


@needs_bfloat16
def test_the_fast_precision_is_checked_before_any_of_it_is_shown(experiment: Experiment, store: Store) -> None:
    fast = Extraction(replace(experiment, precision=Precision.FAST), store, Encoders())
    seen: list[tuple[int, int]] = []
    progress = Steps(
        at=0,
        action=lambda: fast.found and seen.append((len(fast.found.audit.measurements), len(fast.found.measurements))),
    )
    found = fast.run(progress)
    assert found is fast.found
    assert found.n_missing == 0
    assert all(n_exact == AUDIT_SIZE for n_exact, n_fast in seen if n_fast)
    exact, _ = run(experiment, Store(store.root / "other"))
    assert equal(found.audit.measurements, exact.measurements.head(AUDIT_SIZE))
    np.testing.assert_allclose(found.measurements.cls_norms, exact.measurements.cls_norms, rtol=0.05)
    assert not equal(found.measurements, exact.measurements)


@needs_bfloat16
def test_what_was_measured_exactly_is_not_measured_again_to_check(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(experiment, store)
    loaded: list[Precision] = []
    get = Encoders.get
    monkeypatch.setattr(
        Encoders,
        "get",
        lambda self, weights, precision, **how: loaded.append(precision) or get(self, weights, precision, **how),
    )
    fast, _ = run(replace(experiment, precision=Precision.FAST), store)
    assert loaded == [Precision.FAST]
    assert len(fast.audit.measurements) == AUDIT_SIZE
    again = Extraction(replace(experiment, precision=Precision.FAST), store, Encoders())
    assert again.look_up(Progress()).seconds == 0


@needs_bfloat16
def test_a_check_that_is_lost_is_made_again(experiment: Experiment, store: Store) -> None:
    fast = replace(experiment, precision=Precision.FAST)
    whole, _ = run(fast, store)
    exact_key = Extraction(experiment, store, Encoders()).key_of(Found(whole.weights, whole.sample))
    for part in store.parts(exact_key).values():
        part.path.unlink()
    assert Extraction(fast, store, Encoders()).look_up(Progress()).seconds > 0
    mended, _ = run(fast, store)
    assert equal(mended.audit.measurements, whole.audit.measurements)
    assert equal(mended.measurements, whole.measurements)


@needs_bfloat16
def test_a_cancel_does_not_wait_for_the_model_that_checks(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    get = Encoders.get

    def slow(self: Encoders, weights: Weights, precision: Precision) -> Encoder:
        if precision is Precision.EXACT:
            released.wait(30)
        return get(self, weights, precision)

    monkeypatch.setattr(Encoders, "get", slow)
    progress = Progress()
    threading.Timer(0.2, progress.cancel).start()
    began = time.monotonic()
    with pytest.raises(CancelledError):
        Extraction(replace(experiment, precision=Precision.FAST), store, Encoders()).run(progress)
    assert time.monotonic() - began < 10  # not the 30 s of the load
    released.set()


@needs_bfloat16
def test_where_one_encoder_fits_each_is_loaded_once(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Precision] = []
    load = Encoder.__init__

    def noted(self: Encoder, weights: Weights, precision: Precision) -> None:
        loaded.append(precision)
        load(self, weights, precision)

    monkeypatch.setattr(Encoder, "__init__", noted)
    encoders = Encoders(capacity=1)
    found = Extraction(replace(experiment, precision=Precision.FAST), store, encoders).run(Progress())
    encoders.get(found.weights, Precision.FAST)
    assert loaded == [Precision.EXACT, Precision.FAST]


@needs_bfloat16
def test_damage_to_the_check_is_told_and_its_speed_is_not_the_fast_one(experiment: Experiment, store: Store) -> None:
    fast = replace(experiment, precision=Precision.FAST)
    whole, first = run(fast, store)
    assert first.sentences_per_second > 0
    exact = store.parts(first.key_of(whole.audit))
    exact[64].path.write_bytes(b"")
    mended, second = run(fast, store)
    assert second.sentences_per_second is None
    assert words.notes(fast, mended) == ["A damaged part of the store was discarded; its sentences are measured again."]
    assert equal(mended.audit.measurements, whole.audit.measurements)
