import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import cosine_similarity
from support.searched import WIDTH, lengths, noise, with_length

from clsviz.errors import UndefinedFitError
from clsviz.statistics.retrieval import length_groups, tf_idf
from clsviz.statistics.similarity import Directions, directions_of, mean_cosines, nearest_among, neighbours


def of_pairs(table: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, float]:
    """Means by cell, and R² of the cosines on them, from every pair of different sentences one by one."""
    pairs = ~np.eye(len(table), dtype=bool)
    cells = (groups[:, None] * 10 + groups[None])[pairs]
    cosines = table[pairs]
    means = np.array([cosines[cells == cell].mean() for cell in range(100)]).reshape(10, 10)
    return means, float(r2_score(cosines, means.ravel()[cells]))


@pytest.mark.parametrize("offset", [0, 50])
def test_means_and_share_are_those_of_all_pairs(offset: float) -> None:
    """With a large offset all cosines are near 1, and differ in the fifth decimal."""
    vectors = with_length(0.4, 200) + offset
    groups, _ = length_groups(lengths(200))
    expected, r_squared = of_pairs(cosine_similarity(vectors), groups)
    means, share = mean_cosines(directions_of(vectors), groups)
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-14)
    assert share == pytest.approx(r_squared, rel=1e-5)


def test_those_of_shared_words_are_of_all_pairs_too() -> None:
    texts = [" ".join(f"w{word}" for word in range(length % 7, length)) for length in lengths(120)]
    texts[5] = "?!"  # no word: a cosine of 0 with all
    weights = tf_idf(texts)
    groups, _ = length_groups(lengths(120))
    table = cosine_similarity(weights)
    expected, r_squared = of_pairs(table, groups)
    means, share = mean_cosines(Directions.of_sparse(weights), groups)
    np.testing.assert_allclose(means, expected, atol=1e-12)
    assert share == pytest.approx(r_squared)
    assert sparse.issparse(weights)


@pytest.mark.parametrize("offset", [0, 50])
def test_neighbours_are_the_nearest_by_cosine(offset: float) -> None:
    vectors = noise(150) + offset
    table = cosine_similarity(vectors)
    np.fill_diagonal(table, -np.inf)
    expected = np.argsort(-table, axis=1)[:, :10]
    np.testing.assert_array_equal(neighbours(directions_of(vectors)), expected)
    queries = noise(20, seed=9) + offset
    nearest = np.argsort(-cosine_similarity(queries, vectors), axis=1)[:, :10]
    np.testing.assert_array_equal(nearest_among(queries, vectors), nearest)


def test_equal_vectors_have_each_other_and_never_themselves() -> None:
    vectors = np.repeat(noise(15), 11, axis=0)
    found = neighbours(directions_of(vectors))
    for place, near in enumerate(found):
        assert place not in near
        assert {other // 11 for other in near} == {place // 11}


def test_vectors_of_one_direction_have_no_nearest() -> None:
    one = np.outer(lengths(), noise(1))
    with pytest.raises(UndefinedFitError, match="same direction"):
        directions_of(one.astype(np.float32))
    with pytest.raises(UndefinedFitError, match="not finite"):
        directions_of(np.full((200, WIDTH), np.nan))
