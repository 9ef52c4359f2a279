"""Sentences that are nearly the same, which tell little more together than one of them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

Words = tuple[str, ...]

LEAST_SHARED: Final = 0.9
"""Jaccard similarity of the pairs of neighbouring words of near-duplicates, at least.

A pair that repeats counts as often as it does. One word in 37 may differ. With less, sentences from
a template, which differ in one word, would be near-duplicates of each other.
"""

MOST_COMPARED: Final = 20_000  # sentences; beyond, only exact copies are recognised
BLOCK_ROWS: Final = 500
NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
MOST_NUMBERS: Final = 3  # whose digits do not matter, as in “page 3 of 12”; of more, they do


def near_duplicates(sentences: Sequence[str]) -> NDArray[np.intp]:
    """Clusters of near-duplicates among n sentences: intp (n,), numbered from 0 in order.

    Each sentence of a cluster is near to its first, not only to some other: else the sentences of a
    template would form chains. Two are near if they have the same words in the same order, up to
    case, accents, punctuation and the digits of a few numbers, or if their pairs of neighbouring
    words, with the beginning and the end, have a Jaccard similarity of `LEAST_SHARED`.
    """
    compared = list(map(_words, sentences[:MOST_COMPARED]))
    firsts = _firsts(dict.fromkeys(compared))
    labels: list[Words | str] = [firsts[words] for words in compared]
    folded = list(map(_fold, sentences))
    copies: dict[str, Words | str] = {}
    for text, label in zip(folded, labels, strict=False):
        copies.setdefault(text, label)
    labels += [copies.get(text, text) for text in folded[MOST_COMPARED:]]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.array([numbers[label] for label in labels], np.intp)


def _fold(sentence: str) -> str:
    return " ".join(sentence.casefold().split())


def _words(sentence: str) -> Words:
    """The words without case and accents; a few numbers are 0, unless there is nothing else.

    A sentence without words is one word.
    """
    from sklearn.feature_extraction.text import strip_accents_unicode

    text = strip_accents_unicode(_fold(sentence))
    words, n_numbers = NUMBER.subn("0", text)
    counts_numbers = n_numbers > MOST_NUMBERS or not re.search(r"[^\W0]", words)
    return tuple(re.findall(r"\w+", text if counts_numbers else words)) or (text,)


def _pairs(words: Words) -> Iterator[tuple[str, str, int]]:
    """The pairs of neighbouring words, each with the number of equal ones before it."""
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairwise(("", *words, "")):
        yield *pair, counts[pair]
        counts[pair] += 1


def _firsts(texts: Iterable[Words]) -> dict[Words, Words]:
    """The first of the cluster of each of some different texts.

    Near-duplicates share one of their rarest pairs, so that few texts need be compared: prefix
    filtering, Chaudhuri, Ganti and Kaushik (2006), doi.org/10.1109/ICDE.2006.9.
    """
    firsts = {words: words for words in texts}
    if not firsts:
        return {}
    from sklearn.feature_extraction.text import CountVectorizer

    members = CountVectorizer(analyzer=_pairs, dtype=np.int32).fit_transform(firsts)
    members = members[:, np.bincount(members.indices).argsort(kind="stable")].sorted_indices()
    sizes, order = np.diff(members.indptr), list(firsts)
    n_rare = sizes - np.ceil(LEAST_SHARED * sizes - 1e-9).astype(int) + 1
    places = np.arange(members.nnz) - np.repeat(members.indptr[:-1], sizes)
    rarest = members.copy()
    rarest.data[places >= np.repeat(n_rare, sizes)] = 0
    rarest.eliminate_zeros()
    transposed = rarest.T.tocsr()
    for start in range(0, len(order), BLOCK_ROWS):
        candidates = (rarest[start : start + BLOCK_ROWS] @ transposed).tocoo()
        is_earlier = candidates.col < candidates.row + start
        rows = np.unique(candidates.row[is_earlier]) + start
        columns = np.unique(candidates.col[is_earlier])
        products = (members[rows] @ members[columns].T).tocoo()
        later, earlier, n_shared = rows[products.row], columns[products.col], products.data
        n_all = sizes[later] + sizes[earlier] - n_shared
        is_near = (earlier < later) & (n_shared >= LEAST_SHARED * n_all - 1e-9)
        near = zip(later[is_near].tolist(), earlier[is_near].tolist(), strict=True)
        for text, first in ((order[row], order[other]) for row, other in sorted(near)):
            if firsts[text] == text and firsts[first] == first:
                firsts[text] = first
    return firsts
