import random
from itertools import pairwise

import numpy as np
import pytest
from support.tiny import random_sentences

from benchmarks.near_duplicates import from_template
from clsviz.sources.near_duplicates import LEAST_SHARED, canonical, clusters_of
from clsviz.sources.sampling import Sample


def test_what_differs_in_case_spacing_punctuation_or_digits_is_a_near_duplicate() -> None:
    licence = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"
    sentences = [
        licence,
        "Nothing like it.",
        f"  {licence.upper()}!",
        licence.replace("any person", "another person"),
        "Version 3.14 of 12 May.",
        "version 4, of 3 May",
        "Anna saw Ben.",
        "Ben saw Anna.",
        "«…»",
        "—",
        "«…»",
    ]
    assert clusters_of(sentences).tolist() == [0, 1, 0, 2, 3, 3, 4, 5, 6, 7, 6]


@pytest.mark.parametrize(("n_words", "is_near"), [(36, False), (37, True), (80, True)])
def test_one_word_may_differ_in_long_sentences(n_words: int, is_near: bool) -> None:
    words = random.Random(0).sample([f"{one}{other}" for one in "abcdefghij" for other in "klmnopqrst"], n_words)
    other = [*words[:10], "another", *words[11:]]
    assert (len(set(clusters_of([" ".join(words), " ".join(other)]))) == 1) == is_near


def test_no_chain_joins_what_is_far_apart() -> None:
    words = [f"{one}{other}" for one in "abcdefghij" for other in "klmnopqrst"][:60]
    chain = [" ".join([*["changed"] * step, *words[step:]]) for step in range(20)]  # each near the one before it
    groups = clusters_of(chain)
    assert len(set(groups)) > 4
    firsts = [chain[np.flatnonzero(groups == group)[0]].split() for group in groups]
    for text, first in zip(chain, firsts, strict=True):
        one, other = (set(pairwise(["", *of, ""])) for of in (text.split(), first))
        assert len(one & other) >= LEAST_SHARED * len(one | other)


def test_sentences_made_from_a_template_stay_separate() -> None:
    texts = from_template(800, np.random.default_rng(0))
    assert len(texts) == 800
    assert len(set(clusters_of(texts))) >= 0.95 * 800


def test_each_sentence_is_near_the_first_of_its_group_and_pairs_are_found_as_by_comparing_all_of_them() -> None:
    choose = random.Random(0)
    sentences = random_sentences(200, seed=2, longest=90)
    for sentence in sentences[:150]:
        words = sentence.split()
        words[choose.randrange(len(words))] = "another"
        sentences.append(" ".join(words))
    sets = [set(pairwise(["", *sentence.replace(".", "").split(), ""])) for sentence in sentences]
    firsts: list[int] = []
    expected = []
    for of in sets:
        near = [first for first in firsts if len(of & sets[first]) >= LEAST_SHARED * len(of | sets[first])]
        if not near:
            firsts.append(len(expected))
        expected.append(firsts.index(near[0]) if near else len(firsts) - 1)
    assert 200 < len(firsts) < 300
    assert clusters_of(sentences).tolist() == expected


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
