import math
from collections import Counter

import numpy as np
import pytest

from clsviz.statistics import ranking
from clsviz.statistics.exposure import Evaluation


@pytest.fixture
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """50 queries and 200 texts."""
    random = np.random.RandomState(0)
    return random.normal(size=(50, 8)), random.normal(size=(200, 8)) + 3


@pytest.fixture
def evaluation() -> Evaluation:
    """1 to 15 right texts of each query."""
    random = np.random.RandomState(1)
    sizes = 1 + np.arange(50) % 15
    relevant = [np.sort(random.choice(200, size, replace=False)) for size in sizes]
    return Evaluation.of(relevant, np.arange(200, dtype=np.int32))


def test_the_ten_largest_products_are_found_in_any_number_of_blocks(vectors, monkeypatch) -> None:
    queries, texts = vectors
    shift, scale = np.linspace(0, 5, 200), np.linspace(1, 2, 200)
    products = queries @ texts.T
    for block in (ranking.BLOCK, 1400):
        monkeypatch.setattr(ranking, "BLOCK", block)
        expected = np.argsort(-products, axis=1)[:, :10]
        assert (ranking.rank(queries, texts) == expected).all()
        expected = np.argsort(-(products - shift) * scale, axis=1)[:, :10]
        assert (ranking.rank(queries, texts, shift, scale) == expected).all()


def test_recall_ndcg_and_the_best_right_text_are_those_of_their_definitions(
    vectors, evaluation: Evaluation, monkeypatch
) -> None:
    queries, texts = vectors
    qrels, order = evaluation.qrels, np.argsort(-(queries @ texts.T), axis=1)
    numbers = evaluation.rank(order[:, :10])
    monkeypatch.setattr(ranking, "BLOCK", 1400)
    ranks, nearest = ranking.relevant_ranks(queries, texts, qrels)
    for search, places in enumerate(order.tolist()):
        relevant = set(qrels.texts[qrels.searches == search].tolist())
        ranks_of_right = [rank for rank, place in enumerate(places, 1) if place in relevant]
        in_ten = [rank for rank in ranks_of_right if rank <= 10]
        n = min(10, len(relevant))
        assert numbers.recalls[search] == pytest.approx(len(in_ten) / n)
        gains, ideal = (sum(1 / math.log2(r + 1) for r in rs) for rs in (in_ten, range(1, n + 1)))
        assert numbers.ndcgs[search] == pytest.approx(gains / ideal)
        assert ranks[search] == ranks_of_right[0]
        assert nearest[search] == places[ranks_of_right[0] - 1]


def test_among_equal_scores_a_right_text_has_the_mean_rank() -> None:
    random, scores = np.random.RandomState(0), np.array([9, 5, 5, 5, 5, 5, 5, 3])
    for relevant in ([3], [2, 4, 5]):
        orders = [np.lexsort((random.random_sample(8), -scores)) for _ in range(2000)]
        mean = np.mean([1 + np.isin(order, relevant).argmax() for order in orders])
        qrels = ranking.Qrels.of([np.array(relevant)], 8)
        rank = ranking.relevant_ranks([[1]], scores[:, None], qrels)[0]
        assert rank == math.ceil(mean - 0.1)  # 4.5 and 2.75, by draws


@pytest.mark.parametrize("n_directions", [1, 9, 200])
def test_texts_of_one_cosine_share_their_places(n_directions: int, evaluation: Evaluation) -> None:
    random, qrels = np.random.RandomState(0), evaluation.qrels
    vectors = random.normal(size=(n_directions, 8))[random.randint(0, n_directions, 200)]
    texts = vectors * random.uniform(1, 2, (200, 1)) if n_directions == 200 else vectors
    queries = random.normal(size=(50, 8))
    cosines = (queries @ (vectors / np.linalg.norm(vectors, axis=1)[:, None]).T).round(9)
    orders = [np.lexsort((random.random_sample(cosines.shape), -cosines)) for _ in range(300)]
    drawn = np.mean([qrels.recalls(order[:, :10]) for order in orders], axis=0)
    assert ranking.shared_recalls(queries, texts, qrels) == pytest.approx(drawn, abs=0.1)


@pytest.mark.parametrize("n_levels", [1, 9, 90])
def test_equal_scores_are_in_one_random_order_on_every_processor(n_levels: int) -> None:
    scores = np.random.RandomState(1).randint(0, n_levels, 300)
    order = np.random.RandomState(0).permutation(300)
    expected = sorted(range(300), key=lambda place: (-scores[place], order[place]))[:10]
    assert ranking.rank([[1]], scores[:, None]).tolist() == [expected]


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
    top_k = ranking.rank_by_words([" ".join(q) for q in queries], [" ".join(t) for t in texts])
    for query, ten in zip(queries, top_k, strict=True):
        scores = np.array([bm25(query, text, texts) for text in texts])
        assert scores[ten] == pytest.approx(np.sort(scores)[::-1][:10], rel=1e-5)


def test_texts_without_words_are_found_at_random() -> None:
    top_k = ranking.rank_by_words(["?", "!"] * 50, ["…"] * 40)
    assert np.bincount(top_k.ravel(), minlength=40).min() > 10


def test_chance_is_the_recall_of_random_texts(evaluation: Evaluation) -> None:
    random = np.random.RandomState(0)
    qrels, hits = evaluation.qrels, np.zeros(50)
    for _ in range(400):
        top_k = np.stack([random.permutation(200)[:10] for _ in range(50)])
        matches = (top_k[qrels.searches] == qrels.texts[:, None]).any(axis=1)
        hits += np.bincount(qrels.searches, matches)
    recall = hits / 400 / np.minimum(qrels.n_relevant, 10)
    assert qrels.chance == pytest.approx(recall.mean(), rel=0.03)
