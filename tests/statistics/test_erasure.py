import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from clsviz.errors import UndefinedFitError
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL, erasure
from clsviz.statistics.ridge import ridge_probe

RANDOM = np.random.default_rng(0)
N, WIDTH = 400, 8
LENGTHS = RANDOM.integers(3, 80, N)
FOLDS = RANDOM.permutation(np.arange(N) % 5)
Z = (LENGTHS - LENGTHS.mean()) / LENGTHS.std()


def test_what_is_linear_goes_and_what_is_a_curve_stays() -> None:
    """The length stands in one dimension, and two others hold a circle along it, which a line cannot see."""
    vectors = 0.15 * RANDOM.normal(size=(N, WIDTH))
    vectors[:, 0] += Z
    vectors[:, 1] += np.cos(2 * Z)
    vectors[:, 2] += np.sin(2 * Z)
    *_, found = erasure(vectors, LENGTHS, FOLDS)
    before, after, control = (found.left[name] for name in (BEFORE, AFTER, CONTROL))
    assert (found.n, found.n_done) == (N, 5)
    assert np.mean(before.linear) == pytest.approx(ridge_probe(vectors, LENGTHS, FOLDS).r_squared, abs=1e-9)
    assert np.mean(before.linear) > 0.85
    assert np.mean(after.linear) == pytest.approx(0, abs=0.05)
    assert np.mean(before.nonlinear) > 0.9
    assert 0.2 < np.mean(after.nonlinear) < np.mean(before.nonlinear) - 0.1
    assert np.mean(before.neighbours) > 0.7
    for left, kept in ((control.linear, before.linear), (control.neighbours, before.neighbours)):
        assert np.mean(left) > np.mean(kept) - 0.25  # one direction of eight goes, whichever it is


def test_where_all_is_linear_nothing_is_left_for_anyone() -> None:
    vectors = RANDOM.normal(size=(N, WIDTH))
    vectors[:, 0] += 3 * Z
    *_, found = erasure(vectors, LENGTHS, FOLDS)
    assert np.mean(found.left[BEFORE].nonlinear) > 0.7
    assert np.mean(found.left[AFTER].nonlinear) < 0.1
    assert abs(np.mean(found.left[AFTER].neighbours)) < 0.15 < np.mean(found.left[BEFORE].neighbours)


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
