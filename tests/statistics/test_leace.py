import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import LinearRegression, RidgeCV

from clsviz.statistics.erasure import leace

RANDOM = np.random.default_rng(0)
N, WIDTH = 600, 12
LENGTHS = RANDOM.integers(3, 80, N).astype(float)
MIXED = RANDOM.normal(size=(N, WIDTH)) @ RANDOM.normal(size=(WIDTH, WIDTH)) + 0.05 * np.outer(
    LENGTHS, RANDOM.normal(size=WIDTH)
)


def test_it_is_the_formula_of_the_paper() -> None:
    """r(x) = x − W⁺ P W (x − μ), with the matrices written out."""
    centred = MIXED - MIXED.mean(axis=0)
    covariance = centred.T @ centred / N
    whiten = linalg.inv(linalg.sqrtm(covariance).real)
    column = whiten @ (centred.T @ (LENGTHS - LENGTHS.mean()) / N)[:, None]
    projection = column @ linalg.pinv(column)
    expected = MIXED - (linalg.inv(whiten) @ projection @ whiten @ centred.T).T
    np.testing.assert_allclose(leace(MIXED, LENGTHS).erase(MIXED), expected, atol=1e-9)


def test_nothing_linear_is_left_and_the_mean_stays() -> None:
    erased = leace(MIXED, LENGTHS).erase(MIXED)
    assert LinearRegression().fit(MIXED, LENGTHS).score(MIXED, LENGTHS) > 0.5
    assert LinearRegression().fit(erased, LENGTHS).score(erased, LENGTHS) == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(erased.mean(axis=0), MIXED.mean(axis=0), atol=1e-9)


def test_it_changes_less_than_taking_out_the_direction_of_the_regression() -> None:
    """Least damage, measured as the paper does: by the covariance of the vectors."""
    centred = MIXED - MIXED.mean(axis=0)
    inverse = linalg.inv(centred.T @ centred / N)

    def damage(erased: np.ndarray) -> float:
        change = erased - MIXED
        return float(np.mean(np.sum(change @ inverse * change, axis=1)))

    across = centred.T @ (LENGTHS - LENGTHS.mean())
    along = across / np.linalg.norm(across)
    projected = MIXED - np.outer(centred @ along, along)
    assert LinearRegression().fit(projected, LENGTHS).score(projected, LENGTHS) == pytest.approx(0, abs=1e-9)
    assert damage(leace(MIXED, LENGTHS).erase(MIXED)) < 0.9 * damage(projected)


def test_sentences_it_has_not_seen_lose_their_length_too() -> None:
    erased = leace(MIXED[:400], LENGTHS[:400]).erase(MIXED)
    probe = RidgeCV().fit(erased[:400], LENGTHS[:400])
    assert probe.score(erased[400:], LENGTHS[400:]) == pytest.approx(0, abs=0.02)


def test_a_dimension_that_does_not_vary_stays_and_few_sentences_are_enough() -> None:
    for vectors, lengths in ((MIXED.copy(), LENGTHS), (RANDOM.normal(size=(30, 60)), LENGTHS[:30])):
        vectors[:, 3] = 0.7
        erased = leace(vectors, lengths).erase(vectors)
        assert (erased[:, 3] == 0.7).all()
        assert np.abs(np.cov(erased.T, lengths)[-1, :-1]).max() < 1e-9
        assert np.abs(np.cov(vectors.T, lengths)[-1, :-1]).max() > 1


def test_where_nothing_varies_nothing_is_erased() -> None:
    np.testing.assert_array_equal(leace(MIXED, np.full(N, 7.0)).erase(MIXED), MIXED)
    same = np.tile(MIXED[0], (N, 1))
    np.testing.assert_allclose(leace(same, LENGTHS).erase(same), same, rtol=1e-12)
