import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.tiny import random_sentences

from clsviz import analysis, words
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Lengths, Pooling
from clsviz.statistics.probes import Profile, Readout
from clsviz.statistics.ridge import STRENGTHS
from clsviz.store import Store


@pytest.fixture(scope="module")
def experiment(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    path = tmp_path_factory.mktemp("corpus") / "sentences.txt"
    path.write_text("\n".join(random_sentences(700, seed=4)), encoding="utf-8")
    return Experiment(model=str(tiny_folder), corpus=str(path), sample_size=700, length_cutoff=28)


@pytest.fixture(scope="module")
def found(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Found:
    store = Store(tmp_path_factory.mktemp("store"))
    return Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())


@pytest.fixture(scope="module")
def profile(found: Found, experiment: Experiment) -> Profile:
    *_, profile = analysis.layers.profiles(found, experiment.view)
    return profile


def test_the_profile_is_that_of_pipelines_written_out(found: Found, experiment: Experiment, profile: Profile) -> None:
    used = np.flatnonzero(found.vectors.n_tokens < 28)
    lengths = found.vectors.n_tokens[used]
    assert profile.n == len(used) < 700
    assert profile.is_complete
    for layer in (1, 2):
        norms = found.vectors.norms(Pooling.CLS, layer)[used]
        reading = profile.get(Pooling.CLS, layer, Readout.NORM)
        assert reading is not None
        assert reading.r_squared == pytest.approx(stats.pearsonr(lengths, norms).statistic ** 2)
        for pooling in (Pooling.CLS, Pooling.MEAN, Pooling.MAX):
            pipeline = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS))
            scores = cross_val_score(pipeline, found.vectors.of(pooling, layer)[used], lengths, cv=5, scoring="r2")
            probed = profile.get(pooling, layer, Readout.VECTOR)
            assert probed is not None
            assert probed.r_squared == pytest.approx(scores.mean(), abs=0.03)  # of other folds
            assert probed.predictions is not None
            assert r2_score(lengths, probed.predictions) == pytest.approx(probed.r_squared, abs=0.03)


def test_shuffled_lengths_leave_nothing(found: Found, experiment: Experiment, profile: Profile) -> None:
    assert profile.best is not None
    assert profile.best.r_squared > 0.7
    left = analysis.layers.shuffled_probe(found, experiment.view, profile)
    assert left is not None
    assert left.r_squared < 0.05
    assert left.error == pytest.approx(profile.guess_error, rel=0.1)
    shuffled = Experiment(**{**vars(experiment), "lengths": Lengths.SHUFFLED})
    *_, control = analysis.layers.profiles(found, shuffled)
    assert max(reading.r_squared for reading in control.readings.values() if reading.r_squared is not None) < 0.05


def test_every_probe_has_its_error_and_its_folds_ready_for_json(
    found: Found, experiment: Experiment, profile: Profile
) -> None:
    result = analysis.layers.summary(found, experiment.view, profile)
    json.dumps(result, allow_nan=False)
    last = result["layers"][2]  # type: ignore[index]
    for name in ("probe", "direction", "mean_pool_probe", "max_pool_probe"):
        assert np.mean(last[f"{name}_fold_r_squared"]) == pytest.approx(last[f"{name}_r_squared"])
        assert len(last[f"{name}_fold_r_squared"]) == 5
    lengths = found.vectors.n_tokens[found.vectors.n_tokens < 28]
    assert result["guess_error"] == pytest.approx(np.abs(lengths - lengths.mean()).mean(), rel=0.01)
    assert last["probe_error"] < result["guess_error"]
    assert result["shuffled_probe_error"] == pytest.approx(result["guess_error"], rel=0.1)
    assert len(result["shuffled_probe_fold_r_squared"]) == len(result["pooler_probe_fold_r_squared"]) == 5  # type: ignore[arg-type]
    norms = found.vectors.norms(Pooling.CLS, 2)[found.vectors.n_tokens < 28]
    line = np.polyfit(norms, lengths, 1)
    assert last["norm_error"] == pytest.approx(np.abs(np.polyval(line, norms) - lengths).mean(), rel=0.03)
    nothing = result["layers"][0]  # type: ignore[index]
    assert nothing["probe_fold_r_squared"] == []
    assert nothing["probe_error"] is None


def test_sentlen_is_that_of_a_pipeline_written_out(found: Found, experiment: Experiment) -> None:
    experiment = Experiment(**{**vars(experiment), "length_cutoff": 80, "layer": 1})
    result = analysis.layers.classify(found, experiment.view)
    assert result.problem == ""
    assert result.vector is not None
    assert result.norm is not None
    n_words = [len(sentence.split()) for sentence in found.sentences]
    bins = [(5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28)]
    counts = [sum(low <= n <= high for n in n_words) for low, high in bins]
    assert result.vector.n_train + result.vector.n_dev + result.vector.n_test == pytest.approx(6 * min(counts), abs=12)
    # Another split of the same: the accuracy is about that of one pipeline with the strength that was chosen.
    labels = np.array([next((i for i, (low, high) in enumerate(bins) if low <= n <= high), -1) for n in n_words])
    used = np.concatenate([np.flatnonzero(labels == label)[: min(counts)] for label in range(6)])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=result.vector.strength, max_iter=2000))
    scores = cross_val_score(pipeline, found.vectors.of(Pooling.CLS, 1)[used], labels[used], cv=5)
    low, high = result.vector.interval
    assert low - 0.1 < scores.mean() < high + 0.1
    assert low > 1 / 6
    assert len(result.vector_draws) == len(result.norm_draws) == 5
    assert result.vector_draws[0] == result.vector.accuracy
    assert len(set(result.vector_draws)) > 1
    assert min(result.vector_draws) - 0.05 < scores.mean() < max(result.vector_draws) + 0.05
    assert "worse than guessing" not in words.sentlen.verdict(result)
    shuffled = analysis.layers.classify(found, Experiment(**{**vars(experiment), "lengths": Lengths.SHUFFLED}))
    assert shuffled.vector is not None
    assert shuffled.vector.interval[0] < 1 / 6
    assert np.mean(shuffled.vector_draws) == pytest.approx(1 / 6, abs=0.06)
    assert "than guessing" in (said := words.sentlen.verdict(shuffled)) or "from guessing" in said


def test_too_few_sentences_explain_themselves(found: Found, experiment: Experiment) -> None:
    few = analysis.layers.head(found, 30)
    assert analysis.layers.classify(few, experiment.view).problem.endswith("Not all of the sample is measured yet.")
    *_, profile = analysis.layers.profiles(analysis.layers.head(found, 4), experiment.view)
    assert profile.is_complete
    assert profile.best is None
    result = analysis.layers.summary(analysis.layers.head(found, 4), experiment.view, profile)
    assert result["shuffled_probe_r_squared"] is None
    assert result["sentlen_accuracy"] is None
    *_, nothing = analysis.layers.profiles(analysis.layers.head(found, 0), experiment.view)
    assert nothing.n == 0
    assert all(reading.problem for reading in nothing.readings.values())


def test_what_carries_the_norm_is_told_of_every_vector(found: Found, experiment: Experiment) -> None:
    for pooling in Pooling:
        carriers = analysis.layers.norm_breakdown(found, Experiment(**{**vars(experiment), "pooling": pooling}))
        assert carriers.by_dimension is not None
        used = np.flatnonzero(found.vectors.n_tokens < 28)
        vectors = found.vectors.of(pooling, None)[used].astype(float)
        shares = (vectors**2).sum(0) / (vectors**2).sum()
        np.testing.assert_allclose(carriers.by_dimension.shares, shares, rtol=1e-6)
        assert (carriers.layer_norm is None) == (pooling is not Pooling.CLS)
        assert bool(carriers.layer_norm_problem) == (pooling is not Pooling.CLS)
