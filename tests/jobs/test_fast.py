"""The fast precision, whose error is known before any of it is shown."""

from dataclasses import replace

import numpy as np
import pytest
from support.extracting import Steps, equal, run
from support.processor import needs_bfloat16

from clsviz import words
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.jobs import AUDIT_SIZE, Encoders, Extraction, Found
from clsviz.progress import Progress
from clsviz.settings import Precision
from clsviz.sources.models import Weights
from clsviz.store import Store

pytestmark = needs_bfloat16


@pytest.fixture
def fast(experiment: Experiment) -> Experiment:
    return replace(experiment, precision=Precision.FAST)


def test_it_is_checked_before_any_of_it_is_shown_and_each_encoder_is_loaded_once(
    fast: Experiment, experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, seen = [], []
    load = Encoder.__init__

    def noted(self: Encoder, weights: Weights, precision: Precision) -> None:
        loaded.append(precision)
        load(self, weights, precision)

    monkeypatch.setattr(Encoder, "__init__", noted)
    extraction = Extraction(fast, store, Encoders(capacity=1))

    def look() -> None:
        if extraction.found:
            seen.append((len(extraction.found.audit.measurements), len(extraction.found.measurements)))

    found = extraction.run(Steps(at=0, action=look))
    assert loaded == [Precision.EXACT, Precision.FAST]
    assert found is extraction.found
    assert found.n_missing == 0
    assert any(n_fast for _, n_fast in seen)
    assert all(n_exact == AUDIT_SIZE for n_exact, n_fast in seen if n_fast)
    exact, _ = run(experiment, Store(store.root / "other"))
    assert equal(found.audit.measurements, exact.measurements.head(AUDIT_SIZE))
    np.testing.assert_allclose(found.measurements.cls_norms, exact.measurements.cls_norms, rtol=0.05)
    assert not equal(found.measurements, exact.measurements)


def test_what_was_measured_exactly_is_not_measured_again_to_check(
    fast: Experiment, experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(experiment, store)
    loaded: list[Precision] = []
    get = Encoders.get
    monkeypatch.setattr(
        Encoders, "get", lambda self, weights, precision: loaded.append(precision) or get(self, weights, precision)
    )
    found, _ = run(fast, store)
    assert loaded == [Precision.FAST]
    assert len(found.audit.measurements) == AUDIT_SIZE
    assert Extraction(fast, store, Encoders()).look_up(Progress()).seconds == 0


def test_a_check_that_is_lost_or_damaged_is_made_again(fast: Experiment, experiment: Experiment, store: Store) -> None:
    whole, first = run(fast, store)
    assert first.sentences_per_second > 0
    exact_key = Extraction(experiment, store, Encoders()).key_of(Found(whole.weights, whole.sample))
    store.parts(exact_key)[64].path.write_bytes(b"")
    mended, second = run(fast, store)
    assert second.sentences_per_second is None  # that of the check is not the fast one
    assert words.notes(fast, mended) == ["A damaged part of the store was discarded; its sentences are measured again."]
    assert equal(mended.audit.measurements, whole.audit.measurements)
    for part in store.parts(exact_key).values():
        part.path.unlink()
    assert Extraction(fast, store, Encoders()).look_up(Progress()).seconds > 0
    mended, _ = run(fast, store)
    assert equal(mended.audit.measurements, whole.audit.measurements)
    assert equal(mended.measurements, whole.measurements)
