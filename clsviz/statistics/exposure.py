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
from clsviz.statistics.intervals import ENDS, N_DRAWS, Floats, Interval, of_mean, unseen
from clsviz.statistics.ranking import N_PLACES, Floats32, Relevance

if TYPE_CHECKING:
    import pandas as pd

FIFTHS: Final = ("shortest", "second-shortest", "middle", "second-longest", "longest")

N_FIFTHS: Final = len(FIFTHS)

FAIR: Final = (0.8, 1.25)  # exposures that count as a fair share
DECIDED: Final = (0.5, 2.0)  # an interval beyond says too little, unless it is outside FAIR
FEWEST_RIGHT: Final = 20  # right texts in a fifth, and searches for them, that an interval takes
CHANCE: Final = (0.005, 0.995)  # quantiles; by chance a fifth of five is beyond in 5 of 100
LEAST: Final = 1e-6  # exposures below are one in logarithms: nothing of the fifth is found
STANDING: Final = ("favoured", "neglected")  # states of fifths that stand out


@dataclass(frozen=True, eq=False)
class Ranking:
    """The texts that n searches find, what is right among them, and their lengths.

    tens: (n, 10), the best first. recalls, ndcgs: float64 (n,), of each search.
    places, right: float64 (n, 5), the share of a search's ten, and of its right texts, in a fifth.
    recall_interval: of the mean. fifths: a row for each of FIFTHS; its columns are
    from_tokens, to_tokens, n_texts: the shortest and the longest of its texts, and their number.
    recall_at_10, ndcg_at_10: of its right texts, each of a weight of 1 / right ones of its search.
    exposure: its share of all places over its share of what is right; NaN where nothing is.
    low, high: its 95% interval, from 0 to infinity with under 20 right texts, or searches for them.
    state: one of `states`. is_beyond_words: True if it stands out, and BM25's not in this
    direction, or clearly less by the same draws.
    """

    tens: NDArray[np.integer]
    recalls: Floats
    ndcgs: Floats
    places: Floats
    right: Floats
    recall_interval: Interval
    fifths: "pd.DataFrame"

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
        return [None if np.isnan(share) else share for share in self.fifths["exposure"]]

    @property
    def intervals(self) -> list[Interval | None]:
        """Of each exposure; None where it is unbounded."""
        ends = zip(self.fifths["low"], self.fifths["high"], strict=True)
        return [None if np.isinf(high) else (low, high) for low, high in ends]

    @property
    def bends(self) -> bool:
        """True if a fifth stands out."""
        return bool(self.fifths["state"].isin(STANDING).any())

    def exposures(self, searches: NDArray[Any]) -> Floats:
        """Exposures of the fifths, float64 (…, 5), where each search counts as often: (…, n)."""
        return _ratio(searches @ self.places, searches @ self.right)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Searches with their right texts, to evaluate rankings by.

    lengths, fifths: of each text, (n_texts,); the fifths are 0 (the shortest) to 4, and equal
    lengths share one. draws: float32 (1000, n_searches), of `draws`.
    """

    relevance: Relevance
    lengths: NDArray[np.int32]
    fifths: NDArray[np.intp]
    draws: Floats32
    seed: int

    @classmethod
    def of(
        cls, right: Sequence[NDArray[np.intp]], lengths: NDArray[np.int32], seed: int = 0
    ) -> Self:
        """From the right texts of each search, and lengths.

        Raises Undefined where a fifth is empty, or ten places take all texts.
        """
        n = len(lengths)
        if n <= N_PLACES:
            reason = f"Only {n} texts are searched, and each search finds {N_PLACES}."
            raise Undefined(reason, "Give more texts.")
        fifths = np.searchsorted(np.quantile(lengths, [0.2, 0.4, 0.6, 0.8]), lengths)
        if len(np.unique(fifths)) < N_FIFTHS:
            reason = "Too many texts are of the same length for fifths by length."
            raise Undefined(reason, "Give texts of more lengths.")
        return cls(Relevance.of(right, n), lengths, fifths, draws(len(right), seed), seed)

    def rank(self, tens: NDArray[np.integer], words: Ranking | None = None) -> Ranking:
        """The ranking of the ten texts of each search, (n, 10), the best first.

        Recall is over min(10, right ones); nDCG has equal gains (Järvelin & Kekäläinen 2002).
        words: the ranking of BM25.
        """
        import pandas as pd

        searches, texts, n = self.relevance.searches, self.relevance.texts, len(tens)
        fifths, weights = self.fifths[texts], self.relevance.weights
        n_findable = np.minimum(self.relevance.n_right, N_PLACES)
        discounts = 1 / np.log2(np.arange(N_PLACES) + 2)
        matches = tens[searches] == texts[:, None]
        hits = matches.any(axis=1)
        gains = matches @ discounts / np.cumsum(discounts)[n_findable - 1][searches]
        recalls = _sums(searches, hits, n) / n_findable
        places = np.eye(N_FIFTHS)[self.fifths[tens]].mean(axis=1)
        right = _sums(searches * N_FIFTHS + fifths, weights, n * N_FIFTHS)
        columns = places, right.reshape(n, N_FIFTHS)
        of_fifth = _sums(fifths, weights, N_FIFTHS)
        lengths = pd.Series(self.lengths).groupby(self.fifths)
        table = lengths.agg(from_tokens="min", to_tokens="max", n_texts="size").assign(
            recall_at_10=_ratio(_sums(fifths, weights * hits, N_FIFTHS), of_fifth),
            ndcg_at_10=_ratio(_sums(fifths, gains, N_FIFTHS), of_fifth),
            **self._exposure(tens, *columns, words),
        )
        return Ranking(
            tens,
            recalls,
            _sums(searches, gains, n),
            *columns,
            mean_interval(recalls, self.draws),
            table.set_axis(FIFTHS),
        )

    def _exposure(
        self, tens: NDArray[np.integer], places: Floats, right: Floats, words: Ranking | None
    ) -> dict[str, Any]:
        """Columns of `Ranking.fifths`, from exposure on."""
        exposure = _ratio(places.sum(axis=0), right.sum(axis=0))
        exposures = _ratio(self.draws @ places, self.draws @ right)
        of_fifth = [self.fifths[self.relevance.texts] == fifth for fifth in range(N_FIFTHS)]
        pairs = self.relevance.searches, self.relevance.texts
        n_right = [min(len(np.unique(side[rows])) for side in pairs) for rows in of_fifth]
        is_enough = (np.array(n_right) >= FEWEST_RIGHT) & np.isfinite(exposures).all(axis=0)
        low, high = _middles(exposures, is_enough)
        # Of a fifth that no search finds, every draw is 0: others may, up to this share of them.
        unfound = _ratio(np.full(N_FIFTHS, unseen(len(tens))), right.mean(axis=0))
        high = np.where(is_enough & ~places.any(axis=0), unfound, high)
        least, most = np.nanquantile(self.shuffled(tens), CHANCE, axis=0)
        state = states(low, high, (least <= exposure) & (exposure <= most))
        is_beyond = np.isin(state, STANDING)
        if words is not None:
            others = words.exposures(self.draws)
            logs = np.log(np.maximum(exposures, LEAST) / np.maximum(others, LEAST))
            lowest, highest = _middles(logs, is_enough)
            is_clear = np.where(state == "favoured", lowest > 0, highest < 0)
            is_beyond &= (state != words.fifths["state"].to_numpy()) | is_clear
        ends = {"exposure": exposure, "low": low, "high": high}
        return {**ends, "state": state, "is_beyond_words": is_beyond}

    def shuffled(self, tens: NDArray[np.integer]) -> Floats:
        """Exposures of fifths with lengths shuffled among the texts, 1,000 times: (1000, 5).

        Searches drawn again find the same few texts that are near every query; their lengths do not
        say anything of others.
        """
        random = np.random.default_rng(self.seed)
        n = self.relevance.n_texts
        places = np.bincount(tens.ravel(), minlength=n) / N_PLACES
        right = np.bincount(self.relevance.texts, self.relevance.weights, n)
        sums = np.empty((2, N_DRAWS, N_FIFTHS))
        for draw in range(N_DRAWS):
            fifths = random.permutation(self.fifths)
            sums[:, draw] = [np.bincount(fifths, terms, N_FIFTHS) for terms in (places, right)]
        return _ratio(*sums)


def states(low: ArrayLike, high: ArrayLike, is_by_chance: ArrayLike = False) -> NDArray[np.str_]:
    """Words for intervals of exposures, (n,): favoured, neglected, undecided, uneven or even.

    A fifth is even if its interval holds 1 or lies within FAIR, and undecided with too few searches
    or texts to tell: a few texts, found often, give such exposures also with lengths shuffled.
    """
    low, high = np.asarray(low), np.asarray(high)
    is_above, is_below = low > FAIR[1], high < FAIR[0]
    is_wide = is_above | is_below | (low < DECIDED[0]) | (high > DECIDED[1])
    is_even = (low <= 1) & (high >= 1) | (low >= FAIR[0]) & (high <= FAIR[1])
    stands_out = ~np.asarray(is_by_chance)
    cases = [is_above & stands_out, is_below & stands_out, is_wide, is_even]
    return np.select(cases, [*STANDING, "undecided", "even"], "uneven")


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


def _ratio(places: ArrayLike, right: ArrayLike) -> Floats:
    """Shares over shares of what is right; NaN where nothing is."""
    ratio: Floats = np.full(np.shape(places), np.nan)
    np.divide(places, right, out=ratio, where=np.asarray(right) > 0)
    return ratio
