"""Probes after each layer, on another corpus, and of two principal components."""

import itertools

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.tiny import different_sentences

from clsviz.errors import UndefinedFitError
from clsviz.measurements import Vectors
from clsviz.settings import Pooling
from clsviz.sources.near_duplicates import clusters_of
from clsviz.statistics.intervals import Bootstrap
from clsviz.statistics.probes import (
    MOST_PROJECTED,
    Profile,
    Reading,
    Readout,
    Sentences,
    linear_variance,
    projection,
    readings,
    steps,
    travel,
)
from clsviz.statistics.ridge import STRENGTHS, folds_of, ridge_probe, unit

N, WIDTH, LAST = 400, 24, 3
RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(3, 80, N)
FOLDS = folds_of(clusters_of(different_sentences(N)))
ALL = np.arange(N)


def exact_vectors() -> np.ndarray:
    """By pooling and layer, with less of the length in every layer; those of [CLS] constant at the embedding layer."""
    random = np.random.default_rng(1)
    base, along = random.normal(size=WIDTH), random.normal(size=WIDTH)
    pooled = np.empty((3, LAST + 1, N, WIDTH))
    for pooling, layer in itertools.product(range(3), range(LAST + 1)):
        strength = 0.02 / (1 + layer * (pooling + 1))
        pooled[pooling, layer] = base + strength * np.outer(LENGTHS, along) + random.normal(size=(N, WIDTH))
    pooled[0, 0] = base
    return pooled.astype(np.float32)


POOLED = exact_vectors()
POOLER = np.tanh(POOLED[0, LAST])


def packed(pooled: np.ndarray = POOLED, pooler: np.ndarray | None = POOLER) -> Vectors:
    n = pooled.shape[2]
    return Vectors.pack(LENGTHS[:n].astype(np.int32), np.zeros(n, bool), pooled, pooler)


def last_of(vectors: Vectors, index: np.ndarray = ALL) -> Profile:
    *_, profile = readings(vectors, index, LENGTHS[index], FOLDS[index])
    return profile


@pytest.fixture(scope="module")
def profile() -> Profile:
    return last_of(packed())


def read(profile: Profile, pooling: Pooling, layer: int | None, readout: Readout) -> Reading:
    reading = profile.get(pooling, layer, readout)
    assert reading is not None
    return reading


def test_the_steps_begin_with_what_is_quick_and_asked_first() -> None:
    names = [f"{pooling} {layer} {readout}" for pooling, layer, readout in steps(1, has_pooler=True)]
    assert names == [
        *("cls 0 norm", "cls 1 norm", "mean 0 norm", "mean 1 norm", "max 0 norm", "max 1 norm", "pooler None norm"),
        *("cls 0 vector", "cls 1 vector", "pooler None vector", "cls 0 direction", "cls 1 direction"),
        *("mean 0 vector", "mean 1 vector", "max 0 vector", "max 1 vector"),
    ]
    assert not any(pooling is Pooling.POOLER for pooling, _, _ in steps(6, has_pooler=False))


def test_every_step_adds_one_reading() -> None:
    expected = steps(LAST, has_pooler=True)
    for n, profile in enumerate(readings(packed(), ALL, LENGTHS, FOLDS), start=1):
        assert list(profile.readings) == expected[:n]
        assert profile.is_complete == (n == len(expected))
        assert len(profile.table()) == n
    assert n == len(expected)
    assert (profile.n, profile.n_layers, profile.has_pooler) == (N, LAST, True)


def test_norms_are_read_by_simple_regression(profile: Profile) -> None:
    for pooling, exact in [(Pooling.CLS, POOLED[0, 2]), (Pooling.MAX, POOLED[2, 1]), (Pooling.POOLER, POOLER)]:
        norms = np.linalg.norm(exact.astype(float), axis=1)
        layer = {Pooling.CLS: 2, Pooling.MAX: 1, Pooling.POOLER: None}[pooling]
        reading = read(profile, pooling, layer, Readout.NORM)
        line = LinearRegression().fit(LENGTHS[:, None], norms)
        assert reading.r_squared == pytest.approx(line.score(LENGTHS[:, None], norms), rel=1e-4)
        in_folds = [np.flatnonzero(np.equal(FOLDS, fold)) for fold in range(5)]
        within = [np.corrcoef(LENGTHS[index], norms[index])[0, 1] ** 2 for index in in_folds]
        assert reading.fold_r_squared == pytest.approx(within, rel=1e-3)
        assert reading.norm_mean == pytest.approx(norms.mean())
        assert reading.norm_sd == pytest.approx(norms.std(ddof=1), rel=1e-4)
        assert reading.predictions is None


def test_vectors_and_directions_are_read_by_probes_of_them(profile: Profile) -> None:
    cases = [
        (Pooling.CLS, 1, Readout.VECTOR, POOLED[0, 1]),
        (Pooling.CLS, 3, Readout.DIRECTION, unit(POOLED[0, 3])),
        (Pooling.MEAN, 2, Readout.VECTOR, POOLED[1, 2]),
        (Pooling.MAX, 0, Readout.VECTOR, POOLED[2, 0]),
        (Pooling.POOLER, None, Readout.VECTOR, POOLER),
    ]
    for pooling, layer, readout, exact in cases:
        reading = read(profile, pooling, layer, readout)
        probe = ridge_probe(exact, LENGTHS, FOLDS)
        assert reading.r_squared == pytest.approx(probe.r_squared, abs=2e-3)  # the vectors were kept in 16 bits
        assert reading.fold_r_squared == pytest.approx(probe.fold_r_squared, abs=5e-3)
        assert reading.predictions is not None
        np.testing.assert_allclose(reading.predictions, probe.predictions, atol=0.5)
        assert np.isnan(reading.norm_mean)
        assert (reading.pooling, reading.layer, reading.readout, reading.problem) == (pooling, layer, readout, "")


def test_intervals_and_the_learning_curve_are_those_of_the_predictions(profile: Profile) -> None:
    bootstrap = Bootstrap(ALL)
    cls, direction, mean = (
        profile.get(*step)
        for step in (
            (Pooling.CLS, LAST, Readout.VECTOR),
            (Pooling.CLS, LAST, Readout.DIRECTION),
            (Pooling.MEAN, LAST, Readout.VECTOR),
        )
    )
    assert cls.interval == bootstrap.r_squared(LENGTHS, cls.predictions, FOLDS)
    assert cls.beyond_cls is None
    for other in (direction, mean):
        beyond = bootstrap.r_squared_difference(LENGTHS, other.predictions, cls.predictions, FOLDS)
        assert other.beyond_cls == beyond
    assert profile.get(Pooling.CLS, 1, Readout.VECTOR).curve == direction.curve == ()
    first, whole = cls.curve
    assert (whole.n, whole.r_squared, whole.interval, whole.error) == (N, cls.r_squared, cls.interval, cls.error)
    probe = ridge_probe(packed().of(Pooling.CLS, LAST)[:350], LENGTHS[:350], FOLDS[:350])
    assert (first.n, first.r_squared, first.error) == (350, probe.r_squared, probe.error)
    assert first.interval[0] < first.r_squared < first.interval[1]


def test_what_is_linear_in_length_is_what_a_regression_of_every_dimension_explains() -> None:
    vectors = POOLED[1, 1].astype(float)
    line = LinearRegression().fit(LENGTHS[:, None], vectors)
    linear = line.predict(LENGTHS[:, None]).var(axis=0).sum()
    share, over_mean = linear_variance(POOLED[1, 1], LENGTHS)
    assert share == pytest.approx(linear / vectors.var(axis=0).sum())
    assert over_mean == pytest.approx(linear / (vectors.mean(axis=0) ** 2).sum())
    assert linear_variance(10 * POOLED[1, 1], LENGTHS) == pytest.approx((share, over_mean))
    assert np.isnan(linear_variance(POOLED[1, 1], np.full(N, 7))).all()
    assert np.isnan(linear_variance(np.zeros((N, 3), np.float32), LENGTHS)).all()


def test_errors_are_those_of_held_out_lengths_beside_those_of_guessing(profile: Profile) -> None:
    guess = cross_val_predict(DummyRegressor(), POOLER, LENGTHS, cv=PredefinedSplit(FOLDS))
    assert profile.guess_error == pytest.approx(np.abs(guess - LENGTHS).mean())
    vector = read(profile, Pooling.CLS, 1, Readout.VECTOR)
    assert vector.predictions is not None
    assert vector.error == pytest.approx(np.abs(vector.predictions - LENGTHS).mean())
    assert vector.error < 0.7 * profile.guess_error
    norms = np.linalg.norm(POOLED[1, 0], axis=1)[:, None]
    of_line = cross_val_predict(LinearRegression(), norms, LENGTHS, cv=PredefinedSplit(FOLDS))
    assert read(profile, Pooling.MEAN, 0, Readout.NORM).error == pytest.approx(
        np.abs(of_line - LENGTHS).mean(), rel=1e-4
    )
    assert np.isnan(read(profile, Pooling.CLS, 0, Readout.VECTOR).error)


def test_the_norm_of_a_layer_norms_output_can_be_read_from_its_direction() -> None:
    """Of a random vector it cannot: its norm does not follow from its direction."""
    random = np.random.default_rng(3)
    gain, bias = random.uniform(0.8, 1.2, WIDTH), 3 * random.normal(size=WIDTH)
    z = random.normal(size=(N, WIDTH)) + 0.01 * np.outer(LENGTHS, random.normal(size=WIDTH))
    z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)
    pooled = POOLED.copy()
    pooled[0, 1] = gain * z + bias
    pooled[0, 2] = unit(pooled[0, 1]) * random.uniform(1, 2, (N, 1))
    profile = last_of(packed(pooled))
    assert read(profile, Pooling.CLS, 1, Readout.DIRECTION).norm_r_squared > 0.98
    assert read(profile, Pooling.CLS, 2, Readout.DIRECTION).norm_r_squared < 0.05
    assert np.isnan(read(profile, Pooling.CLS, 0, Readout.DIRECTION).norm_r_squared)
    assert np.isnan(read(profile, Pooling.CLS, 1, Readout.VECTOR).norm_r_squared)


def test_only_the_chosen_sentences_are_read(profile: Profile) -> None:
    short = np.flatnonzero(LENGTHS < 40)
    of_some = last_of(packed(), short)
    assert of_some.n == len(short)
    reading = read(of_some, Pooling.CLS, 2, Readout.VECTOR)
    probe = ridge_probe(POOLED[0, 2][short], LENGTHS[short], FOLDS[short])
    assert reading.r_squared == pytest.approx(probe.r_squared, abs=5e-3)
    assert reading.r_squared != pytest.approx(read(profile, Pooling.CLS, 2, Readout.VECTOR).r_squared, abs=0.02)


def test_what_cannot_be_read_says_why_and_the_rest_is_read(profile: Profile) -> None:
    norm, vector, direction = (read(profile, Pooling.CLS, 0, readout) for readout in Readout)
    assert norm.r_squared is None
    assert norm.problem.startswith("The norm is the same for all 400 sentences")
    assert norm.norm_sd == pytest.approx(0, abs=1e-6)
    assert norm.fold_r_squared == vector.fold_r_squared == ()
    assert vector.problem == "The vector is the same for all sentences, so length cannot be predicted from it."
    assert "same for all" in direction.problem
    problems = {step for step, reading in profile.readings.items() if reading.problem}
    assert problems == {(Pooling.CLS, 0, readout) for readout in Readout}


def test_no_sentence_at_all_is_a_problem_of_every_step() -> None:
    empty = last_of(packed(), np.empty(0, np.intp))
    assert empty.is_complete
    assert all(reading.problem and reading.r_squared is None for reading in empty.readings.values())
    assert empty.best is None
    few = last_of(packed(), np.arange(5))
    assert "at least 10 sentences, and there are only 5" in read(few, Pooling.CLS, 1, Readout.VECTOR).problem
    assert few.best is None


def test_the_rounding_of_16_bits_is_not_taken_for_a_direction() -> None:
    """Vectors of one direction, whose norm is the length: kept in 16 bits, their directions hold it too."""
    pooled = POOLED.copy()
    direction = unit(POOLED[0, 0])
    pooled[0, 1] = direction * LENGTHS[:, None]
    pooled[0, 2] = direction * LENGTHS[:, None] + 0.5 * np.random.default_rng(2).normal(size=(N, WIDTH))
    vectors = packed(pooled)
    untold = ridge_probe(unit(vectors.of(Pooling.CLS, 1)), LENGTHS, FOLDS)
    assert untold.r_squared > 0.2
    profile = last_of(vectors)
    reading = read(profile, Pooling.CLS, 1, Readout.DIRECTION)
    assert reading.r_squared is None
    assert reading.problem.startswith("The direction is the same for all sentences up to rounding")
    assert read(profile, Pooling.CLS, 1, Readout.VECTOR).r_squared == pytest.approx(1, abs=1e-4)
    assert read(profile, Pooling.CLS, 2, Readout.DIRECTION).r_squared == pytest.approx(
        ridge_probe(unit(pooled[0, 2]), LENGTHS, FOLDS).r_squared, abs=0.02
    )


def test_lines_and_the_best(profile: Profile) -> None:
    line = profile.line(Pooling.CLS, Readout.VECTOR)
    assert [reading.layer if reading else None for reading in line] == [0, 1, 2, 3]
    values = [reading.r_squared for reading in line[1:] if reading]
    assert profile.best is not None
    assert profile.best.r_squared == max(value for value in values if value is not None)
    assert profile.best is line[1]
    assert profile.line(Pooling.POOLER, Readout.NORM)[:LAST] == [None] * LAST
    assert profile.line(Pooling.POOLER, Readout.NORM)[LAST] is profile.get(Pooling.POOLER, None, Readout.NORM)
    assert profile.get(Pooling.CLS, None, Readout.NORM) is profile.get(Pooling.CLS, LAST, Readout.NORM)
    assert profile.get(Pooling.MEAN, 1, Readout.DIRECTION) is None


def test_a_profile_that_has_just_begun() -> None:
    begun = next(readings(packed(pooler=None), ALL, LENGTHS, FOLDS))
    assert begun.best is None
    assert begun.line(Pooling.CLS, Readout.NORM)[1:] == [None] * LAST
    assert not begun.has_pooler
    nothing = Profile(0, 8, LAST, False, {}).table()
    assert len(nothing) == 0
    assert list(nothing.columns) == list(begun.table().columns)


def test_the_table_holds_every_reading(profile: Profile) -> None:
    table = profile.table().set_index(["pooling", "layer", "readout"])
    row = table.loc[("mean", 2, "vector")]
    reading = read(profile, Pooling.MEAN, 2, Readout.VECTOR)
    assert row["r_squared"] == reading.r_squared
    assert (row["lowest_fold"], row["highest_fold"]) == (min(reading.fold_r_squared), max(reading.fold_r_squared))
    assert row["error"] == reading.error < row["guess_error"] == profile.guess_error
    undefined = table.loc[("cls", 0, "vector")]
    assert np.isnan(undefined["r_squared"])
    assert np.isnan(undefined["lowest_fold"])
    assert undefined["problem"].startswith("The vector is the same")
    assert profile.table()["layer"].isna().sum() == 2  # norm and vector of the pooler output
    assert table.loc[("cls", 1, "norm")]["norm_mean"] == pytest.approx(np.linalg.norm(POOLED[0, 1], axis=1).mean())


Z = (LENGTHS - LENGTHS.mean()) / LENGTHS.std()


def scattered(*sizes: float) -> np.ndarray:
    """Noise whose second dimension holds the length, far from the origin; sizes: of the first dimensions."""
    made = 0.1 * RANDOM.normal(size=(N, 8))
    made[:, 0] += sizes[0] * RANDOM.normal(size=N)
    made[:, 1] += sizes[1] * Z
    return (made + 50).astype(np.float32)


def test_the_coordinates_and_shares_are_those_of_a_singular_value_decomposition() -> None:
    made = scattered(5, 2)
    found = projection(made, LENGTHS, FOLDS)
    x = made.astype(float) - made.mean(axis=0, dtype=float)
    left, values, _ = np.linalg.svd(x, full_matrices=False)
    expected = left[:, :2] * values[:2]
    signs = np.sign((expected * found.coordinates).sum(axis=0))
    np.testing.assert_allclose(found.coordinates, expected * signs, atol=1e-4)
    assert found.shares == pytest.approx(tuple(values[:2] ** 2 / (values**2).sum()), rel=1e-6)
    assert (found.n, found.coordinates.dtype) == (N, np.float32)


def test_r_squared_is_held_out_and_of_the_two_numbers_alone() -> None:
    found = projection(made := scattered(5, 2), LENGTHS, FOLDS)
    x = found.coordinates.astype(float)
    scores = [
        LinearRegression().fit(x[held != fold], LENGTHS[held != fold]).score(x[held == fold], LENGTHS[held == fold])
        for held in [FOLDS]
        for fold in range(5)
    ]
    assert found.r_squared == pytest.approx(np.mean(scores), abs=0.01)
    assert found.r_squared > 0.9
    assert len(found.fold_r_squared) == 5
    made[:, 2] += 10 * RANDOM.normal(size=N)  # now the length is no longer among the first two
    assert projection(made, LENGTHS, FOLDS).r_squared < 0.1


def test_where_nothing_can_be_said_the_reason_is() -> None:
    with pytest.raises(UndefinedFitError, match="the same for all"):
        projection(np.full((N, 8), 3, np.float32), LENGTHS, FOLDS)
    with pytest.raises(UndefinedFitError, match="only 4"):
        projection(scattered(1, 1)[:4], LENGTHS[:4], FOLDS[:4])


def test_no_more_are_projected_than_are_drawn() -> None:
    n = MOST_PROJECTED + 10
    made = RANDOM.normal(size=(n, 3)).astype(np.float32)
    found = projection(made, np.arange(n) % 70, np.arange(n) % 5)
    assert found.n == MOST_PROJECTED


ALONG, OTHER = np.random.default_rng(7).normal(size=(2, 12))


def sentences(n: int, *along: np.ndarray, mean: int = 20) -> Sentences:
    """Vectors whose length stands in one direction per layer, kept in 16 bits."""
    lengths = RANDOM.integers(mean - 15, mean + 15, n)
    layers = np.stack([0.1 * np.outer(lengths, direction) + RANDOM.normal(size=(n, 12)) for direction in along])
    pooled = np.stack([layers] * len(POOLED)).astype(np.float32)
    vectors = Vectors.pack(lengths.astype(np.int32), np.zeros(n, bool), pooled)
    return Sentences(vectors, np.arange(n), lengths, np.arange(n) % 5)


def test_a_direction_that_both_corpora_share_travels_and_another_does_not() -> None:
    here, there = sentences(300, ALONG, ALONG), sentences(200, ALONG, OTHER, mean=40)
    first, found = travel(here, there, Pooling.CLS)
    assert not first.is_complete
    assert found.is_complete
    shared, other = found.legs
    assert shared.across_r_squared > 0.5
    assert other.across_r_squared < 0 < 0.5 < other.there_r_squared
    for leg in found.legs:
        x, z = (of.vectors.of(Pooling.CLS, leg.layer) for of in (here, there))
        pipeline = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS[:-1])).fit(x, here.lengths)
        predicted = pipeline.predict(z)
        assert leg.across_r_squared == pytest.approx(r2_score(there.lengths, predicted), abs=1e-3)
        assert leg.across_error == pytest.approx(mean_absolute_error(there.lengths, predicted), rel=1e-3)
        assert leg.within_error == ridge_probe(x, here.lengths, here.folds).error
        assert leg.there_error == ridge_probe(z, there.lengths, there.folds).error
    assert found.guess_error_across == pytest.approx(np.abs(there.lengths - here.lengths.mean()).mean())
    assert found.guess_error_across > 15 > 8 > found.guess_error_there


def test_what_cannot_be_read_is_missing() -> None:
    here = sentences(300, 0 * ALONG)
    constant = Vectors.pack(here.vectors.n_tokens, here.vectors.truncated, np.ones((3, 1, 300, 12), np.float32))
    (found,) = travel(Sentences(constant, here.index, here.lengths, here.folds), here, Pooling.CLS)
    assert np.isnan([found.legs[0].within_r_squared, found.legs[0].across_error, found.legs[0].there_error]).all()
    few = Sentences(here.vectors, here.index[:4], here.lengths[:4], here.folds[:4])
    (found,) = travel(here, few, Pooling.CLS)
    assert np.isfinite(found.legs[0].within_r_squared)
    assert np.isnan(found.legs[0].across_r_squared)
