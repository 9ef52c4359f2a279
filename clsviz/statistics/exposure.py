"""Shares of the places that texts of each length take, over the shares in which they are right.

The probability that a text is found, given its length, against the probability that it is right,
is the test of Singhal, Buckley & Mitra (1996).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.intervals import ENDS, N_DRAWS, Floats, Interval, of_mean, wilson_bound
from clsviz.statistics.ranking import N_PLACES, Floats32, Qrels

if TYPE_CHECKING:
    import pandas as pd

QUINTILES: Final = ("shortest", "second-shortest", "middle", "second-longest", "longest")

N_QUINTILES: Final = len(QUINTILES)

FAIR: Final = (0.8, 1.25)  # exposures that count as a fair share
DECIDED: Final = (0.5, 2.0)  # an interval beyond says too little, unless it is outside FAIR
FEWEST_RELEVANT: Final = 20  # right texts in a fifth, and searches for them, that an interval takes
CHANCE: Final = (0.005, 0.995)  # quantiles; by chance a fifth of five is beyond in 5 of 100
LEAST: Final = 1e-6  # floor for logarithms: no text of the fifth was retrieved
SIGNIFICANT: Final = ("over_exposed", "under_exposed")  # states of fifths that stand out


@dataclass(frozen=True, eq=False)
class Ranking:
    """The texts that n searches find, what is right among them, and their lengths.

    top_k: (n, 10), the best first. recalls, ndcgs: float64 (n,), of each search.
    places, right: float64 (n, 5), the share of a search's ten, and of its right texts, in a fifth.
    recall_interval: of the mean. quintiles: a row for each of QUINTILES; its columns are
    from_tokens, to_tokens, n_texts: the shortest and the longest of its texts, and their number.
    recall_at_10, ndcg_at_10: of its right texts, each of a weight of 1 / right ones of its search.
    exposure: its share of all places over its share of what is right; NaN where nothing is.
    low, high: its 95% interval, from 0 to infinity with under 20 right texts, or searches for them.
    state: one of `states`. is_beyond_words: significant, and BM25 is not in this direction, or
    significantly less (paired bootstrap).
    """

    top_k: NDArray[np.integer]
    recalls: Floats
    ndcgs: Floats
    places: Floats
    relevant: Floats
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

    def exposures(self, searches: NDArray[Any]) -> Floats:
        """Exposures of the fifths, float64 (…, 5), where each search counts as often: (…, n)."""
        return _ratio(searches @ self.places, searches @ self.relevant)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Searches with their right texts, to evaluate rankings by.

    lengths, quintiles: of each text, (n_texts,); the quintiles are 0 (the shortest) to 4, and equal
    lengths share one. draws: float32 (1000, n_searches), of `draws`.
    """

    qrels: Qrels
    lengths: NDArray[np.int32]
    quintiles: NDArray[np.intp]
    draws: Floats32
    seed: int

    @classmethod
    def of(
        cls, relevant: Sequence[NDArray[np.intp]], lengths: NDArray[np.int32], seed: int = 0
    ) -> Self:
        """From the right texts of each search, and lengths.

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
        return cls(Qrels.of(relevant, n), lengths, quintiles, draws(len(relevant), seed), seed)

    def rank(self, top_k: NDArray[np.integer], words: Ranking | None = None) -> Ranking:
        """The ranking of the ten texts of each search, (n, 10), the best first.

        Recall is over min(10, right ones); nDCG has equal gains (Järvelin & Kekäläinen 2002).
        words: the ranking of BM25.
        """
        import pandas as pd

        searches, texts, n = self.qrels.searches, self.qrels.texts, len(top_k)
        quintiles, weights = self.quintiles[texts], self.qrels.weights
        n_findable = np.minimum(self.qrels.n_relevant, N_PLACES)
        discounts = 1 / np.log2(np.arange(N_PLACES) + 2)
        matches = top_k[searches] == texts[:, None]
        hits = matches.any(axis=1)
        gains = matches @ discounts / np.cumsum(discounts)[n_findable - 1][searches]
        recalls = _sums(searches, hits, n) / n_findable
        places = np.eye(N_QUINTILES)[self.quintiles[top_k]].mean(axis=1)
        relevant = _sums(searches * N_QUINTILES + quintiles, weights, n * N_QUINTILES)
        columns = places, relevant.reshape(n, N_QUINTILES)
        of_fifth = _sums(quintiles, weights, N_QUINTILES)
        lengths = pd.Series(self.lengths).groupby(self.quintiles)
        table = lengths.agg(from_tokens="min", to_tokens="max", n_texts="size").assign(
            recall_at_10=_ratio(_sums(quintiles, weights * hits, N_QUINTILES), of_fifth),
            ndcg_at_10=_ratio(_sums(quintiles, gains, N_QUINTILES), of_fifth),
            **self._exposure(top_k, *columns, words),
        )
        return Ranking(
            top_k,
            recalls,
            _sums(searches, gains, n),
            *columns,
            mean_interval(recalls, self.draws),
            table.set_axis(QUINTILES),
        )

    def _exposure(
        self, top_k: NDArray[np.integer], places: Floats, relevant: Floats, words: Ranking | None
    ) -> dict[str, Any]:
        """Columns of `Ranking.quintiles`, from exposure on."""
        exposure = _ratio(places.sum(axis=0), relevant.sum(axis=0))
        exposures = _ratio(self.draws @ places, self.draws @ relevant)
        of_fifth = [self.quintiles[self.qrels.texts] == fifth for fifth in range(N_QUINTILES)]
        pairs = self.qrels.searches, self.qrels.texts
        n_relevant = [min(len(np.unique(side[rows])) for side in pairs) for rows in of_fifth]
        is_enough = (np.array(n_relevant) >= FEWEST_RELEVANT) & np.isfinite(exposures).all(axis=0)
        low, high = _middles(exposures, is_enough)
        # Of a fifth that no search finds, every draw is 0: others may, up to this share of them.
        unfound = _ratio(np.full(N_QUINTILES, wilson_bound(len(top_k))), relevant.mean(axis=0))
        high = np.where(is_enough & ~places.any(axis=0), unfound, high)
        least, most = np.nanquantile(self.shuffled(top_k), CHANCE, axis=0)
        state = states(low, high, (least <= exposure) & (exposure <= most))
        is_beyond = np.isin(state, SIGNIFICANT)
        if words is not None:
            others = words.exposures(self.draws)
            logs = np.log(np.maximum(exposures, LEAST) / np.maximum(others, LEAST))
            lowest, highest = _middles(logs, is_enough)
            is_clear = np.where(state == "over_exposed", lowest > 0, highest < 0)
            is_beyond &= (state != words.quintiles["state"].to_numpy()) | is_clear
        ends = {"exposure": exposure, "low": low, "high": high}
        return {**ends, "state": state, "is_beyond_words": is_beyond}

    def shuffled(self, top_k: NDArray[np.integer]) -> Floats:
        """Exposures of fifths with lengths shuffled among the texts, 1,000 times: (1000, 5).

        Searches drawn again find the same few texts that are near every query; their lengths do not
        say anything of others.
        """
        random = np.random.default_rng(self.seed)
        n = self.qrels.n_texts
        places = np.bincount(top_k.ravel(), minlength=n) / N_PLACES
        relevant = np.bincount(self.qrels.texts, self.qrels.weights, n)
        sums = np.empty((2, N_DRAWS, N_QUINTILES))
        for draw in range(N_DRAWS):
            quintiles = random.permutation(self.quintiles)
            sums[:, draw] = [
                np.bincount(quintiles, terms, N_QUINTILES) for terms in (places, relevant)
            ]
        return _ratio(*sums)


def states(low: ArrayLike, high: ArrayLike, is_by_chance: ArrayLike = False) -> NDArray[np.str_]:
    """Words for intervals of exposures, (n,): those of SIGNIFICANT, undecided, uneven or even.

    A fifth is even if its interval holds 1 or lies within FAIR, and undecided with too few searches
    or texts to tell: a few texts, found often, give such exposures also with lengths shuffled.
    """
    low, high = np.asarray(low), np.asarray(high)
    is_above, is_below = low > FAIR[1], high < FAIR[0]
    is_wide = is_above | is_below | (low < DECIDED[0]) | (high > DECIDED[1])
    is_even = (low <= 1) & (high >= 1) | (low >= FAIR[0]) & (high <= FAIR[1])
    is_significant = ~np.asarray(is_by_chance)
    cases = [is_above & is_significant, is_below & is_significant, is_wide, is_even]
    return np.select(cases, [*SIGNIFICANT, "undecided", "even"], "uneven")


def draws(n_searches: int, seed: int = 0) -> Floats32:
    """How often each of n searches is in each of 1,000 bootstrap samples: float32 (1000, n)."""
    random = np.random.default_rng(seed)
    samples = (random.integers(n_searches, size=n_searches) for _ in range(N_DRAWS))
    counts = [np.bincount(sample, minlength=n_searches).astype(np.float32) for sample in samples]
    return np.stack(counts)


def mean_interval(values: Floats, samples: Floats32, least: float = 0.0) -> Interval:
    """The interval of the mean of values (n_searches,), as `of_mean` has it."""
    return of_mean(values, samples @ values / len(values), least)


def _sums(cells: NDArray[np.intp], weights: NDArray[Any], n: int) -> Floats:
    """The sum of the weights in each of n cells."""
    return np.asarray(np.bincount(cells, weights, n), np.float64)


def _middles(draws: Floats, is_enough: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The ends of the interval of each column; 0 and infinity where there is not enough."""
    low, high = np.where(is_enough, np.quantile(draws, ENDS, axis=0), [[0.0], [np.inf]])
    return low, high


def _ratio(places: ArrayLike, relevant: ArrayLike) -> Floats:
    """Shares over shares of what is right; NaN where nothing is."""
    ratio: Floats = np.full(np.shape(places), np.nan)
    np.divide(places, relevant, out=ratio, where=np.asarray(relevant) > 0)
    return ratio
