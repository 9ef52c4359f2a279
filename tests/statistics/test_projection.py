import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from clsviz.errors import UndefinedFitError
from clsviz.statistics.probes import MOST_PROJECTED, projection

RANDOM = np.random.default_rng(0)
N, WIDTH = 400, 8
LENGTHS = RANDOM.integers(3, 80, N)
FOLDS = RANDOM.permutation(np.arange(N) % 5)
Z = (LENGTHS - LENGTHS.mean()) / LENGTHS.std()


def vectors(*sizes: float) -> np.ndarray:
    """Noise whose second dimension holds the length, far from the origin; sizes: of the first dimensions."""
    made = 0.1 * RANDOM.normal(size=(N, WIDTH))
    made[:, 0] += sizes[0] * RANDOM.normal(size=N)
    made[:, 1] += sizes[1] * Z
    return (made + 50).astype(np.float32)


def test_the_coordinates_and_shares_are_those_of_a_singular_value_decomposition() -> None:
    made = vectors(5, 2)
    found = projection(made, LENGTHS, FOLDS)
    x = made.astype(float) - made.mean(axis=0, dtype=float)
    left, values, _ = np.linalg.svd(x, full_matrices=False)
    expected = left[:, :2] * values[:2]
    signs = np.sign((expected * found.coordinates).sum(axis=0))
    np.testing.assert_allclose(found.coordinates, expected * signs, atol=1e-4)
    assert found.shares == pytest.approx(tuple(values[:2] ** 2 / (values**2).sum()), rel=1e-6)
    assert (found.n, found.coordinates.dtype) == (N, np.float32)


def test_r_squared_is_held_out_and_of_the_two_numbers_alone() -> None:
    found = projection(made := vectors(5, 2), LENGTHS, FOLDS)
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


def test_a_length_that_is_not_there_is_not_found() -> None:
    assert projection(vectors(5, 2), RANDOM.permutation(LENGTHS), FOLDS).r_squared < 0.02


def test_where_nothing_can_be_said_the_reason_is() -> None:
    with pytest.raises(UndefinedFitError, match="the same for all"):
        projection(np.full((N, WIDTH), 3, np.float32), LENGTHS, FOLDS)
    with pytest.raises(UndefinedFitError, match="only 4"):
        projection(vectors(1, 1)[:4], LENGTHS[:4], FOLDS[:4])


def test_no_more_are_projected_than_are_drawn() -> None:
    n = MOST_PROJECTED + 10
    made = RANDOM.normal(size=(n, 3)).astype(np.float32)
    found = projection(made, np.arange(n) % 70, np.arange(n) % 5)
    assert found.n == MOST_PROJECTED
