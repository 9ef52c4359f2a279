"""How often texts of each length are found, over how often they are right: recall, nDCG and exposure by fifths.

The question is of Singhal, Buckley & Mitra (1996): the probability that a text is found, given its length, against the
probability that it is right. A fifth is a fifth of the indexed texts by their length in tokens.
"""

import math
from dataclasses import dataclass

N_PLACES = 10
"""How many texts a search finds."""

FAIR = 0.8, 1.25
"""Exposures that count as a fair share."""

DECIDED = 0.5, 2.0
"""An interval that reaches beyond these says too little, unless it lies wholly outside `FAIR`."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Fifth:
    """One fifth of the indexed texts by length, and how a way to rank treats it; None where nothing in it is right.

    from_tokens, to_tokens: its shortest and its longest text. n_texts: how many texts it has.
    n_right: pairs of a search and a text in it that is right.
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
