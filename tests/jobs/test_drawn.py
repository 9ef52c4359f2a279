"""Results of untrained models are found where their weights are the same, whatever the version of the libraries."""

import importlib.metadata
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.extracting import run

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.jobs import REDRAWN, SHOWCASE, Encoders, Extraction, encoder_of
from clsviz.jobs.drawn import RedrawnError
from clsviz.progress import Progress
from clsviz.sources import models
from clsviz.store import Store
from clsviz.words.answer import notes

UNTRAINED = Experiment("untrained:minilm")


def test_another_version_string_finds_what_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda package: "2.99.0+elsewhere")
    monkeypatch.setattr(torch, "__version__", "2.99.0+elsewhere")
    extraction = Extraction(UNTRAINED, Store(tmp_path, shipped=SHOWCASE), Encoders())
    assert extraction.look_up(Progress()).seconds == 0
    assert extraction.found is not None
    assert extraction.found.n_shipped == 5000
    assert REDRAWN not in notes(UNTRAINED, extraction.found)


def test_what_is_shipped_is_of_the_weights_that_are_drawn_here(tmp_path: Path) -> None:
    store = Store(tmp_path, shipped=SHOWCASE)
    extraction = Extraction(UNTRAINED, store, Encoders())
    extraction.look_up(Progress())
    found = extraction.found
    assert found is not None
    measured = encoder_of(found.weights, Encoders(), store).measure(found.sentences[:8])
    np.testing.assert_allclose(measured.cls_norms, found.measurements.cls_norms[:8], rtol=1e-5)
    assert not (tmp_path / "drawn").exists()


@pytest.fixture
def untrained(experiment: Experiment) -> Experiment:
    return replace(experiment, model=f"untrained:{experiment.model}", sample_size=40)


def test_other_weights_are_measured_again_and_that_is_said(
    untrained: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Store(tmp_path / "elsewhere")
    theirs, _ = run(untrained, elsewhere)
    store = Store(tmp_path / "here", shipped=elsewhere.root)
    seed = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda number: seed(number + 1))  # what another version of PyTorch does
    shipped, _ = run(untrained, store)
    assert shipped.n_shipped == 40  # nothing was drawn so far
    assert REDRAWN not in notes(untrained, shipped)

    with pytest.raises(RedrawnError, match=REDRAWN):
        encoder_of(shipped.weights, Encoders(), store)  # for a sentence of one's own
    ours, extraction = run(untrained, store)
    assert ours.n_shipped == 0
    assert extraction.sentences_per_second is not None
    assert REDRAWN in notes(untrained, ours)
    assert ours.weights.fingerprint != theirs.weights.fingerprint
    expected = Encoder(models.find(untrained.model), device="cpu").measure(ours.sentences)
    np.testing.assert_allclose(ours.measurements.pooler_norms, expected.pooler_norms, rtol=1e-4)
    assert not np.isclose(ours.measurements.pooler_norms, theirs.measurements.pooler_norms, rtol=1e-4).all()


def test_a_sample_that_goes_on_with_other_weights_begins_again(
    untrained: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = run(untrained, store)
    seed = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda number: seed(number + 1))  # what another version of PyTorch does
    after, _ = run(replace(untrained, sample_size=80), store)
    assert len(after.measurements) == 80
    assert not np.isclose(after.measurements.pooler_norms[:40], before.measurements.pooler_norms, rtol=1e-4).all()
    assert REDRAWN in notes(untrained, after)


def test_a_damaged_note_is_no_note(untrained: Experiment, store: Store) -> None:
    before, _ = run(untrained, store)
    (note,) = (store.root / "drawn").iterdir()
    for content in ("", "[]", "{", "[" * 100_000, json.dumps({"digest": "x"})):
        note.write_text(content)
        again, _ = run(untrained, store)
        assert again.weights == before.weights
    note.unlink()
    os.mkfifo(note)
    again, _ = run(untrained, store)
    assert again.weights == before.weights
    shutil.rmtree(store.root / "drawn")
    again, extraction = run(untrained, store)
    assert extraction.sentences_per_second is None  # found again once it is known which weights they are
    assert again.weights == before.weights
