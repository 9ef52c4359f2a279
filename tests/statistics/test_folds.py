import numpy as np
import pytest
from sklearn.model_selection import KFold
from support.tiny import different_sentences

from clsviz.errors import UndefinedFitError
from clsviz.statistics.ridge import N_FOLDS, folds_of, ridge_probe


def test_sentences_that_differ_in_case_accents_or_white_space_share_a_fold() -> None:
    alike = [
        ["The Café closed.", "the cafe  closed.", "THE CAFE\u0301 CLOSED.", " the café\tclosed.\n"],
        ["Straße", "STRASSE", "strasse "],
        ["ﬁne", "fine"],
    ]
    sentences = [*different_sentences(40), *(text for group in alike for text in group)]
    for seed in range(20):
        of = dict(zip(sentences, folds_of(sentences, seed).tolist(), strict=True))
        assert all(len({of[text] for text in group}) == 1 for group in alike)
    assert len({tuple(folds_of(sentences, seed)) for seed in range(20)}) == 20
    np.testing.assert_array_equal(folds_of(sentences, 3), folds_of(sentences, 3))


def test_folds_hold_about_as_many_sentences() -> None:
    folds = folds_of(different_sentences(1003))
    assert folds.dtype == np.intp
    assert sorted(np.bincount(folds).tolist()) == [200, 200, 201, 201, 201]


def test_duplicates_across_folds_would_inflate_r_squared() -> None:
    """What `folds_of` is for: vectors of pure noise, every sentence three times."""
    random = np.random.default_rng(0)
    texts = different_sentences(100)
    sentences = [*texts, *(text.upper() for text in texts), *(text.replace(" ", "  ") for text in texts)]
    vectors, lengths = np.tile(random.normal(size=(100, 150)), (3, 1)), np.tile(random.integers(3, 80, 100), 3)
    leaking = np.empty(300, np.intp)
    for fold, (_, test) in enumerate(KFold(N_FOLDS, shuffle=True, random_state=0).split(vectors)):
        leaking[test] = fold
    assert ridge_probe(vectors, lengths, leaking).r_squared > 0.8
    assert ridge_probe(vectors, lengths, folds_of(sentences)).r_squared < 0.05


def test_too_few_different_sentences_make_no_folds() -> None:
    with pytest.raises(UndefinedFitError, match="These sentences are near-duplicates of only 4; at least 5"):
        folds_of(["one", "two", "three", "four", "FOUR", "öne"])
    with pytest.raises(UndefinedFitError, match="near-duplicates of only 0"):
        folds_of([])


def test_copies_of_one_sentence_are_not_said_to_differ() -> None:
    with pytest.raises(UndefinedFitError, match="All of these sentences are near-duplicates; at least 5"):
        folds_of(["One and the same sentence."] * 20)
