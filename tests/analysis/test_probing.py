import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.tiny import random_sentences

from clsviz import analysis
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Lengths, Pooling
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL
from clsviz.statistics.ridge import STRENGTHS
from clsviz.store import Store


@pytest.fixture(scope="module")
def both(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Found]:
    """A corpus, and another of which 50 sentences are in the first as well."""
    folder, encoders = tmp_path_factory.mktemp("travel"), Encoders()
    first, second = random_sentences(400, seed=5), random_sentences(150, seed=6, longest=12)
    found = []
    for name, sentences in (("here", first), ("there", [*second, *(text.upper() for text in first[:50])])):
        path = folder / f"{name}.txt"
        path.write_text("\n".join(sentences), encoding="utf-8")
        experiment = Experiment(model=str(tiny_folder), corpus=str(path))
        found.append(Extraction(experiment, Store(folder / "store"), encoders, kind=Kind.VECTORS).run(Progress()))
    return found[0], found[1]


VIEW = Experiment(layer=1, length_cutoff=25).view


def test_a_probe_is_read_on_the_other_corpus_without_the_sentences_that_it_knows(both: tuple[Found, Found]) -> None:
    here, there = both
    *_, found = analysis.probes.travels(here, there, VIEW)
    short = np.flatnonzero(here.vectors.n_tokens < 25)
    known = {here.sentences[i].casefold() for i in short}
    new = [i for i, n in enumerate(there.vectors.n_tokens) if n < 25 and there.sentences[i].casefold() not in known]
    assert (found.n, found.n_there) == (len(short), len(new))
    assert 100 < len(new) < 200
    pipeline = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS))
    pipeline.fit(here.vectors.of(Pooling.CLS, 2)[short], here.vectors.n_tokens[short])
    lengths = there.vectors.n_tokens[new]
    error = mean_absolute_error(lengths, pipeline.predict(there.vectors.of(Pooling.CLS, 2)[new]))
    assert found.legs[2].across_error == pytest.approx(error, rel=0.02)
    *_, profile = analysis.layers.profiles(here, VIEW)
    assert found.guess_error == profile.guess_error
    summary = analysis.probes.travel_summary(found, there)
    assert json.loads(json.dumps(summary, allow_nan=False))["layers"][0]["across_error"] is None  # [CLS] is constant
    assert summary["corpus_fingerprint"] == there.corpus.fingerprint != here.corpus.fingerprint
    *_, of_mean = analysis.probes.travels(here, there, replace(VIEW, pooling=Pooling.MEAN))
    assert of_mean.legs[0].across_error > 0


def test_the_length_is_erased_from_the_vectors_of_the_view(both: tuple[Found, Found]) -> None:
    *_, found = analysis.probes.erasures(both[0], VIEW)
    *_, profile = analysis.layers.profiles(both[0], VIEW)
    summary = json.loads(json.dumps(analysis.probes.erasure_summary(found), allow_nan=False))
    reading = profile.line(Pooling.CLS, "vector")[1]  # type: ignore[arg-type]
    assert reading is not None
    assert summary[BEFORE]["linear_fold_r_squared"] == pytest.approx(reading.fold_r_squared)
    assert abs(summary[AFTER]["linear_r_squared"]) < 0.1 < 0.5 < summary[BEFORE]["linear_r_squared"]
    assert summary[CONTROL.replace(" ", "_")]["linear_r_squared"] > 0.5
    assert summary["n_used"] == profile.n
    *_, control = analysis.probes.erasures(both[0], replace(VIEW, lengths=Lengths.SHUFFLED))
    assert abs(np.mean(control.left[BEFORE].linear)) < 0.2
