"""Shares of the places that texts of each length take, over the shares in which they are right.

The probability that a text is found, given its length, against the probability that it is right,
is the test of Singhal, Buckley & Mitra (1996).
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import Undefined
from clsviz.statistics.bootstrap import N_DRAWS, middle
from clsviz.statistics.jackknife import Floats, Interval
from clsviz.statistics.ranking import N_PLACES, Floats32, Relevance

N_FIFTHS: Final = 5

FAIR: Final = (0.8, 1.25)
"""Exposures that count as a fair share."""

DECIDED: Final = (0.5, 2.0)
"""An interval that reaches beyond says too little, unless it lies wholly outside FAIR."""

FEWEST_RIGHT: Final = 20
"""Right texts in a fifth, and searches for them, that an interval takes."""

CHANCE: Final = (0.005, 0.995)
"""Quantiles that an exposure by chance lies between: one of five fifths is beyond in 5 of 100."""

LEAST: Final = 1e-6
"""Exposures below are one in logarithms: nothing of the fifth is found."""


@dataclass(frozen=True)
class Fifth:
    """One fifth of the texts by length, and its treatment; None where nothing in it is right.

    from_tokens, to_tokens: its shortest and its longest text. n_right: texts in it that are right
    for a search, or searches for them if those are fewer.
    recall, ndcg: of its right texts, each of a weight of 1 / right ones of its search.
    exposure: its share of all places over its share of what is right; interval: of 95%, None with
    under 20 right texts.
    is_by_chance: True if a few texts are found so often that shuffled lengths give such exposures.
    against_words: 95% interval of log exposure less that of BM25, by the same draws.
    """

    from_tokens: int
    to_tokens: int
    n_texts: int
    n_right: int
    recall: float | None
    ndcg: float | None
    exposure: float | None
    interval: Interval | None
    is_by_chance: bool = False
    against_words: Interval | None = None

    @property
    def ends(self) -> Interval:
        """The interval, unbounded where there is none."""
        return self.interval or (0.0, math.inf)

    @property
    def stands_out(self) -> int:
        """1 if the interval lies wholly above FAIR, −1 if wholly below; 0 else, and by chance."""
        low, high = self.ends
        return 0 if self.is_by_chance else int(low > FAIR[1]) - int(high < FAIR[0])

    @property
    def is_undecided(self) -> bool:
        """True if there are too few searches or texts to tell."""
        low, high = self.ends
        is_wide = low < DECIDED[0] or high > DECIDED[1]
        return not self.stands_out and (is_wide or low > FAIR[1] or high < FAIR[0])

    @property
    def is_uneven(self) -> bool:
        """True if the interval leaves out 1, and does not lie wholly within FAIR."""
        low, high = self.ends
        return not low <= 1 <= high and not (FAIR[0] <= low and high <= FAIR[1])

    def is_more_than(self, words: "Fifth") -> bool:
        """True if it stands out, and BM25's fifth not in this direction, or clearly less."""
        side = self.stands_out
        if side == 0 or words.stands_out != side:
            return side != 0
        ends = self.against_words
        return ends is not None and min(side * end for end in ends) > 0


@dataclass(frozen=True)
class Ranking:
    """Recall and nDCG, means over searches, and the fifths, the shortest texts first."""

    recall: float
    recall_interval: Interval
    ndcg: float
    fifths: tuple[Fifth, ...]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Terms of n searches, whose sums recall, nDCG and exposure are made of.

    recall, ndcg: float64 (n,). places: float64 (n, 5), the share of its ten places in each fifth.
    right: (n, 5), the share of its right texts. recalled, gained: (n, 5), the part of these among
    the ten, and of their gain.
    """

    recall: Floats
    ndcg: Floats
    places: Floats
    right: Floats
    recalled: Floats
    gained: Floats

    @classmethod
    def of(cls, tens: NDArray[np.integer], relevance: Relevance, fifths: NDArray[np.intp]) -> Self:
        """From the ten texts of each search, the best first: (n, 10), and the fifth of each text.

        Recall is over min(10, right ones); nDCG has equal gains (Järvelin & Kekäläinen 2002).
        """
        n = len(tens)
        matches = tens[relevance.searches] == relevance.texts[:, None]
        is_hit = matches.any(axis=1)
        discounts = 1 / np.log2(np.arange(N_PLACES) + 2)
        gains = np.where(is_hit, discounts[matches.argmax(axis=1)], 0.0)
        most = np.minimum(relevance.n_right, N_PLACES)
        ideal = np.cumsum(discounts)[most - 1]
        share = (1 / relevance.n_right)[relevance.searches]
        cells = relevance.searches * N_FIFTHS + fifths[relevance.texts]

        def by_fifth(weights: Floats) -> Floats:
            sums = np.bincount(cells, weights, minlength=n * N_FIFTHS)
            return np.asarray(sums, float).reshape(n, N_FIFTHS)

        in_fifth = [(fifths[tens] == fifth).mean(axis=1) for fifth in range(N_FIFTHS)]
        return cls(
            recall=np.bincount(relevance.searches, is_hit, minlength=n) / most,
            ndcg=np.bincount(relevance.searches, gains, minlength=n) / ideal,
            places=np.stack(in_fifth, axis=1),
            right=by_fifth(share),
            recalled=by_fifth(share * is_hit),
            gained=by_fifth(gains / ideal[relevance.searches]),
        )

    def take(self, searches: NDArray[np.intp]) -> Self:
        """Some of the searches."""
        terms = {field.name: getattr(self, field.name)[searches] for field in fields(self)}
        return replace(self, **terms)

    @property
    def exposure(self) -> Floats:
        """The exposure of each fifth, float64 (5,); NaN where nothing in it is right."""
        right = self.right.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            exposure: Floats = self.places.sum(axis=0) / right
        return np.where(right > 0, exposure, np.nan)


def fifths_of(lengths: NDArray[np.int32]) -> NDArray[np.intp]:
    """The fifth of each text, 0 (the shortest) to 4: intp (n,); equal lengths share one.

    Raises Undefined where a fifth is empty, or ten places take all texts.
    """
    if len(lengths) <= N_PLACES:
        reason = f"Only {len(lengths)} texts are searched, and each search finds {N_PLACES}."
        raise Undefined(reason, "Give more texts.")
    fifths = np.searchsorted(np.quantile(lengths, [0.2, 0.4, 0.6, 0.8]), lengths)
    if len(np.unique(fifths)) < N_FIFTHS:
        reason = "Too many texts are of the same length for fifths by length."
        raise Undefined(reason, "Give texts of more lengths.")
    return fifths


def draws(n_searches: int, seed: int = 0) -> Floats32:
    """How often each search is in each of 1,000 bootstrap samples: float32 (1000, n_searches)."""
    random = np.random.default_rng(seed)
    samples = (random.integers(n_searches, size=n_searches) for _ in range(N_DRAWS))
    counts = [np.bincount(sample, minlength=n_searches).astype(np.float32) for sample in samples]
    return np.stack(counts)


def shuffled(
    tens: NDArray[np.integer], relevance: Relevance, fifths: NDArray[np.intp], seed: int = 0
) -> Floats:
    """Exposures of the fifths with lengths shuffled among the texts, 1,000 times: (1000, 5).

    Searches drawn again find the same few texts that are near every query; their lengths do not
    say anything of others.
    """
    random = np.random.default_rng(seed)
    n = relevance.n_texts
    places = np.bincount(tens.ravel(), minlength=n) / N_PLACES
    right = np.bincount(relevance.texts, (1 / relevance.n_right)[relevance.searches], n)
    sums = np.empty((2, N_DRAWS, N_FIFTHS))
    for draw in range(N_DRAWS):
        others = random.permutation(fifths)
        sums[:, draw] = [np.bincount(others, terms, N_FIFTHS) for terms in (places, right)]
    exposures: Floats = np.full((N_DRAWS, N_FIFTHS), np.nan)
    np.divide(sums[0], sums[1], out=exposures, where=sums[1] > 0)
    return exposures


def mean_interval(values: Floats, samples: Floats32) -> Interval:
    """95% interval of the mean of values (n_searches,), which may be paired differences."""
    return middle(samples @ values / len(values))


def summarize(
    outcome: Outcome,
    relevance: Relevance,
    lengths: NDArray[np.int32],
    fifths: NDArray[np.intp],
    samples: Floats32,
    chance: Floats,
    words: Outcome | None = None,
) -> Ranking:
    """Recall, nDCG and exposure with intervals by `draws`.

    chance: exposures with `shuffled` lengths. words: BM25's outcome, to compare with.
    """
    exposures, right = _resampled(outcome, samples)
    against = None
    if words is not None:
        others = _resampled(words, samples)[0]
        against = np.log(np.maximum(exposures, LEAST) / np.maximum(others, LEAST))
    low, high = np.nanquantile(chance, CHANCE, axis=0)
    rows = []
    for fifth in range(N_FIFTHS):
        own = lengths[fifths == fifth]
        pairs = fifths[relevance.texts] == fifth
        n_right = min(len(np.unique(of[pairs])) for of in (relevance.texts, relevance.searches))
        is_enough = n_right >= FEWEST_RIGHT and bool((right[:, fifth] > 0).all())
        total = float(outcome.right[:, fifth].sum())
        own_exposure = outcome.exposure[fifth]
        row = Fifth(
            from_tokens=int(own.min()),
            to_tokens=int(own.max()),
            n_texts=len(own),
            n_right=n_right,
            recall=float(outcome.recalled[:, fifth].sum()) / total if total else None,
            ndcg=float(outcome.gained[:, fifth].sum()) / total if total else None,
            exposure=float(own_exposure) if total else None,
            interval=middle(exposures[:, fifth]) if is_enough else None,
            is_by_chance=bool(low[fifth] <= own_exposure <= high[fifth]),
            against_words=middle(against[:, fifth]) if is_enough and against is not None else None,
        )
        rows.append(row)
    interval = mean_interval(outcome.recall, samples)
    return Ranking(float(outcome.recall.mean()), interval, float(outcome.ndcg.mean()), tuple(rows))


def _resampled(outcome: Outcome, samples: Floats32) -> tuple[Floats, Floats]:
    """Exposures in each sample, NaN where undefined, and the right shares: float64 (1000, 5)."""
    right: Floats = samples @ outcome.right
    places: Floats = samples @ outcome.places
    return np.divide(places, right, out=np.full_like(places, np.nan), where=right > 0), right
