"""Near-duplicates."""

import itertools
import random

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from clsviz.sources import near_duplicates
from clsviz.sources.near_duplicates import near_duplicates as find

WORDS = "garden river stone lamp paper window bread winter summer music letter".split()  # noqa: SIM905
LONG = " ".join(f"word{chr(97 + n)}" for n in range(26)) + " " + " ".join(WORDS)


@pytest.mark.parametrize(
    ("sentences", "clusters"),
    [
        (["A cat.", "a  CAT!", "a dog", "a cat"], [0, 0, 1, 0]),
        (["Page 1 of 2", "Page 17 of 3,000.5", "Page of"], [0, 0, 1]),
        (["Où ça?", "ou ca", "?!", "!!", "?!"], [0, 0, 1, 2, 1]),
        ([LONG, LONG.replace("lamp", "torch"), LONG.replace("lamp", "a b c")], [0, 0, 1]),
        (["1 and 2 and 3", "2 and 3 and 1", "1 or 2 or 3 or 4", "2 or 3 or 4 or 5"], [0, 0, 1, 2]),
        (["4 1 6", "4,1,7", "7", "4. 1. 6."], [0, 1, 2, 0]),
        (["a a a", "a a a a", "a " * 20, "a " * 21], [0, 1, 2, 2]),
        ([], []),
    ],
)
def test_copies_and_those_nearly_so_are_found(sentences: list[str], clusters: list[int]) -> None:
    assert find(sentences).tolist() == clusters


def test_clusters_are_those_of_a_comparison_of_all_pairs() -> None:
    rng = random.Random(0)
    base = [" ".join(rng.choices(WORDS, k=rng.randint(5, 60))) for _ in range(60)]
    changed = [
        " ".join(w if rng.random() > 0.02 else "new" for w in text.split()) for text in base * 4
    ]
    sentences = list(dict.fromkeys(base + changed))
    with_special_tokens = [f"begin {text} end" for text in sentences]
    pairs = CountVectorizer(ngram_range=(2, 2)).fit_transform(with_special_tokens).toarray()
    shared, all_pairs = (
        np.stack([some(row, pairs).sum(axis=1) for row in pairs])
        for some in (np.minimum, np.maximum)
    )
    is_near = shared >= 0.9 * all_pairs - 1e-9
    firsts: list[int] = []
    for row in range(len(sentences)):
        is_first = [first for first in range(row) if firsts[first] == first and is_near[row, first]]
        firsts.append(is_first[0] if is_first else row)
    assert len(set(firsts)) < len(sentences) - 30
    assert find(sentences).tolist() == [sorted(set(firsts)).index(first) for first in firsts]


def test_templates_do_not_merge() -> None:
    triples = list(itertools.permutations(["Anna", "Ben", "Carl", "Dora", "Emil", "Fred"], 3))
    sentences = ["{} gave {} a book, and then {} read it.".format(*triple) for triple in triples]
    assert find(sentences).tolist() == list(range(len(triples)))


def test_beyond_the_first_only_copies_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "MOST_COMPARED", 2)
    sentences = ["Page 1", "b", "Page 2", " page  1", "c", "B", "C"]
    assert find(sentences).tolist() == [0, 1, 2, 0, 3, 1, 3]
