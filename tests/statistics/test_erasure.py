"""Erasing the length (LEACE), what that leaves, and other remedies."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import LinearRegression
from support.searched import WIDTH, N, lengths, noise, with_length

from clsviz.errors import UndefinedFitError
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL, Remedy, erasure, fit_remedy, leace
from clsviz.statistics.ridge import ridge_probe

RANDOM = np.random.default_rng(0)
OF_MIXED = lengths().astype(float)


def test_it_is_the_formula_of_the_paper() -> None:
    """r(x) = x − W⁺ P W (x − μ), with the matrices written out."""
    centred = MIXED - MIXED.mean(axis=0)
    covariance = centred.T @ centred / N
    whiten = linalg.inv(linalg.sqrtm(covariance).real)
    column = whiten @ (centred.T @ (OF_MIXED - OF_MIXED.mean()) / N)[:, None]
    projection = column @ linalg.pinv(column)
    expected = MIXED - (linalg.inv(whiten) @ projection @ whiten @ centred.T).T
    np.testing.assert_allclose(leace(MIXED, OF_MIXED).erase(MIXED), expected, atol=1e-9)


def test_nothing_linear_is_left_and_the_mean_stays() -> None:
    erased = leace(MIXED, OF_MIXED).erase(MIXED)
    assert LinearRegression().fit(MIXED, OF_MIXED).score(MIXED, OF_MIXED) > 0.5
    assert LinearRegression().fit(erased, OF_MIXED).score(erased, OF_MIXED) == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(erased.mean(axis=0), MIXED.mean(axis=0), atol=1e-9)


def test_a_dimension_that_does_not_vary_stays_and_few_sentences_are_enough() -> None:
    for vectors, of in ((MIXED.copy(), OF_MIXED), (RANDOM.normal(size=(30, 60)), OF_MIXED[:30])):
        vectors[:, 3] = 0.7
        erased = leace(vectors, of).erase(vectors)
        assert (erased[:, 3] == 0.7).all()
        assert np.abs(np.cov(erased.T, of)[-1, :-1]).max() < 1e-9
        assert np.abs(np.cov(vectors.T, of)[-1, :-1]).max() > 1


def test_where_nothing_varies_nothing_is_erased() -> None:
    np.testing.assert_array_equal(leace(MIXED, np.full(N, 7.0)).erase(MIXED), MIXED)
    same = np.tile(MIXED[0], (N, 1))
    np.testing.assert_allclose(leace(same, OF_MIXED).erase(same), same, rtol=1e-12)


MIXED = with_length(1.5) @ np.random.default_rng(7).normal(size=(WIDTH, WIDTH)) + 3


def test_centring_takes_the_mean_of_what_it_was_fitted_to() -> None:
    mend = fit_remedy(Remedy.CENTRED, MIXED[:400], OF_MIXED[:400])
    np.testing.assert_allclose(mend(MIXED), MIXED - MIXED[:400].mean(axis=0))


def test_whitening_leaves_the_identity_as_covariance() -> None:
    white = fit_remedy(Remedy.WHITENED, MIXED, OF_MIXED)(MIXED)
    np.testing.assert_allclose(np.cov(white.T), np.eye(WIDTH), atol=1e-8)
    inverse = np.linalg.inv(np.cov(MIXED.T))
    centred = MIXED - MIXED.mean(axis=0)
    np.testing.assert_allclose((white**2).sum(axis=1), ((centred @ inverse) * centred).sum(axis=1))  # Mahalanobis


def test_whitening_leaves_out_what_varies_by_rounding() -> None:
    vectors = MIXED.copy()
    vectors[:, 5] = 1e-5 * noise()[:, 5]
    assert fit_remedy(Remedy.WHITENED, vectors, OF_MIXED)(vectors).shape == (N, WIDTH - 1)


def test_whitening_few_sentences_is_refused() -> None:
    with pytest.raises(UndefinedFitError, match=f"at least {2 * WIDTH} sentences"):
        fit_remedy(Remedy.WHITENED, MIXED[: 2 * WIDTH - 1], OF_MIXED[: 2 * WIDTH - 1])


def test_erasing_is_leace() -> None:
    erased = fit_remedy(Remedy.ERASED, MIXED, OF_MIXED)(MIXED)
    np.testing.assert_allclose(erased, leace(MIXED, OF_MIXED).erase(MIXED))


LENGTHS = RANDOM.integers(3, 80, 400)
FOLDS = RANDOM.permutation(np.arange(400) % 5)
Z = (LENGTHS - LENGTHS.mean()) / LENGTHS.std()


def test_what_is_linear_goes_and_what_is_a_curve_stays() -> None:
    """The length stands in one dimension, and two others hold a circle along it, which a line cannot see."""
    vectors = 0.15 * RANDOM.normal(size=(400, 8))
    vectors[:, 0] += Z
    vectors[:, 1] += np.cos(2 * Z)
    vectors[:, 2] += np.sin(2 * Z)
    *_, found = erasure(vectors, LENGTHS, FOLDS)
    before, after, control = (found.left[name] for name in (BEFORE, AFTER, CONTROL))
    assert (found.n, found.n_done) == (400, 5)
    assert np.mean(before.linear) == pytest.approx(ridge_probe(vectors, LENGTHS, FOLDS).r_squared, abs=1e-9)
    assert np.mean(before.linear) > 0.85
    assert np.mean(after.linear) == pytest.approx(0, abs=0.05)
    assert np.mean(before.nonlinear) > 0.9
    assert 0.2 < np.mean(after.nonlinear) < np.mean(before.nonlinear) - 0.1
    assert np.mean(before.neighbours) > 0.7
    for left, kept in ((control.linear, before.linear), (control.neighbours, before.neighbours)):
        assert np.mean(left) > np.mean(kept) - 0.25  # one direction of eight goes, whichever it is


def test_the_eraser_never_sees_the_sentences_that_it_is_tested_on() -> None:
    """With more dimensions than sentences, one that did would leave exactly nothing in them, by any regression."""
    vectors = RANDOM.normal(size=(60, 100)) + 3 * np.outer(Z[:60], RANDOM.normal(size=100))
    *_, found = erasure(vectors, LENGTHS[:60], np.arange(60) % 5)
    assert np.mean(found.left[BEFORE].linear) > 0.5
    assert max(np.abs(found.left[AFTER].linear)) > 1e-3
    assert LinearRegression().fit(vectors, LENGTHS[:60]).score(vectors, LENGTHS[:60]) == pytest.approx(1)


def test_results_come_fold_by_fold_and_too_few_sentences_explain_themselves() -> None:
    vectors = RANDOM.normal(size=(60, 3))
    assert [found.n_done for found in erasure(vectors, LENGTHS[:60], FOLDS[:60])] == [1, 2, 3, 4, 5]
    with pytest.raises(UndefinedFitError, match="at least 10"):
        next(erasure(vectors[:5], LENGTHS[:5], FOLDS[:5]))
    with pytest.raises(UndefinedFitError, match="The vector is the same for all sentences"):
        next(erasure(np.ones((60, 3)), LENGTHS[:60], FOLDS[:60]))
