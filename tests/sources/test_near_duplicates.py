import random

import numpy as np
import pytest
from support.tiny import random_sentences

from clsviz.sources.near_duplicates import canonical, clusters_of
from clsviz.sources.sampling import Sample


def test_sentences_that_share_most_of_their_words_are_one_cluster() -> None:
    licence = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
    sentences = [
        licence,
        "Nothing like it.",
        f"{licence.upper()}!",
        f"{licence} and files",  # 15 of 17 words
        "Pérmission  is granted to nobody.",
        "«…»",
        "—",
        "«…»",
    ]
    assert clusters_of(sentences).tolist() == [0, 1, 0, 0, 2, 3, 4, 3]


def test_a_chain_of_pairs_is_one_cluster() -> None:
    words = [f"w{number}" for number in range(30)]
    chain = [" ".join(words[start : start + 12]) for start in range(0, 18, 2)]  # each pair shares 10 of 14
    assert clusters_of(chain).tolist() == [0] * 9
    loose = [" ".join(words[start : start + 12]) for start in range(0, 18, 3)]  # 9 of 15
    assert clusters_of(loose).tolist() == list(range(6))


def test_pairs_are_found_as_by_comparing_all_of_them() -> None:
    choose = random.Random(0)
    sentences = random_sentences(300, seed=2)
    for sentence in sentences[:150]:
        words = sentence.split()
        words[choose.randrange(len(words))] = "another"
        sentences.append(" ".join(words))
    sets = [frozenset(sentence.replace(".", "").split()) or frozenset([sentence]) for sentence in sentences]
    parents = list(range(len(sets)))

    def root(index: int) -> int:
        while parents[index] != index:
            index = parents[index]
        return index

    n_pairs = 0
    for one, words in enumerate(sets):
        for other in range(one):
            if len(words & sets[other]) >= 0.7 * len(words | sets[other]):
                parents[root(one)] = root(other)
                n_pairs += 1
    expected = [root(index) for index in range(len(sets))]
    found = clusters_of(sentences)
    assert n_pairs > 100
    assert len({*zip(found.tolist(), expected, strict=True)}) == len({*expected}) == len({*found.tolist()})


def test_clusters_are_numbered_from_0_and_always_the_same() -> None:
    sentences = random_sentences(200, seed=3)
    found = clusters_of(sentences)
    assert found.dtype == np.intp
    firsts = np.unique(found, return_index=True)[1]
    assert (np.diff(firsts) > 0).all()
    np.testing.assert_array_equal(found, clusters_of(sentences))
    assert clusters_of([]).shape == (0,)
    assert clusters_of(["one"]).tolist() == [0]


def test_a_sample_computes_its_clusters_once() -> None:
    sample = Sample(None, ["One two.", "one TWO", "three"], "")  # type: ignore[arg-type]
    assert not sample.knows_clusters
    assert sample.clusters.tolist() == [0, 0, 1]
    assert sample.knows_clusters
    assert sample.clusters is sample.clusters


@pytest.mark.parametrize(
    "sentence", ["The Café closed.", "the cafe  closed.", "THE CAFE\u0301 CLOSED.", "\tthe café closed.\n"]
)
def test_case_accents_and_white_space_do_not_count(sentence: str) -> None:
    assert canonical(sentence) == "the cafe closed."
