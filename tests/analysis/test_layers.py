"""What norms and vectors say about length after every layer."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tiny import random_sentences

from clsviz import analysis, words
from clsviz.analysis.layers import MOST_DRAWN, every_layer, with_selected
from clsviz.experiment import Experiment, View
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind, Measurements
from clsviz.progress import Progress
from clsviz.settings import Lengths, Pooling, Precision
from clsviz.sources.sampling import Sample
from clsviz.statistics.probes import Profile
from clsviz.store import Store


def measured(n: int = 900) -> Measurements:
    """Made up: constant embeddings, then norms that follow length, then norms that do not; every tenth is truncated."""
    random = np.random.default_rng(3)
    lengths = random.integers(2, 60, n).astype(np.int32)
    noise = random.normal(size=(2, n))
    norms = np.stack([np.full(n, 7.25), 8 + 0.05 * lengths + noise[0], 1e3 + 1e-2 * noise[1]], axis=1)
    return Measurements(lengths, np.arange(n) % 10 == 0, norms.astype(np.float32), np.empty((n, 0), np.float32))


def found_of(made: Measurements) -> Found:
    return Found(None, Sample(None, [f"{'word ' * n}number" for n in made.n_tokens], ""), measurements=made)


def test_every_layer_has_the_line_through_all_that_is_shown_and_draws_some() -> None:
    made = measured()
    every = every_layer(found_of(made), View(length_cutoff=40, layer=2, pooling=Pooling.POOLER))
    shown = np.flatnonzero((made.n_tokens < 40) & ~made.truncated)
    assert every.n == len(shown) > MOST_DRAWN == len(every.index)
    np.testing.assert_array_equal(every.index, shown[:MOST_DRAWN])
    np.testing.assert_array_equal(every.lengths, made.n_tokens[every.index])
    assert [after.layer for after in every.layers] == [0, 1, 2]
    constant, *layers = every.layers
    assert (constant.r_squared, constant.slope, constant.problem) == (None, None, "constant")
    for after in layers:
        x, y = made.n_tokens[shown].astype(float), made.cls_norms[shown, after.layer].astype(float)
        (intercept, slope), *_ = np.linalg.lstsq(np.stack([np.ones_like(x), x], axis=1), y)
        residuals = y - intercept - slope * x
        assert after.r_squared == pytest.approx(1 - residuals.var() / y.var(), abs=1e-6)
        assert after.slope == pytest.approx(slope, rel=1e-4)
        assert after.intercept == pytest.approx(intercept, rel=1e-6)
        assert (after.mean, after.sd) == pytest.approx((y.mean(), y.std(ddof=1)))
        np.testing.assert_array_equal(after.norms, made.cls_norms[every.index, after.layer])


def test_where_there_are_too_few_sentences_there_is_no_line() -> None:
    every = every_layer(found_of(measured().head(3)), View(length_cutoff=2))
    assert every.n == 0
    assert {after.problem for after in every.layers} == {"no line"}
    one = every_layer(found_of(measured().head(2)), View())  # the first is truncated
    assert (one.n, one.layers[1].r_squared) == (1, None)


def test_a_layer_whose_fast_norms_are_too_far_off_has_no_r_squared() -> None:
    fast = measured()
    signs = np.where(np.arange(len(fast)) % 2, 1, -1)[:, None]
    exact = replace(fast, cls_norms=(fast.cls_norms + signs * [0, 1e-4, 1]).astype(np.float32))
    audited = replace(found_of(fast), precision=Precision.FAST, audit=found_of(exact.head(256)))
    problems = [after.problem for after in every_layer(audited, View()).layers]
    assert problems[1:] == ["", "not measurable"]


def test_selected_sentences_are_drawn_in_addition_to_the_first_ones() -> None:
    made, view = measured(), View(length_cutoff=40, lengths=Lengths.SHUFFLED)
    every = every_layer(found_of(made), view)
    shown = np.flatnonzero((made.n_tokens < 40) & ~made.truncated)
    hidden = np.flatnonzero(made.n_tokens >= 40)[0]
    selected = np.array([every.index[3], shown[450], shown[-1], hidden])
    more = with_selected(every, found_of(made), view, None, selected)
    assert more.index.tolist() == [*every.index.tolist(), shown[450], shown[-1]]
    np.testing.assert_array_equal(more.lengths[:MOST_DRAWN], every.lengths)
    for before, after in zip(every.layers, more.layers, strict=True):
        np.testing.assert_array_equal(after.norms, made.cls_norms[more.index, after.layer])
        assert (after.r_squared, after.mean) == (before.r_squared, before.mean)
    assert len(with_selected(every, found_of(made), view, None, shown).index) == 2 * MOST_DRAWN


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


def test_mean_pooled_norms_follow_those_of_the_layers(found: Found, experiment: Experiment) -> None:
    every = every_layer(found, experiment.view, found.vectors)
    assert [after.pooling for after in every.layers] == [Pooling.CLS] * 3 + [Pooling.MEAN]
    norms = np.linalg.norm(found.vectors.of(Pooling.MEAN, None)[every.index], axis=1)
    np.testing.assert_allclose(every.layers[-1].norms, norms, rtol=1e-3)  # vectors are kept in half precision
    assert len(every_layer(found, experiment.view, found.vectors.head(5)).layers) == 3


def test_shuffled_lengths_leave_nothing(found: Found, experiment: Experiment, profile: Profile) -> None:
    assert profile.best is not None
    assert profile.best.r_squared > 0.7
    draws = analysis.layers.shuffled_probes(found, experiment.view, profile)
    assert len({left.r_squared for left in draws}) == 5
    for left in draws:
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
        low, high = last[f"{name}_interval"]
        assert low < last[f"{name}_r_squared"] < high
    (*_, of_all) = result["learning_curves"]["probe"]  # type: ignore[index]
    assert (of_all["n"], of_all["r_squared"]) == (result["n_used"], last["probe_r_squared"])
    assert 0 < last["linear_share"] < 1
    assert result["shuffled_probe_draws"][0] == result["shuffled_probe_r_squared"]  # type: ignore[index]
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


def test_sentlen_is_told_from_guessing_unless_the_lengths_are_shuffled(found: Found, experiment: Experiment) -> None:
    experiment = Experiment(**{**vars(experiment), "length_cutoff": 80, "layer": 1})
    result = analysis.layers.classify(found, experiment.view)
    assert result.problem == ""
    assert result.vector is not None
    assert result.norm is not None
    n_words = [len(sentence.split()) for sentence in found.sentences]
    bins = [(5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28)]
    counts = [sum(low <= n <= high for n in n_words) for low, high in bins]
    assert result.vector.n_train + result.vector.n_dev + result.vector.n_test == pytest.approx(6 * min(counts), abs=12)
    low, _ = result.vector.interval
    assert low > 1 / 6
    assert len(result.vector_draws) == len(result.norm_draws) == 5
    assert result.vector_draws[0] == result.vector.accuracy
    assert len(set(result.vector_draws)) > 1
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


def test_the_vectors_of_the_view_are_projected(found: Found) -> None:
    view = Experiment(layer=1, length_cutoff=20, pooling=Pooling.MEAN).view
    projected = analysis.layers.project(found, view)
    short = np.flatnonzero(found.vectors.n_tokens < 20)
    np.testing.assert_array_equal(projected.index, short)
    np.testing.assert_array_equal(projected.lengths, found.vectors.n_tokens[short])
    vectors = found.vectors.of(Pooling.MEAN, 1)[short].astype(float)
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    assert projected.projection.shares == pytest.approx(tuple(values[:2] / values.sum()), rel=1e-5)
