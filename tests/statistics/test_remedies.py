import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from support.searched import WIDTH, N, lengths, noise, with_length

from clsviz.errors import UndefinedFitError
from clsviz.statistics.erasure import Remedy, leace
from clsviz.statistics.erasure import fit_remedy as fit

MIXED = with_length(1.5) @ np.random.default_rng(7).normal(size=(WIDTH, WIDTH)) + 3


def test_centring_takes_the_mean_of_what_it_was_fitted_to() -> None:
    mend = fit(Remedy.CENTRED, MIXED[:400], lengths()[:400])
    np.testing.assert_allclose(mend(MIXED), MIXED - MIXED[:400].mean(axis=0))


def test_whitening_leaves_the_identity_as_covariance() -> None:
    white = fit(Remedy.WHITENED, MIXED, lengths())(MIXED)
    np.testing.assert_allclose(np.cov(white.T), np.eye(WIDTH), atol=1e-8)
    inverse = np.linalg.inv(np.cov(MIXED.T))
    centred = MIXED - MIXED.mean(axis=0)
    np.testing.assert_allclose((white**2).sum(axis=1), ((centred @ inverse) * centred).sum(axis=1))  # Mahalanobis


def test_whitening_leaves_out_what_varies_by_rounding() -> None:
    vectors = MIXED.copy()
    vectors[:, 5] = 1e-5 * noise()[:, 5]
    assert fit(Remedy.WHITENED, vectors, lengths())(vectors).shape == (N, WIDTH - 1)


def test_whitening_few_sentences_is_refused() -> None:
    with pytest.raises(UndefinedFitError, match=f"at least {2 * WIDTH} sentences"):
        fit(Remedy.WHITENED, MIXED[: 2 * WIDTH - 1], lengths()[: 2 * WIDTH - 1])


def test_erasing_is_leace() -> None:
    erased = fit(Remedy.ERASED, MIXED, lengths())(MIXED)
    np.testing.assert_allclose(erased, leace(MIXED, lengths()).erase(MIXED))
    assert LinearRegression().fit(erased, lengths()).score(erased, lengths()) == pytest.approx(0, abs=1e-9)
