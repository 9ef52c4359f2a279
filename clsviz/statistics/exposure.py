"""Shares of the places that texts of each length take, over the shares in which they are right.

The probability that a text is found, given its length, against the probability that it is right,
is the test of Singhal, Buckley & Mitra (1996). Its intervals allow for other searches and for other
texts: a few texts that are near every query, or families of near-duplicates, are found over and
over, and their lengths say little of others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.intervals import (
    N_DRAWS,
    Floats,
    Interval,
    jackknife_variance,
    of_mean,
    student_t,
    wilson_bound,
)
from clsviz.statistics.ranking import N_PLACES, Qrels

if TYPE_CHECKING:
    import pandas as pd

QUINTILES: Final = ("shortest", "second-shortest", "middle", "second-longest", "longest")

N_QUINTILES: Final = len(QUINTILES)

FAIR: Final = (0.8, 1.25)  # exposures that count as a fair share
DECIDED: Final = (0.5, 2.0)  # an interval beyond says too little, unless it is outside FAIR
FEWEST_RELEVANT: Final = 20  # families right in a fifth, and searches for them, for an interval
CHANCE: Final = (0.005, 0.995)  # quantiles; by chance a fifth of five is beyond in 5 of 100
LEAST: Final = 1e-6  # floor for logarithms: no text of the fifth was retrieved
SIGNIFICANT: Final = ("over_exposed", "under_exposed")  # states of fifths that stand out

UNRELATED: Final = 0.99  # of pairs that have nothing to do with each other, under a threshold
MOST_ROWS, MOST_COLUMNS = 500, 200  # searches, and texts of a fifth, in pairs
MATCHES: Final = ("threshold", "right_median", "right_above", "above_one", "low", "high")
"""Of each fifth: the score that 99 in 100 unrelated pairs are under; the median of right ones, and
their share above it; the share of unrelated ones above one threshold for all fifths, and the ends
of its interval."""

Pairs = tuple[NDArray[np.intp], NDArray[np.intp], Floats]
"""Searches, texts and weights (n,): of places that texts take, or of right texts."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The texts that n searches find, what is right among them, and their lengths.

    top_k: (n, 10), the best first. recalls, ndcgs: float64 (n,), of each search. recall_interval:
    of the mean. quintiles: a row for each of QUINTILES; its columns are
    from_tokens, to_tokens, n_texts: the shortest and the longest of its texts, and their number.
    recall_at_10, ndcg_at_10: of its right texts, each of a weight of 1 / right ones of its search.
    exposure: its share of all places over its share of what is right; NaN where nothing is.
    low, high: its 95% interval, from 0 to infinity with under 20 families of right texts, or
    searches for them. state: one of `states`. is_beyond_words: significant, and BM25 is not in this
    direction, or significantly less (paired jackknife).
    """

    top_k: NDArray[np.integer]
    recalls: Floats
    ndcgs: Floats
    recall_interval: Interval
    quintiles: "pd.DataFrame"

    @property
    def recall(self) -> float:
        """The mean over searches."""
        return float(self.recalls.mean())

    @property
    def ndcg(self) -> float:
        """The mean over searches."""
        return float(self.ndcgs.mean())

    @property
    def exposure(self) -> list[float | None]:
        """Of each fifth; None where it is undefined."""
        return [None if np.isnan(share) else share for share in self.quintiles["exposure"]]

    @property
    def intervals(self) -> list[Interval | None]:
        """Of each exposure; None where it is unbounded."""
        ends = zip(self.quintiles["low"], self.quintiles["high"], strict=True)
        return [None if np.isinf(high) else (low, high) for low, high in ends]

    @property
    def is_biased(self) -> bool:
        """True if a fifth stands out."""
        return bool(self.quintiles["state"].isin(SIGNIFICANT).any())

    @property
    def unevenness(self) -> float:
        """The largest distance of an exposure from 1, in logarithms."""
        return float(np.nanmax(np.abs(_logarithm(self.quintiles["exposure"].to_numpy()))))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Searches with their right texts, to evaluate rankings by.

    lengths, quintiles, families: of each text, (n_texts,). Quintiles are 0 (the shortest) to 4, and
    equal lengths share one; a family is equal for near-duplicates.
    """

    qrels: Qrels
    lengths: NDArray[np.int32]
    quintiles: NDArray[np.intp]
    families: NDArray[np.intp]
    seed: int

    @classmethod
    def of(
        cls,
        relevant: Sequence[NDArray[np.intp]],
        lengths: NDArray[np.int32],
        seed: int = 0,
        families: ArrayLike | None = None,
        grades: Sequence[Floats] = (),
    ) -> Self:
        """From the right texts of each search, and lengths; grades: of these texts, by default 1.

        families: of each text, or None where no text is a near-duplicate of another.
        Raises Undefined where a fifth is empty, or ten places take all texts.
        """
        n = len(lengths)
        if n <= N_PLACES:
            reason = f"Only {n} texts are searched, and each search finds {N_PLACES}."
            raise Undefined(reason, "Give more texts.")
        quintiles = np.searchsorted(np.quantile(lengths, [0.2, 0.4, 0.6, 0.8]), lengths)
        if len(np.unique(quintiles)) < N_QUINTILES:
            reason = "Too many texts are of the same length for fifths by length."
            raise Undefined(reason, "Give texts of more lengths.")
        numbers = np.unique(np.arange(n) if families is None else families, return_inverse=True)[1]
        return cls(Qrels.of(relevant, n, grades), lengths, quintiles, numbers, seed)

    def rank(self, top_k: NDArray[np.integer], words: Ranking | None = None) -> Ranking:
        """The ranking of the ten texts of each search, (n, 10), the best first.

        Recall is over min(10, right ones); nDCG has grades as gains (Järvelin & Kekäläinen 2002).
        words: the ranking of BM25.
        """
        import pandas as pd

        searches, texts, n = self.qrels.searches, self.qrels.texts, len(top_k)
        quintiles, weights = self.quintiles[texts], self.qrels.weights
        n_findable = np.minimum(self.qrels.n_relevant, N_PLACES)
        discounts = 1 / np.log2(np.arange(N_PLACES) + 2)
        matches = top_k[searches] == texts[:, None]
        hits = matches.any(axis=1)
        gains = matches @ discounts * self.qrels.grades / self._ideals(discounts)[searches]
        recalls = _sums(searches, hits, n) / n_findable
        of_fifth = _sums(quintiles, weights, N_QUINTILES)
        lengths = pd.Series(self.lengths).groupby(self.quintiles)
        table = lengths.agg(from_tokens="min", to_tokens="max", n_texts="size").assign(
            recall_at_10=_ratio(_sums(quintiles, weights * hits, N_QUINTILES), of_fifth),
            ndcg_at_10=_ratio(_sums(quintiles, gains, N_QUINTILES), of_fifth),
            **self._exposure(top_k, of_fifth, words),
        )
        return Ranking(
            top_k,
            recalls,
            _sums(searches, gains, n),
            of_mean(recalls, self.seed),
            table.set_axis(QUINTILES),
        )

    def _ideals(self, discounts: Floats) -> Floats:
        """The gain of each search if its best texts come first: (n_searches,)."""
        searches, grades = self.qrels.searches, self.qrels.grades
        order = np.lexsort((-grades, searches))
        starts = np.searchsorted(searches, np.arange(self.qrels.n_searches))
        places = np.minimum(np.arange(len(order)) - starts[searches], N_PLACES)
        gains = grades[order] * np.append(discounts, 0.0)[places]
        return _sums(searches, gains, self.qrels.n_searches)

    def _exposure(
        self, top_k: NDArray[np.integer], relevant: Floats, words: Ranking | None
    ) -> dict[str, Any]:
        """Columns of `Ranking.quintiles`, from exposure on; relevant: searches' shares in each."""
        exposure = _ratio(self._places(top_k), relevant)
        pairs = self.qrels.searches, self.qrels.texts, self.qrels.weights
        sides = pairs[0], self.families[pairs[1]]
        of_fifth = [self.quintiles[pairs[1]] == fifth for fifth in range(N_QUINTILES)]
        n_relevant = [min(len(np.unique(side[rows])) for side in sides) for rows in of_fifth]
        margin = self._margin(_pairs_of(top_k), pairs)
        is_enough = (np.array(n_relevant) >= FEWEST_RELEVANT) & np.isfinite(margin)
        low = np.where(is_enough, exposure * np.exp(-margin), 0.0)
        # Of a fifth that no search finds, others may find texts, up to this share of them.
        unfound = _ratio(np.full(N_QUINTILES, wilson_bound(len(top_k)) * len(top_k)), relevant)
        high = np.where(exposure > 0, exposure * np.exp(margin), unfound)
        high = np.where(is_enough, high, np.inf)
        least, most = np.nanquantile(self.shuffled(top_k), CHANCE, axis=0)
        state = states(low, high, (least <= exposure) & (exposure <= most))
        is_beyond = np.isin(state, SIGNIFICANT)
        if words is not None:
            excess = _logarithm(_ratio(self._places(top_k), self._places(words.top_k)))
            noise = self._margin(_pairs_of(top_k), _pairs_of(words.top_k))
            is_clear = np.where(state == "over_exposed", excess, -excess) > noise
            is_beyond &= (state != words.quintiles["state"].to_numpy()) | is_clear
        ends = {"exposure": exposure, "low": low, "high": high}
        return {**ends, "state": state, "is_beyond_words": is_beyond}

    def _places(self, top_k: NDArray[np.integer]) -> Floats:
        """The places of ten that each fifth takes, in tens."""
        return np.bincount(self.quintiles[top_k].ravel(), minlength=N_QUINTILES) / N_PLACES

    def _margin(self, above: Pairs, below: Pairs) -> Floats:
        """The margin of the logarithm of one share of each fifth over another one, (5,).

        Each of searches and of families is left out in turn. Of the three variances, by searches,
        by families and by both (their sum less that of their intersections: Cameron, Gelbach and
        Miller 2011), the largest counts, as MacKinnon, Nielsen and Webb (2021) advise.
        """
        searches = [side[0] for side in (above, below)]
        families = [self.families[side[1]] for side in (above, below)]
        cells = self.qrels.n_searches, int(self.families.max()) + 1
        pairs = [np.ravel_multi_index(pair, cells) for pair in zip(searches, families, strict=True)]
        numbers = np.unique(np.concatenate(pairs), return_inverse=True)[1]
        ways = searches, families, np.split(numbers, [len(pairs[0])])
        (by_search, by_family, by_pair), degrees = (
            np.array(column)
            for column in zip(*(self._variance(above, below, *way) for way in ways), strict=True)
        )
        variance = np.maximum.reduce([by_search, by_family, by_search + by_family - by_pair])
        return np.asarray(student_t(degrees[:2].min(axis=0)) * np.sqrt(variance))

    def _variance(
        self, above: Pairs, below: Pairs, *clusters: NDArray[np.intp]
    ) -> tuple[Floats, Floats]:
        """The variance by leaving out clusters of either share, and its degrees of freedom."""
        n = 1 + max(int(numbers.max()) for numbers in clusters)
        shares = []
        for (_, texts, weights), numbers in zip((above, below), clusters, strict=True):
            cells = numbers * N_QUINTILES + self.quintiles[texts]
            sums = _sums(cells, weights, n * N_QUINTILES).reshape(n, N_QUINTILES)
            without = np.vstack([sums.sum(axis=0), sums.sum(axis=0) - sums])
            shares.append(_ratio(without, without.sum(axis=1, keepdims=True)))
        whole, *logs = _logarithm(_ratio(*shares))
        # A cluster that holds a whole share counts as in a sum, not as an infinite logarithm.
        return jackknife_variance(np.clip(logs, whole - 1, whole + 1))

    def shuffled(self, top_k: NDArray[np.integer]) -> Floats:
        """Exposures of fifths with lengths shuffled among the families, 1,000 times: (1000, 5)."""
        random, families = np.random.default_rng(self.seed), self.families
        sizes = np.bincount(families)
        places = np.bincount(families[top_k.ravel()], minlength=len(sizes)) / N_PLACES
        relevant = _sums(families[self.qrels.texts], self.qrels.weights, len(sizes))
        ends = np.bincount(self.quintiles).cumsum()
        sums = np.empty((2, N_DRAWS, N_QUINTILES))
        for draw in range(N_DRAWS):
            order = random.permutation(len(sizes))
            last = np.searchsorted(sizes[order].cumsum(), ends)
            for row, column in enumerate((places, relevant)):
                sums[row, draw] = column[order].cumsum()[last]
        return _ratio(*np.diff(sums, prepend=0.0))

    def matches(self, queries: NDArray[Any], texts: NDArray[Any]) -> Floats:
        """Scores of pairs by the fifth of the text: float64 (5, 6), of MATCHES.

        The products are the scores. Unrelated are pairs, drawn by the seed, of which the text is
        neither right nor in a family with a right one. The interval allows for other searches or
        for other texts, whichever makes it wider.
        """
        random, qrels = np.random.default_rng(self.seed), self.qrels
        rows = random.permutation(len(queries))[:MOST_ROWS]
        order = random.permutation(len(texts))
        is_related = np.zeros((len(queries), int(self.families.max()) + 1), np.bool_)
        is_related[qrels.searches, self.families[qrels.texts]] = True
        right = np.einsum("ij,ij->i", queries[qrels.searches], texts[qrels.texts])
        blocks = []
        for fifth in range(N_QUINTILES):
            columns = order[self.quintiles[order] == fifth][:MOST_COLUMNS]
            scores = (queries[rows] @ texts[columns].T).astype(np.float64)
            scores[is_related[np.ix_(rows, self.families[columns])]] = np.nan
            blocks.append(scores)
        level = np.nanquantile(np.concatenate(blocks, axis=1), UNRELATED)
        numbers = []
        for fifth, scores in enumerate(blocks):
            own, least = (
                right[self.quintiles[qrels.texts] == fifth],
                np.nanquantile(scores, UNRELATED),
            )
            is_above = np.where(np.isnan(scores), np.nan, scores > level)
            sides = (of_mean(np.nanmean(is_above, axis=axis), self.seed) for axis in (0, 1))
            median, share = (np.median(own), np.mean(own > least)) if len(own) else (np.nan, np.nan)
            numbers.append([least, median, share, np.nanmean(is_above), *max(sides, key=np.ptp)])
        return np.array(numbers)


def states(low: ArrayLike, high: ArrayLike, is_by_chance: ArrayLike = False) -> NDArray[np.str_]:
    """Words for intervals of exposures, (n,): SIGNIFICANT, even, uneven, undecided, or open.

    A fifth is even if its interval lies within FAIR, and uneven if it leaves out 1; neither that
    nor SIGNIFICANT is said where shuffled lengths give such exposures too. Of others, undecided
    ones have too few searches or texts to tell.
    """
    low, high = np.asarray(low), np.asarray(high)
    is_certain = ~np.asarray(is_by_chance)
    cases = [
        (low > FAIR[1]) & is_certain,
        (high < FAIR[0]) & is_certain,
        (low >= FAIR[0]) & (high <= FAIR[1]),
        ((low > 1) | (high < 1)) & is_certain,
        (low < DECIDED[0]) | (high > DECIDED[1]),
    ]
    return np.select(cases, [*SIGNIFICANT, "even", "uneven", "undecided"], "open")


def _sums(cells: NDArray[np.intp], weights: NDArray[Any], n: int) -> Floats:
    """The sum of the weights in each of n cells."""
    return np.asarray(np.bincount(cells, weights, n), np.float64)


def _pairs_of(top_k: NDArray[np.integer]) -> Pairs:
    """The places of ten texts of each search, (n, 10)."""
    texts = top_k.ravel().astype(np.intp)
    searches = np.repeat(np.arange(len(top_k)), N_PLACES)
    return searches, texts, np.full(len(texts), 1 / N_PLACES)


def _logarithm(ratio: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(ratio, LEAST)))


def _ratio(places: ArrayLike, relevant: ArrayLike) -> Floats:
    """Shares over shares of what is right; NaN where nothing is."""
    ratio: Floats = np.full(np.shape(places), np.nan)
    np.divide(places, relevant, out=ratio, where=np.asarray(relevant) > 0)
    return ratio
