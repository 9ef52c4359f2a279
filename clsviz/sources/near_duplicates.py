"""Sentences that are the same or nearly, which tell little more together than one of them alone."""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


LEAST_SHARED = 0.9
"""Sentences are near-duplicates if the pairs of neighbouring words that they share are at least this much of those that
either has (Jaccard): one word in 37 may be another one. With less, sentences made from a template would not be told
apart, which differ in a single word; docs/method.md has what was measured."""

_BANDS, _ROWS = 10, 5
"""Of MinHash: they find a pair that shares 0.9 with a probability of 0.9999."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def clusters_of(sentences: Sequence[str]) -> NDArray[np.intp]:
    """The number of the group of near-duplicates that each of n sentences belongs to: intp (n,), from 0, in order.

    Every sentence of a group is a near copy of the first of it: the same words in the same order, whatever their case
    and accents, the spaces and punctuation between them, and the digits of numbers; or words that differ so little that
    the pairs of neighbouring ones, with the sentence's beginning and end, have a Jaccard similarity of at least
    LEAST_SHARED. A sentence that is near to several firsts belongs to the earliest. Sentences without any word are
    compared as they are.

    Pairs are looked for by MinHash (Broder 1997) in bands (Leskovec, Rajaraman and Ullman 2020, chapter 3), and then
    compared, so no pair that is found is a wrong one.
    """
    import pandas as pd
    from scipy.sparse import csr_array

    numbers: dict[tuple[str, ...], int] = {}
    of_sentence = np.empty(len(sentences), np.intp)
    for index, sentence in enumerate(sentences):
        text = canonical(sentence)
        words = tuple(re.findall(r"\w+", _NUMBER.sub("0", text))) or (text,)
        of_sentence[index] = numbers.setdefault(words, len(numbers))
    if len(numbers) < 2:
        return of_sentence
    # One row for each, and one column per pair of words, 1 where they have it.
    of_pair: dict[str, int] = {}
    columns, starts = [], [0]
    for words in numbers:
        pairs = sorted({f"{one} {other}" for one, other in pairwise(("", *words, ""))})
        columns += [of_pair.setdefault(pair, len(of_pair)) for pair in pairs]
        starts.append(len(columns))
    sets: csr_array = csr_array((np.ones(len(columns), np.int32), columns, starts), shape=(len(numbers), len(of_pair)))
    first, second = _candidates(sets)
    sizes = np.diff(sets.indptr)
    shared = sets[first].multiply(sets[second]).sum(axis=1)
    is_near = shared >= LEAST_SHARED * (sizes[first] + sizes[second] - shared) - 1e-9
    first_of_group = np.arange(len(numbers))
    for later, earlier in sorted(zip(second[is_near].tolist(), first[is_near].tolist(), strict=True)):
        if first_of_group[later] == later and first_of_group[earlier] == earlier:
            first_of_group[later] = earlier
    return pd.factorize(first_of_group[of_sentence])[0]


def canonical(sentence: str) -> str:
    """The sentence without case, accents and extra white space: equal for sentences that count as the same."""
    if not sentence.isascii():
        letters = (letter for letter in unicodedata.normalize("NFKD", sentence) if not unicodedata.combining(letter))
        sentence = "".join(letters)
    return " ".join(sentence.casefold().split())


def _candidates(sets: "csr_array") -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows that may be near another, (n_pairs,) each, the earlier one first.

    Of those that agree in the least columns of some band: each with the first of them, and with the one before it.
    """
    n, n_columns = sets.shape
    random = np.random.default_rng(0)
    found = []
    for _ in range(_BANDS):
        band = np.zeros(n, np.uint64)
        for _ in range(_ROWS):
            ranks = random.permutation(n_columns).astype(np.uint32)
            band = band * _MULTIPLIER + np.minimum.reduceat(ranks[sets.indices], sets.indptr[:-1])
        order = np.argsort(band, kind="stable")  # which leaves those that agree in their order
        agrees = band[order[1:]] == band[order[:-1]]
        starts = np.maximum.accumulate(np.where(np.append(False, agrees), 0, np.arange(n)))
        later = 1 + np.flatnonzero(agrees)
        found += [order[earlier] * n + order[later] for earlier in (starts[later], later - 1)]
    return np.divmod(np.unique(np.concatenate(found)), n)
