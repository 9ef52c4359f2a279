"""Sentences that are the same or nearly, which tell little more together than one of them alone."""

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


LEAST_SHARED = 0.7
"""Sentences are alike if the words they share are at least this much of the words that either has (Jaccard)."""

_BANDS, _ROWS = 20, 4
"""Of MinHash: they find a pair that shares 0.7 of its words with a probability of 0.996."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def clusters_of(sentences: Sequence[str]) -> NDArray[np.intp]:
    """The number of the cluster that each of n sentences belongs to: intp (n,), from 0, in order of appearance.

    Two sentences share a cluster if the sets of their words have a Jaccard similarity of at least LEAST_SHARED, and so
    do those that a chain of such pairs connects. Case, accents, punctuation and the order and number of words do not
    count; sentences without any word are compared as they are.

    Pairs are looked for by MinHash (Broder 1997) in bands (Leskovec, Rajaraman and Ullman 2020, chapter 3), and then
    compared word by word, so no pair that is found is a wrong one.
    """
    from scipy.sparse import coo_array, csgraph

    numbers: dict[frozenset[str], int] = {}
    of_sentence = np.empty(len(sentences), np.intp)
    for index, sentence in enumerate(sentences):
        of_sentence[index] = numbers.setdefault(_words(sentence), len(numbers))
    if len(numbers) < 2:
        return of_sentence
    sets = _matrix(list(numbers))
    first, second = _candidates(sets)
    sizes = np.diff(sets.indptr)
    shared = sets[first].multiply(sets[second]).sum(axis=1)
    alike = shared >= LEAST_SHARED * (sizes[first] + sizes[second] - shared) - 1e-9
    pairs = coo_array((np.ones(alike.sum(), bool), (first[alike], second[alike])), shape=(len(numbers),) * 2)
    _, cluster = csgraph.connected_components(pairs, directed=False)
    return numbered(cluster[of_sentence])


def numbered(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """The same clusters, whatever their labels (n,), numbered from 0 in order of appearance: intp (n,)."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def canonical(sentence: str) -> str:
    """The sentence without case, accents and extra white space: equal for sentences that count as the same."""
    if not sentence.isascii():
        letters = (letter for letter in unicodedata.normalize("NFKD", sentence) if not unicodedata.combining(letter))
        sentence = "".join(letters)
    return " ".join(sentence.casefold().split())


def _words(sentence: str) -> frozenset[str]:
    text = canonical(sentence)
    return frozenset(re.findall(r"\w+", text)) or frozenset([text])


def _matrix(sets: list[frozenset[str]]) -> "csr_array":
    """One row per set, one column per word, 1 where the set has the word."""
    from scipy.sparse import csr_array

    numbers: dict[str, int] = {}
    columns: list[int] = []
    for words in sets:
        columns += [numbers.setdefault(word, len(numbers)) for word in sorted(words)]
    starts = np.cumsum([0, *map(len, sets)])
    return csr_array((np.ones(len(columns), np.int32), columns, starts), shape=(len(sets), len(numbers)))


def _candidates(sets: "csr_array") -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of rows that may be alike: neighbours among those that agree in the least words of some band."""
    n, n_words = sets.shape
    random = np.random.default_rng(0)
    found = []
    for _ in range(_BANDS):
        band = np.zeros(n, np.uint64)
        for _ in range(_ROWS):
            ranks = random.permutation(n_words).astype(np.uint32)
            band = band * _MULTIPLIER + np.minimum.reduceat(ranks[sets.indices], sets.indptr[:-1])
        order = np.argsort(band, kind="stable")
        agree = np.flatnonzero(band[order[1:]] == band[order[:-1]])
        found.append(order[agree] * n + order[agree + 1])  # the sort is stable: the first is the smaller
    return np.divmod(np.unique(np.concatenate(found)), n)
