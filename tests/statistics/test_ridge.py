from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.tiny import different_sentences
from threadpoolctl import threadpool_limits

from clsviz.errors import UndefinedFitError
from clsviz.sources.near_duplicates import clusters_of
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.ridge import (
    N_FOLDS,
    STRENGTHS,
    explain_untestable_lengths,
    folds_of,
    ridge_predict,
    ridge_probe,
    unit,
)


def sample(n: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors that hold the length among much else, as real ones do: correlated dimensions of unequal spread."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 80, n)
    mixing = random.normal(size=(width, width)) * np.exp(-np.arange(width) / (width / 4))[:, None]
    direction = random.normal(size=width)
    vectors = (
        5 + random.normal(size=(n, width)) @ mixing + 0.1 * np.outer(lengths + 4 * random.normal(size=n), direction)
    )
    return vectors.astype(np.float32), lengths, random.permutation(np.arange(n) % N_FOLDS)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other on busy processors take longer than the sums."""
    with threadpool_limits(1, "blas"):
        yield


SHAPES = [(300, 40), (200, 200), (60, 768), (40, 31), (40, 32), (40, 33), (30, 2), (30, 1)]
"""Many sentences, fewer than dimensions, far fewer; to train on: one more, as many, one fewer; few dimensions."""


@pytest.mark.parametrize(("n", "width"), SHAPES)
def test_every_fold_is_read_as_scikit_learn_reads_it(n: int, width: int) -> None:
    vectors, lengths, folds = sample(n, width)
    probe = ridge_probe(vectors, lengths, folds)
    for fold in range(N_FOLDS):
        train, test = folds != fold, folds == fold
        strength = probe.strengths[fold]
        ridge = make_pipeline(StandardScaler(), DummyRegressor() if np.isinf(strength) else Ridge(alpha=strength))
        read = ridge.fit(vectors[train].astype(float), lengths[train]).predict(vectors[test].astype(float))
        np.testing.assert_allclose(probe.predictions[test], read, rtol=1e-6, atol=1e-6)
        assert probe.fold_r_squared[fold] == pytest.approx(r2_score(lengths[test], read), rel=1e-6)
    assert probe.r_squared == pytest.approx(np.mean(probe.fold_r_squared))


@pytest.mark.parametrize(("n", "width"), [(60, 200), (30, 1)])
def test_the_strength_is_the_one_that_does_best_between_the_other_folds(n: int, width: int) -> None:
    vectors, lengths, folds = sample(n, width, seed=1)
    probe = ridge_probe(vectors, lengths, folds)
    for fold in range(N_FOLDS):
        x, y, others = vectors[folds != fold].astype(float), lengths[folds != fold], folds[folds != fold]
        errors = np.zeros(len(STRENGTHS))
        for train, test in LeaveOneGroupOut().split(x, groups=others):
            ridges = [make_pipeline(StandardScaler(), Ridge(alpha=strength)) for strength in STRENGTHS[:-1]]
            for at, ridge in enumerate([*ridges, DummyRegressor()]):
                errors[at] += ((ridge.fit(x[train], y[train]).predict(x[test]) - y[test]) ** 2).sum()
        assert probe.strengths[fold] == STRENGTHS[int(np.argmin(errors))]
        own = ridge_predict(vectors, lengths, folds, fold)
        np.testing.assert_allclose(own, probe.predictions[folds == fold], rtol=1e-9)


@pytest.mark.parametrize(("n", "width"), [(400, 60), (150, 110), (60, 200)])
@pytest.mark.parametrize("times", [2, 5])
def test_copies_of_every_sentence_change_next_to_nothing(n: int, width: int, times: int) -> None:
    vectors, lengths, folds = sample(n, width, seed=4)
    once = ridge_probe(vectors, lengths, folds)
    copied = ridge_probe(*(np.repeat(one, times, axis=0) for one in (vectors, lengths, folds)))
    assert copied.r_squared == pytest.approx(once.r_squared, abs=0.05)


@pytest.mark.parametrize(("n", "width"), [(300, 40), (48, 40), (60, 200)])
def test_vectors_that_tell_nothing_predict_the_mean_and_not_worse(n: int, width: int) -> None:
    random = np.random.default_rng(6)
    vectors, lengths, folds = random.normal(size=(n, width)), random.integers(3, 80, n), np.arange(n) % N_FOLDS
    assert -0.2 < ridge_probe(vectors, lengths, folds).r_squared < 0.1


def test_of_shuffled_lengths_nothing_is_read() -> None:
    vectors, lengths, folds = sample(1000, 60)
    assert ridge_probe(vectors, lengths, folds).r_squared > 0.5
    control = shuffled(lengths, seed=3)
    assert sorted(control) == sorted(lengths)
    assert (control != lengths).mean() > 0.9
    assert abs(ridge_probe(vectors, control, folds).r_squared) < 0.05


def test_small_deviations_from_a_large_vector_are_read_as_well_as_without_it() -> None:
    vectors, lengths, folds = sample(800, 60)
    small = 1e-4 * (vectors - 5) / vectors.std()
    near = ridge_probe((100 * np.float32(0.01) + small).astype(np.float32), lengths, folds)
    alone = ridge_probe(small, lengths, folds)
    assert near.r_squared == pytest.approx(alone.r_squared, abs=0.003)  # what float32 itself has lost of them
    exact = ridge_probe(1 + small.astype(float), lengths, folds)
    assert exact.r_squared == pytest.approx(alone.r_squared, abs=1e-8)


def test_dimensions_that_do_not_vary_change_nothing() -> None:
    vectors, lengths, folds = sample(300, 20)
    random = np.random.default_rng(0)
    rounding = np.full((300, 2), 3.7, np.float32) * (1 + 1e-7 * random.integers(-1, 2, (300, 2))).astype(np.float32)
    in_one_fold = np.where(folds == 1, 1.0, 0.0)
    wider = np.column_stack([vectors, rounding, np.zeros(300), np.full(300, -2.5)])
    expected = ridge_probe(vectors, lengths, folds)
    assert ridge_probe(wider, lengths, folds).fold_r_squared == pytest.approx(expected.fold_r_squared, rel=1e-9)
    some = ridge_probe(np.column_stack([vectors, in_one_fold]), lengths, folds)
    assert some.fold_r_squared[1] == pytest.approx(expected.fold_r_squared[1], rel=1e-9)


def test_a_vector_that_is_the_same_for_all_says_so() -> None:
    _, lengths, folds = sample(100, 1)
    random = np.random.default_rng(0)
    constant = np.tile(random.normal(size=30), (100, 1)).astype(np.float32)
    for vectors in (constant, constant * np.float32(1 + 6e-8 * (lengths[:, None] % 2)), np.zeros((100, 30))):
        with pytest.raises(
            UndefinedFitError, match=r"The vector is the same for all sentences, so length cannot be predicted"
        ):
            ridge_probe(vectors, lengths, folds)
    assert ridge_probe(constant + 1e-4 * lengths[:, None] * constant, lengths, folds).r_squared > 0.99


def test_what_cannot_be_probed_says_why() -> None:
    vectors, lengths, folds = sample(100, 5)
    with pytest.raises(UndefinedFitError, match="All 100 sentences have the same length"):
        ridge_probe(vectors, np.full(100, 7), folds)
    with pytest.raises(UndefinedFitError, match="at least 10 sentences, and there are only 9"):
        ridge_probe(vectors[:9], lengths[:9], folds[:9])
    with pytest.raises(UndefinedFitError, match="not finite"):
        ridge_probe(np.where(np.eye(100, 5) > 0, np.nan, vectors), lengths, folds)
    with pytest.raises(UndefinedFitError, match="in one or two folds"):
        ridge_probe(vectors, lengths, np.arange(100) % 2)
    with pytest.raises(UndefinedFitError, match="Within every fold all sentences have the same length"):
        ridge_probe(vectors, folds + 3, folds)


def test_a_fold_of_sentences_of_one_length_is_not_scored() -> None:
    vectors, lengths, folds = sample(200, 10)
    lengths[folds == 3] = 12
    probe = ridge_probe(vectors, lengths, folds)
    assert len(probe.fold_r_squared) == 4
    assert len(probe.strengths) == 5
    assert np.isfinite(probe.predictions).all()
    scored = [fold for fold in range(N_FOLDS) if fold != 3]
    expected = [r2_score(lengths[folds == fold], probe.predictions[folds == fold]) for fold in scored]
    assert probe.fold_r_squared == pytest.approx(expected)
    assert probe.r_squared == pytest.approx(np.mean(expected))


def test_directions_have_norm_1_and_zero_vectors_stay() -> None:
    vectors = np.array([[3, 4], [0, 0], [-1e-30, 0]], np.float32)
    np.testing.assert_allclose(unit(vectors), [[0.6, 0.8], [0, 0], [-1, 0]])
    assert unit(vectors).dtype == np.float64


@pytest.mark.parametrize(("n", "there"), [(0, "there are none"), (1, "there is only 1"), (9, "there are only 9")])
def test_how_many_sentences_there_are_is_said(n: int, there: str) -> None:
    with pytest.raises(UndefinedFitError, match=rf"and {there}\.$"):
        explain_untestable_lengths(np.arange(n, dtype=float), np.zeros(n, np.intp))


def test_sentences_that_differ_in_case_accents_or_white_space_share_a_fold() -> None:
    alike = [
        ["The Café closed.", "the cafe  closed.", "THE CAFE\u0301 CLOSED.", " the café\tclosed.\n"],
        ["Straße", "STRASSE", "strasse "],
        ["ﬁne", "fine"],
    ]
    sentences = [*different_sentences(40), *(text for group in alike for text in group)]
    clusters = clusters_of(sentences)
    for seed in range(20):
        of = dict(zip(sentences, folds_of(clusters, seed).tolist(), strict=True))
        assert all(len({of[text] for text in group}) == 1 for group in alike)
    assert len({tuple(folds_of(clusters, seed)) for seed in range(20)}) == 20
    np.testing.assert_array_equal(folds_of(clusters, 3), folds_of(clusters, 3))


def test_folds_hold_about_as_many_sentences() -> None:
    folds = folds_of(clusters_of(different_sentences(1003)))
    assert folds.dtype == np.intp
    assert sorted(np.bincount(folds).tolist()) == [200, 200, 201, 201, 201]


def test_duplicates_across_folds_would_inflate_r_squared() -> None:
    """What `folds_of` is for: vectors of pure noise, every sentence three times."""
    random = np.random.default_rng(0)
    texts = different_sentences(100)
    sentences = [*texts, *(text.upper() for text in texts), *(text.replace(" ", "  ") for text in texts)]
    vectors, lengths = np.tile(random.normal(size=(100, 150)), (3, 1)), np.tile(random.integers(3, 80, 100), 3)
    leaking = np.empty(300, np.intp)
    for fold, (_, test) in enumerate(KFold(N_FOLDS, shuffle=True, random_state=0).split(vectors)):
        leaking[test] = fold
    assert ridge_probe(vectors, lengths, leaking).r_squared > 0.8
    assert ridge_probe(vectors, lengths, folds_of(clusters_of(sentences))).r_squared < 0.05


def test_too_few_different_sentences_make_no_folds() -> None:
    with pytest.raises(UndefinedFitError, match="These sentences are near-duplicates of only 4; at least 5"):
        folds_of(clusters_of(["one", "two", "three", "four", "FOUR", "öne"]))
    with pytest.raises(UndefinedFitError, match="near-duplicates of only 0"):
        folds_of(clusters_of([]))


def test_copies_of_one_sentence_are_not_said_to_differ() -> None:
    with pytest.raises(UndefinedFitError, match="All of these sentences are near-duplicates; at least 5"):
        folds_of(clusters_of(["One and the same sentence."] * 20))
