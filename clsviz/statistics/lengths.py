"""The lengths of sentences; norm given length, and length given norm."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.settings import Unit
from clsviz.statistics.intervals import ROUNDING


def lengths_in(unit: Unit, sentences: Sequence[str], n_tokens: NDArray[np.int32]) -> NDArray[np.int32]:
    """Lengths of n sentences, int32 (n,): their `n_tokens`, which depend on the model, or their words or characters.

    Words are separated by white space.
    """
    if unit is Unit.TOKENS:
        return n_tokens
    count = len if unit is Unit.CHARACTERS else n_words
    return np.fromiter(map(count, sentences), np.int32, len(sentences))


def n_words(sentence: str) -> int:
    """Number of words, separated by white space; punctuation belongs to the word it touches."""
    return len(sentence.split())


def shuffled(lengths: ArrayLike, seed: int = 0) -> NDArray[np.generic]:
    """The same lengths in random order: a control, because no probe can predict these from the vectors."""
    return np.random.default_rng(seed).permutation(np.asarray(lengths))


_BIN_WIDTHS = (1, 2, 5, 10, 20, 50)


_MOST_BINS, _FEWEST_IN_BIN = 16, 5

_SLICE_TAILS = (0.01, 0.05, 0.25)

_FEWEST_IN_TAIL = 10


def bins(lengths: ArrayLike, norms: ArrayLike) -> pd.DataFrame:
    """Norm given length: one row per bin of lengths that holds at least 5 sentences.

    Columns: first and last (lengths, inclusive), length (the mean in the bin), n, and lower, median and upper (the
    quartiles of the norm).
    """
    x, y = np.asarray(lengths, dtype=int), np.asarray(norms, dtype=float)
    if not len(x):
        return pd.DataFrame(columns=["first", "last", "length", "n", "lower", "median", "upper"], dtype=float)
    n_lengths = int(np.ptp(x)) + 1
    width = next((width for width in _BIN_WIDTHS if n_lengths <= width * _MOST_BINS), _BIN_WIDTHS[-1])
    grouped = pd.DataFrame({"length": x, "norm": y}).groupby(x // width * width)
    table = (
        grouped["norm"].quantile(np.array([0.25, 0.5, 0.75])).unstack().set_axis(["lower", "median", "upper"], axis=1)
    )
    table.insert(0, "first", table.index)
    table.insert(1, "last", table.index + width - 1)
    table.insert(2, "length", grouped["length"].mean())
    table.insert(3, "n", grouped.size())
    return table[table["n"] >= _FEWEST_IN_BIN].reset_index(drop=True)


def slices(lengths: ArrayLike, norms: ArrayLike) -> pd.DataFrame:
    """Length given norm: one row per slice of the norms' distribution, from the lowest 1% to the highest 1%.

    Columns: from_share and to_share (of the sentences, sorted by norm), lowest and highest (norms), n, and lower,
    median and upper (the 5th, 50th and 95th percentile of the lengths in the slice). A tail that would hold fewer than
    10 sentences joins its neighbour. Sentences of the same norm are in the same slice: a tail takes all of them, or
    ends before them if they reach past the middle.
    """
    x, y = np.asarray(lengths, dtype=int), np.asarray(norms, dtype=float)
    order = np.argsort(y, kind="stable")
    rows = []
    for (low, first), (high, stop) in pairwise(_cuts(y[order])):
        inside = order[first:stop]
        lower, median, upper = np.quantile(x[inside], (0.05, 0.5, 0.95))
        rows.append((low, high, y[inside[0]], y[inside[-1]], len(inside), lower, median, upper))
    columns = ["from_share", "to_share", "lowest", "highest", "n", "lower", "median", "upper"]
    return pd.DataFrame(rows, columns=columns)


def _cuts(norms: NDArray[np.float64]) -> list[tuple[float, int]]:
    """The shares of ascending norms (n,) between which the slices lie, and how many norms are below each."""
    n = len(norms)
    tails = [tail for wider, tail in pairwise((0, *_SLICE_TAILS)) if (tail - wider) * n >= _FEWEST_IN_TAIL]
    cuts: dict[int, float] = {}
    for share in (0, *tails, *(1 - tail for tail in reversed(tails)), 1):
        at = round(share * n)
        if 0 < at < n and norms[at - 1] == norms[at]:
            ends = [int(np.searchsorted(norms, norms[at], side)) for side in ("left", "right")]
            outer, inner = ends if 2 * at < n else ends[::-1]
            at = inner if (2 * inner <= n) == (2 * at < n) else outer
            share = at / n
            if 0 < min(at, n - at) < _FEWEST_IN_TAIL:
                continue
        cuts.setdefault(at, share)
    return [(share, at) for at, share in cuts.items()]


LEAST_SIMILAR = 40
"""Sentences of similar length that a norm is compared with: with fewer, a percentage would be off by 15 and more."""


def percentile_at_length(length: int, norm: float, lengths: ArrayLike, norms: ArrayLike) -> tuple[float, int] | None:
    """Percentage of the corpus sentences of similar length that have a lower norm, and the number of similar sentences.

    Similar means within 10% of the length, and at least within one token. None if there are fewer than LEAST_SIMILAR.
    The percentage is NaN where the norm is that of all of them, up to rounding.
    """
    x, y = np.asarray(lengths), np.asarray(norms, dtype=float)
    similar = y[np.abs(x - length) <= max(1, round(length / 10))]
    if len(similar) < LEAST_SIMILAR:
        return None
    if max(norm, similar.max()) - min(norm, similar.min()) <= 2 * ROUNDING * abs(norm):
        return math.nan, len(similar)
    below, not_above = (similar < norm).mean(), (similar <= norm).mean()
    return float(50 * (below + not_above)), len(similar)
