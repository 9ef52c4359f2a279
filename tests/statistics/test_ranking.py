import math
from collections import Counter

import numpy as np
import pytest

from clsviz.statistics import ranking
from clsviz.statistics.exposure import Outcome
from clsviz.statistics.ranking import Relevance


@pytest.fixture
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """50 queries and 200 texts."""
    random = np.random.RandomState(0)
    return random.normal(size=(50, 8)), random.normal(size=(200, 8)) + 3


@pytest.fixture
def relevance() -> Relevance:
    """1 to 15 right texts of each query."""
    random = np.random.RandomState(1)
    sizes = 1 + np.arange(50) % 15
    right = [np.sort(random.choice(200, size, replace=False)) for size in sizes]
    return Relevance.of(right, 200)


def test_the_ten_largest_products_are_found_in_any_number_of_blocks(vectors, monkeypatch) -> None:
    queries, texts = vectors
    expected = np.argsort(-(queries @ texts.T), axis=1)[:, :10]
    assert (ranking.rank(queries, texts) == expected).all()
    monkeypatch.setattr(ranking, "BLOCK", 1400)
    assert (ranking.rank(queries, texts) == expected).all()


def test_scores_are_shifted_and_scaled_by_text(vectors) -> None:
    queries, texts = vectors
    shift, scale = np.linspace(0, 5, 200), np.linspace(1, 2, 200)
    expected = np.argsort(-(queries @ texts.T - shift) * scale, axis=1)[:, :10]
    assert (ranking.rank(queries, texts, shift, scale) == expected).all()


def test_recall_and_ndcg_are_those_of_their_definitions(vectors, relevance: Relevance) -> None:
    tens = ranking.rank(*vectors)
    outcome = Outcome.of(tens, relevance, np.arange(200) % 5)
    for search, ten in enumerate(tens.tolist()):
        right = set(relevance.texts[relevance.searches == search].tolist())
        assert outcome.recall[search] == pytest.approx(len(right & {*ten}) / min(10, len(right)))
        gains = sum(1 / math.log2(n + 2) for n, text in enumerate(ten) if text in right)
        ideal = sum(1 / math.log2(n + 2) for n in range(min(10, len(right))))
        assert outcome.ndcg[search] == pytest.approx(gains / ideal)


def test_the_best_right_text_and_its_rank_are_found(vectors, relevance: Relevance) -> None:
    queries, texts = vectors
    ranks, nearest = ranking.right_ranks(queries, texts, relevance)
    order = np.argsort(-(queries @ texts.T), axis=1).tolist()
    for search, places in enumerate(order):
        right = set(relevance.texts[relevance.searches == search].tolist())
        best = next(place for place in places if place in right)
        assert (nearest[search], ranks[search]) == (best, places.index(best) + 1)


def bm25(query: list[str], text: list[str], texts: list[list[str]]) -> float:
    """The formula, a word at a time, with k1 1.2 and b 0.75."""
    mean = sum(map(len, texts)) / len(texts)
    score = 0.0
    for word in query:
        n = sum(word in other for other in texts)
        idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
        count = Counter(text)[word]
        score += idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / mean))
    return score


def test_bm25_is_that_of_its_formula() -> None:
    random = np.random.RandomState(0)
    texts = [[f"w{w}" for w in random.zipf(1.5, n) if w < 60] for n in range(5, 65)]
    queries = [["w1", "w2", "w30"], ["w3", "w1", "w7"], ["w2", "w5", "w6"]]
    tens = ranking.rank_by_words([" ".join(q) for q in queries], [" ".join(t) for t in texts])
    for query, ten in zip(queries, tens, strict=True):
        scores = np.array([bm25(query, text, texts) for text in texts])
        assert scores[ten] == pytest.approx(np.sort(scores)[::-1][:10], rel=1e-5)


def test_texts_without_words_are_found_at_random() -> None:
    tens = ranking.rank_by_words(["?", "!"] * 50, ["…"] * 40)
    assert np.bincount(tens.ravel(), minlength=40).min() > 10


def test_chance_is_the_recall_of_random_texts(relevance: Relevance) -> None:
    random = np.random.RandomState(0)
    tens = np.stack([random.permutation(200)[:10] for _ in range(50 * 400)]).reshape(400, 50, 10)
    means = [Outcome.of(ten, relevance, np.arange(200) % 5).recall.mean() for ten in tens]
    assert relevance.chance == pytest.approx(np.mean(means), rel=0.03)
