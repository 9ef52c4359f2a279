"""Cosine similarity, its ranks, its means by length and the nearest, against their definitions."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import cosine_similarity
from support.searched import WIDTH, N, lengths, noise, with_length
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.errors import SettingError, UndefinedFitError
from clsviz.measurements import POOLED
from clsviz.settings import Pooling
from clsviz.sources import models
from clsviz.statistics.similarity import (
    Chance,
    Directions,
    LengthBias,
    chance,
    check_lengths,
    directions_of,
    first_of_each,
    length_bias,
    length_groups,
    mean_cosines,
    nearest,
    nearest_among,
    neighbours,
    percentiles_among_pairs,
    random_apart,
    share_kept,
    similarities,
    tf_idf,
    typical_similarity,
)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """By its definition, one component after another."""
    product = math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True))
    lengths = (math.sqrt(math.fsum(float(x) ** 2 for x in vector)) for vector in (a, b))
    return product / math.prod(lengths)


def test_similarities_are_those_of_sentence_transformers(minilm_encoder: Encoder) -> None:
    from sentence_transformers import SentenceTransformer

    typed = ["A dog sleeps.", "The cat is asleep on the mat.", "Return the key's value.", "Return the value of a key."]
    folder = models.find("minilm").folder
    theirs = SentenceTransformer(str(folder), device="cpu").encode(typed, normalize_embeddings=True)
    ours = similarities(minilm_encoder.vectors(typed).of(Pooling.MEAN, None))
    np.testing.assert_allclose(ours, theirs @ theirs.T, atol=5e-5)
    assert ours[2, 3] > 0.8 > 0.3 > ours[0, 2]
    np.testing.assert_array_equal(np.diag(ours), 1)


def test_a_vector_that_is_zero_is_similar_to_nothing() -> None:
    table = similarities(np.array([[1, 0], [0, 0], [-2, 0]], np.float32))
    np.testing.assert_array_equal(table, [[1, np.nan, -1], [np.nan] * 3, [-1, np.nan, 1]])
    assert math.isnan(typical_similarity(np.array([[1, 0], [0, 0]], np.float32)))
    assert typical_similarity(np.array([[1, 0], [0, 0], [0, 3]], np.float32)) == 0


def test_the_typical_similarity_is_the_mean_of_all_pairs(tiny_encoder: Encoder) -> None:
    vectors = tiny_encoder.vectors(random_sentences(6, seed=3))
    for pooling in POOLED:
        for layer in range(3):
            of = vectors.of(pooling, layer)
            pairs = [cosine(of[a], of[b]) for a in range(6) for b in range(a)]
            assert typical_similarity(of) == pytest.approx(np.mean(pairs), abs=1e-6)


def test_a_similarity_is_ranked_among_all_pairs() -> None:
    vectors = np.array(
        [[1, 0], [0, 1], [-1, 0], [0, 0]], np.float32
    )  # pairs of 0, −1 and 0, and those without direction
    np.testing.assert_array_equal(
        percentiles_among_pairs(np.array([0.5, 0, -0.5, -1, np.nan]), vectors), [100, 100 / 3, 100 / 3, 0, np.nan]
    )
    assert np.isnan(percentiles_among_pairs(np.array([0.5]), vectors[:1])).all()
    assert np.isnan(percentiles_among_pairs(np.array([0.5]), vectors[2:])).all()


def test_the_nearest_are_those_that_a_look_at_each_finds(tiny_encoder: Encoder) -> None:
    sentences = random_sentences(60, seed=4)
    sentences += sentences[:20]
    vectors = tiny_encoder.vectors(sentences).of(Pooling.MEAN, None)
    vectors[7] = 0
    asked = tiny_encoder.vectors(["the cat sat on the mat ."]).of(Pooling.MEAN, None)[0]
    found: dict[str, float] = {}
    for sentence, vector in zip(sentences, vectors, strict=True):
        if vector.any():
            found[sentence] = max(cosine(asked, vector), found.get(sentence, -1))
    expected = sorted(found, key=lambda sentence: -found[sentence])[:10]
    near = nearest(asked, vectors, sentences)
    table = near.table
    assert (near.n_compared, near.n_without, near.n_tied) == (79, 1, 0)
    assert table["sentence"].tolist() == expected
    np.testing.assert_allclose(table["similarity"], [found[sentence] for sentence in expected], atol=1e-6)
    times = [sentences.count(sentence) - (sentence == sentences[7]) for sentence in expected]
    assert table["times"].tolist() == times
    assert len(nearest(asked, vectors, sentences, n=1000).table) == 60


def test_sentences_that_are_as_near_as_the_last_are_told() -> None:
    vectors = np.array([[2, 0], [1, 1], [0, 3], [1, 1], [2, 2], [0, 0]], np.float32)
    near = nearest(np.array([1, 0], np.float32), vectors, list("abcdef"), n=2)
    assert near.table["sentence"].tolist() == ["a", "b"]
    assert (near.n_compared, near.n_without, near.n_tied) == (5, 1, 2)


def test_nothing_is_near_to_a_vector_without_direction() -> None:
    with pytest.raises(SettingError, match="no direction"):
        nearest(np.zeros(3, np.float32), np.ones((2, 3), np.float32), ["a", "b"])
    for nothing in (np.empty((0, 3), np.float32), np.zeros((2, 3), np.float32)):
        near = nearest(np.ones(3, np.float32), nothing, ["a", "b"][: len(nothing)])
        assert (len(near.table), near.n_compared, near.n_without) == (0, 0, len(nothing))


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
    found = neighbours(directions_of(vectors))
    np.testing.assert_array_equal(found.index, expected)
    assert not found.is_tied.any()
    queries = noise(20, seed=9) + offset
    nearest = np.argsort(-cosine_similarity(queries, vectors), axis=1)[:, :10]
    np.testing.assert_array_equal(nearest_among(queries, vectors).index, nearest)


def test_equal_vectors_have_each_other_and_never_themselves() -> None:
    vectors = np.repeat(noise(15), 11, axis=0)
    found = neighbours(directions_of(vectors))
    for place, near in enumerate(found.index):
        assert place not in near
        assert {other // 11 for other in near} == {place // 11}
    assert not found.is_tied.any()  # each has ten others like it
    assert neighbours(directions_of(np.repeat(noise(15), 12, axis=0))).is_tied.all()


def test_zero_vectors_have_no_neighbours_and_are_nobodys() -> None:
    """By Euclidean distance they would be everybody's: at 1 from every unit vector, an unrelated one at √2."""
    words = np.kron(np.eye(30), np.ones((4, 1)))  # four texts of each word, and none else has it
    dense = np.vstack([words, np.zeros((20, 30))])
    weights = tf_idf([f"w{row.argmax()}" if row.any() else ")" for row in dense])
    for of in (directions_of(dense), Directions.of_sparse(weights)):
        found = neighbours(of)
        assert (found.index[120:] == -1).all()
        assert set(found.index[:120].ravel().tolist()) <= set(range(120))
        np.testing.assert_array_equal(found.is_tied, np.arange(140) < 120)  # but for three, none shares a word
        np.testing.assert_array_equal(np.sort(found.index[0, :3]), [1, 2, 3])
    bias = length_bias(Directions.of_sparse(weights), np.r_[lengths(120), np.ones(20)])
    assert (bias.n_without, bias.n_tied) == (20, 120)
    assert bias.times_found[0] == 0  # all of the shortest tenth are empty
    among = nearest_among(np.vstack([dense[:1], dense[-1:]]), dense, 3)
    assert set(among.index[0].tolist()) <= {0, 1, 2, 3}
    assert (among.index[1] == -1).all()
    with pytest.raises(UndefinedFitError, match="Only 8 of the vectors have a direction"):
        neighbours(directions_of(np.vstack([dense[:8], np.zeros((20, 30))])))


def test_vectors_of_one_direction_have_no_nearest() -> None:
    one = np.outer(lengths(), noise(1))
    with pytest.raises(UndefinedFitError, match="same direction"):
        directions_of(one.astype(np.float32))
    with pytest.raises(UndefinedFitError, match="not finite"):
        directions_of(np.full((200, WIDTH), np.nan))


def bias_of(vectors: np.ndarray) -> tuple[LengthBias, Chance]:
    directions = directions_of(vectors)
    bias = length_bias(directions, lengths(len(vectors)))
    return bias, chance(directions, lengths(len(vectors)), bias.neighbours)


def test_a_direction_of_the_length_bends_both() -> None:
    bias, control = bias_of(with_length(2))
    assert bias.length_share > 0.3 > 10 * control.length_share_limit
    assert bias.neighbour_correlation > 0.8
    assert abs(control.neighbour_correlation) < 0.02 < control.neighbour_correlation_limit < 0.15
    assert bias.lengths_apart < 0.6 * random_apart(lengths())
    cells = bias.cosine_by_length
    assert cells[0, 0] > 0.5 > 0 > cells[0, 9]
    assert np.ptp(control.cosine_by_length) < 0.1 * np.ptp(cells)
    assert control.cosine_by_length.shape == (10, 10)


def test_the_correlation_is_spearmans_of_the_mean_length_of_the_ten() -> None:
    bias, _ = bias_of(with_length(0.5))
    means = [lengths()[near].mean() for near in bias.neighbours]
    assert bias.neighbour_correlation == pytest.approx(stats.spearmanr(lengths(), means).statistic)
    apart = np.mean(
        [np.abs(lengths()[near] - own).mean() for own, near in zip(lengths(), bias.neighbours, strict=True)]
    )
    assert bias.lengths_apart == pytest.approx(apart)
    groups, _ = length_groups(lengths())
    times = np.array([np.sum(bias.neighbours == place) for place in range(N)])
    np.testing.assert_allclose(bias.times_found, [times[groups == group].mean() for group in range(10)])


def test_groups_are_tenths_by_length() -> None:
    groups, ranges = length_groups(lengths())
    assert np.bincount(groups).tolist() == [60] * 10
    assert ranges[0][0] == lengths().min()
    assert ranges[-1][1] == lengths().max()
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ranges))
    assert np.corrcoef(groups, lengths())[0, 1] > 0.99


def test_the_difference_of_random_lengths_is_that_of_all_pairs() -> None:
    apart = np.abs(lengths()[:, None] - lengths()[None])
    assert random_apart(lengths()) == pytest.approx(apart.sum() / (N * (N - 1)))


def test_what_is_kept_is_a_share_of_the_ten() -> None:
    before = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    assert share_kept(before, np.array([[4, 3, 9, 10], [5, 6, 7, 8]])) == 0.75


def test_the_first_of_equal_sentences_stays() -> None:
    assert first_of_each(["A cat.", "a  cat.", "Dogs", "á cat."]).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("of", "why"), [(np.arange(99), "At least 100"), (np.full(200, 7), "the same length"), (np.arange(0), "only 0")]
)
def test_what_cannot_be_said_is_explained(of: np.ndarray, why: str) -> None:
    with pytest.raises(UndefinedFitError, match=why):
        check_lengths(of)


def test_weights_are_those_of_the_formula() -> None:
    """Term frequency times 1 + ln((1 + n) / (1 + df)), divided by the norm."""
    weights = tf_idf(["a cat sat", "A cat, a cat", "dogs ran"]).toarray()
    rare, common = 1 + np.log(4 / 2), 1 + np.log(4 / 3)
    first = np.array([common, common, rare])
    second = np.array([2 * common, 2 * common])
    cosine = (first[:2] @ second) / (np.linalg.norm(first) * np.linalg.norm(second))
    assert weights[0] @ weights[1] == pytest.approx(cosine)
    assert weights[0] @ weights[2] == 0
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1)


def test_without_words_there_is_no_baseline() -> None:
    with pytest.raises(UndefinedFitError, match="no words"):
        tf_idf(["?!", "…"])
