"""Sentences that are nearly the same, which tell little more together than one of them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_SHARED: Final = 0.9
"""Jaccard similarity of the pairs of neighbouring words of near-duplicates, at least.

A pair that repeats counts as often as it does. One word in 37 may differ. With less, sentences from
a template, which differ in one word, would be near-duplicates of each other.
"""

MOST_COMPARED: Final = 20_000
"""Sentences that are compared; beyond, only exact copies are recognised."""

BLOCK_ROWS: Final = 500

NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")

MOST_NUMBERS: Final = 3
"""Numbers of a sentence whose digits do not matter, as in “page 3 of 12”; with more, they do."""


def near_duplicates(sentences: Sequence[str]) -> NDArray[np.intp]:
    """Clusters of near-duplicates among n sentences: intp (n,), numbered from 0 in order.

    Each sentence of a cluster is near to its first, not only to some other: else the sentences of a
    template would form chains. Two are near if they have the same words in the same order, up to
    case, accents, punctuation and the digits of a few numbers, or if their pairs of neighbouring
    words, with the beginning and the end, have a Jaccard similarity of `LEAST_SHARED`.
    """
    numbers: dict[tuple[str, ...], int] = {}
    head = [numbers.setdefault(_words(text), len(numbers)) for text in sentences[:MOST_COMPARED]]
    labels = _first_of_each([list(_pairs(words)) for words in numbers])[head]
    copies: dict[str, int] = {}
    for text, label in zip(sentences, labels.tolist(), strict=False):
        copies.setdefault(_folded(text), label)
    n = len(numbers)
    tail = [copies.setdefault(_folded(text), n + len(copies)) for text in sentences[MOST_COMPARED:]]
    _, firsts, inverse = np.unique(
        np.concatenate([labels, np.array(tail, np.intp)]), return_index=True, return_inverse=True
    )
    return np.argsort(np.argsort(firsts))[inverse]


def _folded(sentence: str) -> str:
    return " ".join(sentence.casefold().split())


def _words(sentence: str) -> tuple[str, ...]:
    """The words without case and accents; a few numbers are 0, unless there is nothing else.

    A sentence without words is one word.
    """
    text = _folded(sentence)
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    words, n_numbers = NUMBER.subn("0", text)
    counts_numbers = n_numbers > MOST_NUMBERS or not re.search(r"[^\W0]", words)
    return tuple(re.findall(r"\w+", text if counts_numbers else words)) or (text,)


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """The pairs of neighbouring words, each with the number of equal ones before it."""
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairwise(("", *words, "")):
        yield *pair, counts[pair]
        counts[pair] += 1


def _first_of_each(sets: Sequence[Sequence[tuple[str, str, int]]]) -> NDArray[np.intp]:
    """The first of the cluster of each set: intp (n,).

    A set that is near to another shares at least one of its rarest elements with it, as many as may
    differ and one (prefix filter: Chaudhuri, Ganti and Kaushik 2006).
    """
    from scipy.sparse import csr_array

    columns: dict[tuple[str, str, int], int] = {}
    indices = np.array(
        [columns.setdefault(pair, len(columns)) for row in sets for pair in row], int
    )
    sizes = np.array([len(row) for row in sets], int)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(np.arange(len(sets)), sizes)
    shape = len(sets), len(columns)
    members = csr_array((np.ones(len(indices), np.int32), indices, starts), shape=shape)
    rarity = np.bincount(indices, minlength=len(columns))[indices]
    by_rarity = np.lexsort((indices, rarity, rows))
    rank = np.arange(len(indices)) - starts[rows]
    is_prefix = rank < (sizes - np.ceil(LEAST_SHARED * sizes - 1e-9) + 1)[rows]
    entries = (
        np.ones(int(is_prefix.sum()), np.int32),
        (rows[is_prefix], indices[by_rarity][is_prefix]),
    )
    prefixes = csr_array(entries, shape=shape)
    transposed = prefixes.T.tocsr()
    firsts = np.arange(len(sets))
    for start in range(0, len(sets), BLOCK_ROWS):
        later, earlier = (prefixes[start : start + BLOCK_ROWS] @ transposed).nonzero()
        later = later + start
        is_candidate = (earlier < later) & (
            np.minimum(sizes[earlier], sizes[later])
            >= LEAST_SHARED * np.maximum(sizes[earlier], sizes[later]) - 1e-9
        )
        later, earlier = later[is_candidate], earlier[is_candidate]
        shared = members[later].multiply(members[earlier]).sum(axis=1)
        is_near = shared >= LEAST_SHARED * (sizes[later] + sizes[earlier] - shared) - 1e-9
        for row, first in sorted(
            zip(later[is_near].tolist(), earlier[is_near].tolist(), strict=True)
        ):
            if firsts[row] == row and firsts[first] == first:
                firsts[row] = first
    return firsts
