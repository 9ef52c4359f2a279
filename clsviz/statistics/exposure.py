"""How often texts of each length are found, over how often they are right: recall, nDCG and exposure by fifths.

The question is of Singhal, Buckley & Mitra (1996): the probability that a text is found, given its length, against the
probability that it is right. A fifth is a fifth of the indexed texts by their length in tokens.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import UndefinedFitError
from clsviz.statistics.intervals import Floats, Interval, middle_of

N_PLACES = 10
"""How many texts a search finds."""

FAIR = 0.8, 1.25
"""Exposures that count as a fair share."""

DECIDED = 0.5, 2.0
"""An interval that reaches beyond these says too little, unless it lies wholly outside `FAIR`."""

N_FIFTHS = 5

_FEWEST_RIGHT = 20
"""Right texts in a fifth, and searches for them, that an interval takes."""

_N_RESAMPLES = 1000

_LEAST = 1e-6
"""Exposures below are one in logarithms: nothing of the fifth is found."""


@dataclass(frozen=True)
class Fifth:
    """One fifth of the indexed texts by length, and how a way to rank treats it; None where nothing in it is right.

    from_tokens, to_tokens: its shortest and its longest text. n_texts: how many texts it has.
    n_right: texts in it that are right for a search, or searches for them if those are fewer.
    recall_at_10, ndcg_at_10: of its right texts, each with a weight of 1 / how many are right for the search.
    exposure: its share of the ten places, summed over searches, over its share of what is right.
    exposure_interval: 95%, by resampling searches; None with fewer than 20 right texts in the fifth.
    against_bm25: 95% interval of log exposure less BM25's log exposure, of the same resampled searches; None where
        either is undefined, and for BM25 itself.
    """

    from_tokens: int
    to_tokens: int
    n_texts: int
    n_right: int
    recall_at_10: float | None
    ndcg_at_10: float | None
    exposure: float | None
    exposure_interval: Interval | None
    against_bm25: Interval | None = None

    @property
    def stands_out(self) -> int:
        """1 if its interval lies wholly above `FAIR`, −1 if wholly below, otherwise 0."""
        if self.exposure_interval is None:
            return 0
        low, high = self.exposure_interval
        return int(low > FAIR[1]) - int(high < FAIR[0])

    @property
    def is_fair(self) -> bool:
        """Whether its interval lies wholly within `FAIR`."""
        low, high = self.exposure_interval or (0.0, math.inf)
        return FAIR[0] <= low and high <= FAIR[1]

    @property
    def is_not_one(self) -> bool:
        """Whether its interval leaves out 1."""
        low, high = self.exposure_interval or (0.0, math.inf)
        return not low <= 1 <= high

    @property
    def is_undecided(self) -> bool:
        """Whether there are too few searches to tell: no interval, or one that says little."""
        low, high = self.exposure_interval or (0.0, math.inf)
        return not self.stands_out and (low < DECIDED[0] or high > DECIDED[1])

    def more_than(self, bm25: "Fifth") -> bool:
        """Whether it stands out, and BM25's does not in the same direction, or clearly less."""
        if not self.stands_out or bm25.stands_out != self.stands_out:
            return bool(self.stands_out)
        low, high = self.against_bm25 or (-math.inf, math.inf)
        return low > 0 if self.stands_out > 0 else high < 0


@dataclass(frozen=True)
class Ranking:
    """How well one way to rank finds the right texts, and which lengths it favours.

    recall_at_10: right texts among the ten, over the smaller of ten and how many are right, averaged over searches;
        recall_interval: 95%, by resampling searches.
    ndcg_at_10: with equal gains, averaged over searches.
    fifths: five, the shortest texts first.
    """

    recall_at_10: float
    recall_interval: Interval
    ndcg_at_10: float
    fifths: tuple[Fifth, ...]

    @property
    def exposure(self) -> tuple[float | None, ...]:
        """Of each fifth, the shortest first."""
        return tuple(fifth.exposure for fifth in self.fifths)


@dataclass(frozen=True)
class FixResult:
    """A ranking with a fix, fitted to half of the searches and tested on the other half, both ways round.

    ranking: of all searches, each by the fix that was fitted to the other half.
    difference: its recall@10 less the recall without the fix; interval: 95%, of the same resampled searches.
    """

    ranking: Ranking
    difference: float
    interval: Interval


@dataclass(frozen=True, eq=False)
class Relevance:
    """Which of n_texts are right for each of n_searches, as pairs: searches and texts, intp (n_pairs,), by search."""

    n_searches: int
    n_texts: int
    searches: NDArray[np.intp]
    texts: NDArray[np.intp]

    @classmethod
    def of(cls, right: Sequence[Sequence[int]], n_texts: int) -> Self:
        """From the right texts of each search, of which there is at least one, none twice."""
        n_right = [len(texts) for texts in right]
        searches = np.repeat(np.arange(len(right)), n_right)
        return cls(len(right), n_texts, searches, np.concatenate([np.asarray(texts, np.intp) for texts in right]))

    @property
    def n_right(self) -> NDArray[np.intp]:
        """How many texts are right for each search: intp (n_searches,)."""
        return np.bincount(self.searches, minlength=self.n_searches)


def fifths_of(lengths: NDArray[np.int32]) -> NDArray[np.intp]:
    """The fifth that each of n texts is in by its length, 0 (the shortest) to 4: intp (n,).

    Their limits are the 20, 40, 60 and 80% quantiles; texts of one length are in one fifth. Raises UndefinedFitError
    where that leaves a fifth without any.
    """
    fifths = np.searchsorted(np.quantile(lengths, [0.2, 0.4, 0.6, 0.8]), lengths)
    if len(np.unique(fifths)) < N_FIFTHS:
        raise UndefinedFitError("Too many texts are of the same length for fifths by length.")
    return fifths


@dataclass(frozen=True, eq=False)
class Outcome:
    """What each of n searches found: the sums of searches that recall, nDCG and exposure are made of.

    recall, ndcg: float64 (n,). places: float64 (n, 5), the share of its ten places in each fifth. right: (n, 5), the
    share of its right texts. recalled, gained: (n, 5), the part of these that is found, and of their gain.
    """

    recall: Floats
    ndcg: Floats
    places: Floats
    right: Floats
    recalled: Floats
    gained: Floats

    @classmethod
    def of(cls, found: NDArray[np.intp], relevance: Relevance, fifths: NDArray[np.intp]) -> Self:
        """From the texts found by each search, the best first: intp (n, 10), and the fifth of each text."""
        n, width = found.shape
        n_right = relevance.n_right
        matches = found[relevance.searches] == relevance.texts[:, None]
        is_found, ranks = matches.any(axis=1), matches.argmax(axis=1)
        discounts = 1 / np.log2(np.arange(width) + 2)
        gains = np.where(is_found, discounts[ranks], 0.0)
        best = np.minimum(n_right, width)
        ideal = np.cumsum(discounts)[best - 1]
        share = (1 / n_right)[relevance.searches]
        cells = relevance.searches * N_FIFTHS + fifths[relevance.texts]

        def by_fifth(weights: Floats) -> Floats:
            sums: Floats = np.bincount(cells, weights, minlength=n * N_FIFTHS).astype(float).reshape(n, N_FIFTHS)
            return sums

        places = np.stack([(fifths[found] == fifth).mean(axis=1) for fifth in range(N_FIFTHS)], axis=1)
        return cls(
            np.bincount(relevance.searches, is_found, minlength=n) / best,
            np.bincount(relevance.searches, gains, minlength=n) / ideal,
            places,
            by_fifth(share),
            by_fifth(share * is_found),
            by_fifth(gains / ideal[relevance.searches]),  # sums to nDCG over the fifths
        )

    def take(self, searches: NDArray[np.intp]) -> Self:
        """Of some of the searches."""
        return replace(self, **{name: values[searches] for name, values in vars(self).items()})

    @property
    def exposure(self) -> Floats:
        """Of each fifth: float64 (5,), NaN where nothing in it is right."""
        with np.errstate(invalid="ignore", divide="ignore"):
            exposure: Floats = self.places.sum(axis=0) / self.right.sum(axis=0)
        return np.where(self.right.sum(axis=0) > 0, exposure, np.nan)


def resample(n_searches: int, seed: int = 0) -> NDArray[np.float32]:
    """How often each search is drawn in each of 1,000 bootstrap samples of searches: float32 (1000, n_searches)."""
    rng = np.random.default_rng(seed)
    draws = (np.bincount(rng.integers(n_searches, size=n_searches), minlength=n_searches) for _ in range(_N_RESAMPLES))
    return np.stack([draw.astype(np.float32) for draw in draws])


def paired_interval(differences: Floats, resamples: NDArray[np.float32]) -> Interval:
    """95% interval of the mean of differences, (n_searches,), by the percentiles of the resampled means."""
    return middle_of(resamples @ differences / len(differences))


def ranking(
    outcome: Outcome,
    relevance: Relevance,
    lengths: NDArray[np.int32],
    fifths: NDArray[np.intp],
    resamples: NDArray[np.float32],
    bm25: Outcome | None = None,
) -> Ranking:
    """Recall, nDCG and exposure with their intervals, beside those of BM25 of the same searches."""
    exposures, right = _resampled(outcome, resamples)
    log_ratios = None
    if bm25 is not None:
        log_ratios = np.log(np.maximum(exposures, _LEAST) / np.maximum(_resampled(bm25, resamples)[0], _LEAST))
    rows = []
    for fifth in range(N_FIFTHS):
        own = np.sort(lengths[fifths == fifth])
        in_fifth = fifths[relevance.texts] == fifth
        n_right = min(len(np.unique(of[in_fifth])) for of in (relevance.texts, relevance.searches))
        is_told = n_right >= _FEWEST_RIGHT and bool((right[:, fifth] > 0).all())
        total = outcome.right[:, fifth].sum()
        rows.append(
            Fifth(
                int(own[0]),
                int(own[-1]),
                len(own),
                n_right,
                float(outcome.recalled[:, fifth].sum() / total) if total else None,
                float(outcome.gained[:, fifth].sum() / total) if total else None,
                float(outcome.exposure[fifth]) if total else None,
                middle_of(exposures[:, fifth]) if is_told else None,
                middle_of(log_ratios[:, fifth]) if is_told and log_ratios is not None else None,
            )
        )
    interval = paired_interval(outcome.recall, resamples)
    return Ranking(float(outcome.recall.mean()), interval, float(outcome.ndcg.mean()), tuple(rows))


def _resampled(outcome: Outcome, resamples: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """Exposures in each bootstrap sample, and the right texts that they are of: float64 (1000, 5) each."""
    right: Floats = resamples @ outcome.right
    places: Floats = resamples @ outcome.places
    return np.divide(places, right, out=np.full_like(places, np.nan), where=right > 0), right
