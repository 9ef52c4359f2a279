"""How far the similarity of vectors, and with it a search, follows the lengths of sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.sources.near_duplicates import canonical
from clsviz.statistics.intervals import FEW_SENTENCES, Floats
from clsviz.statistics.lengths import shuffled
from clsviz.statistics.similarity import Directions, mean_cosines, neighbours

if TYPE_CHECKING:
    from scipy import sparse

N_GROUPS = 10
"""Groups of sentences by length, all of one size: deciles."""


@dataclass(frozen=True, eq=False)
class LengthBias:
    """How far the similarity of n sentences follows their lengths.

    cosine_by_length: float64 (10, 10), the mean cosine of two sentences by the tenths that their lengths are in.
    length_share: R² of the cosines of all pairs on the two tenths.
    neighbours: intp (n, 10), the nearest other sentences of each; -1 for those whose vector is zero.
    neighbour_correlation: Spearman's ρ of a sentence's length with the mean length of those ten.
    lengths_apart: how far the lengths of a sentence and one of its ten nearest are apart, on average.
    times_found: float64 (10,), how often a sentence of each tenth is among the ten nearest of another, on average.
    n_without: sentences whose vector is zero: they have no neighbours, and are nobody's.
    n_tied: sentences for which more than ten are as near as the tenth, so that which of them count is arbitrary.
    """

    cosine_by_length: Floats
    length_share: float
    neighbours: NDArray[np.intp]
    neighbour_correlation: float
    lengths_apart: float
    times_found: Floats
    n_without: int = 0
    n_tied: int = 0


@dataclass(frozen=True, eq=False)
class Chance:
    """What the measures of LengthBias come to where the lengths are shuffled among the sentences.

    cosine_by_length: of one shuffle. length_share, neighbour_correlation: their means over 99 shuffles.
    length_share_limit, neighbour_correlation_limit: what 95 of 100 shuffles stay below, the second without its sign.
    """

    cosine_by_length: Floats
    length_share: float
    length_share_limit: float
    neighbour_correlation: float
    neighbour_correlation_limit: float


_SHUFFLES = 99


def length_groups(lengths: ArrayLike) -> tuple[NDArray[np.intp], list[tuple[int, int]]]:
    """Ten groups of equal size by length: intp (n,), from 0 for the shortest; and each one's shortest and longest.

    Sentences of one length may fall into two groups, in the order they are given in.
    """
    values = np.asarray(lengths)
    groups = np.empty(len(values), np.intp)
    groups[np.argsort(values, kind="stable")] = np.arange(len(values)) * N_GROUPS // len(values)
    of = [values[groups == group] for group in range(N_GROUPS)]
    return groups, [(int(lengths.min()), int(lengths.max())) for lengths in of]


def length_bias(of: Directions, lengths: ArrayLike) -> LengthBias:
    """How far similarity follows the lengths (n,); raises UndefinedFitError where that cannot be said."""
    values = np.asarray(lengths, float)
    check_lengths(values)
    groups, _ = length_groups(values)
    cosines, share = mean_cosines(of, groups)
    found = neighbours(of)
    nearest = found.index
    of_nearest, listed = lengths_of_nearest(values, nearest), nearest[nearest >= 0]
    return LengthBias(
        cosines,
        share,
        nearest,
        neighbour_correlation(values, of_nearest),
        float(np.nanmean(np.abs(of_nearest - values[:, None]))),
        np.bincount(groups[listed], minlength=N_GROUPS) / np.bincount(groups, minlength=N_GROUPS),
        int(np.count_nonzero(~of.has_direction)),
        int(np.count_nonzero(found.is_tied)),
    )


def lengths_of_nearest(lengths: ArrayLike, nearest: NDArray[np.intp]) -> Floats:
    """The lengths (n,) of the nearest, intp (m, k): float64 (m, k), NaN for sentences without neighbours."""
    return np.where(nearest >= 0, np.asarray(lengths, float)[nearest], np.nan)


def check_lengths(lengths: NDArray[Any]) -> None:
    """Raise UndefinedFitError where there are too few sentences, or all of one length."""
    if len(lengths) < FEW_SENTENCES:
        are = "is" if len(lengths) == 1 else "are"
        raise TooFewError(
            f"At least {FEW_SENTENCES} different sentences are needed, and there {are} only {len(lengths)}."
        )
    if np.ptp(lengths) == 0:
        raise UndefinedFitError(f"All {len(lengths):,} sentences have the same length, so it cannot bend anything.")


def neighbour_correlation(lengths: NDArray[Any], of_nearest: NDArray[Any]) -> float:
    """Spearman's ρ of lengths (n,) with the mean of those of the nearest, (n, k); raises UndefinedFitError.

    Sentences whose nearest are NaN, as they have none, are left out.
    """
    from scipy import stats

    has_any = ~np.isnan(of_nearest).any(axis=1)
    means = of_nearest[has_any].mean(axis=1)
    if not len(means) or np.ptp(means) == 0 or np.ptp(lengths[has_any]) == 0:
        raise UndefinedFitError("The nearest neighbours of all sentences have one and the same mean length.")
    return float(stats.spearmanr(lengths[has_any], means).statistic)


def random_apart(lengths: ArrayLike) -> float:
    """How far the lengths (n,) of two different sentences are apart, on average: Gini's mean difference."""
    values = np.sort(np.asarray(lengths, float))
    n = len(values)
    return float(2 * ((2 * np.arange(1, n + 1) - n - 1) @ values) / (n * (n - 1)))


def share_kept(before: NDArray[np.intp], after: NDArray[np.intp]) -> float:
    """The share of the nearest neighbours, intp (n, k), that are still among them."""
    has_any = before[:, 0] >= 0
    return float((before[has_any, :, None] == after[has_any, None, :]).any(axis=2).mean())


def chance(of: Directions, lengths: ArrayLike, nearest: NDArray[np.intp]) -> Chance:
    """The control of `length_bias`, with the same neighbours."""
    values = np.asarray(lengths, float)
    cosines, shares, correlations = [], [], []
    for seed in range(_SHUFFLES):
        random = np.asarray(shuffled(values, seed), float)
        means, share = mean_cosines(of, length_groups(random)[0])
        cosines.append(means)
        shares.append(share)
        correlations.append(neighbour_correlation(random, lengths_of_nearest(random, nearest)))
    return Chance(
        cosines[0],
        float(np.mean(shares)),
        float(np.quantile(shares, 0.95)),
        float(np.mean(correlations)),
        float(np.quantile(np.abs(correlations), 0.95)),
    )


def first_of_each(sentences: Sequence[str]) -> NDArray[np.intp]:
    """The first of all sentences that differ by no more than case, accents or white space: intp (m,), in order."""
    keys = [canonical(sentence) for sentence in sentences]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    return np.array(sorted(first.values()), np.intp)


_WORD = r"(?u)\b\w+\b"
"""One letter is a word too."""


def tf_idf(sentences: Sequence[str]) -> "sparse.csr_matrix":
    """How often each sentence has each word, the rare ones weighted more: sparse float64 (n, words), of norm 1.

    Two sentences are alike in it as far as they share words: term frequency times inverse document frequency (Salton
    and Buckley 1988), as scikit-learn has it. Words are runs of letters and digits, so in scripts without spaces they
    are whole clauses. Raises UndefinedFitError where there are no words.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights: sparse.csr_matrix = TfidfVectorizer(token_pattern=_WORD).fit_transform(sentences)
    except ValueError as error:  # an empty vocabulary
        raise UndefinedFitError("These sentences have no words, so shared words are no baseline.") from error
    return weights
