"""Cosine similarity, its ranks and the nearest, against their definitions."""

import math

import numpy as np
import pytest
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.errors import SettingError
from clsviz.measurements import POOLED
from clsviz.settings import Pooling
from clsviz.sources import models
from clsviz.statistics.similarity import nearest, percentiles_among_pairs, similarities, typical_similarity


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
    table = nearest(asked, vectors, sentences)
    assert table["sentence"].tolist() == expected
    np.testing.assert_allclose(table["similarity"], [found[sentence] for sentence in expected], atol=1e-6)
    times = [sentences.count(sentence) - (sentence == sentences[7]) for sentence in expected]
    assert table["times"].tolist() == times
    assert len(nearest(asked, vectors, sentences, n=1000)) == 60


def test_nothing_is_near_to_a_vector_without_direction() -> None:
    with pytest.raises(SettingError, match="no direction"):
        nearest(np.zeros(3, np.float32), np.ones((2, 3), np.float32), ["a", "b"])
    assert not len(nearest(np.ones(3, np.float32), np.empty((0, 3), np.float32), []))
