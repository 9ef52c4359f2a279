"""Fixes for a search that length bends: fitted to one half of it, tested on the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.exposure import FAIR, Outcome, draws, mean_interval
from clsviz.statistics.jackknife import Floats, Interval
from clsviz.statistics.ranking import Floats32, Relevance, rank, unit

FEWEST_TEXTS: Final = 10
"""Texts that a centre is fitted to."""

WORTHWHILE: Final = 0.01
"""A fix that adds less to recall is not advised for it."""

FLOOR: Final = 1
"""Percentile of the spreads of texts below which none is taken to be."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fix as it was fitted: ((query − centre) · (text − centre) − shift) × scale.

    centre: (width,) or 0. shift, scale: float64 (n_texts,) or None. coefficients: of its formula.
    """

    centre: Floats32 | float = 0.0
    shift: Floats | None = None
    scale: Floats | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict)


FORMULAS: Final = {
    "normalized": "vector / norm of the vector",
    "mean_pooled": "mean of the token vectors",
    "centred": "vector - mean of the texts' vectors",
    "calibrated": "(score - (m0 + m1 log(n) + m2 log(n)²))"
    " / max(s0 + s1 log(n) + s2 log(n)², s_least)",
    "tokens^p": "score * n**p",
}
"""Fixes by name, for a reader; n is the length of a text in the tokens that the model reads."""


def calibrate(queries: ArrayLike, texts: ArrayLike, lengths: NDArray[np.int32]) -> Fitted:
    """Scores in standard deviations from those that texts of their length get: (score − m) / s.

    m and s are quadratic in log length, fitted by least squares to the mean score of each text,
    (n_texts, width), with all of these queries, (n, width), and to its root mean square distance
    from m; s is at least its first percentile over the texts.
    """
    asking, indexed = np.asarray(queries, float), np.asarray(texts, float)
    logs = np.log(np.maximum(lengths, 1))
    # Sums of products are products of sums: means of scores and of squares take no score.
    means = indexed @ asking.mean(axis=0)
    squares = np.einsum("ij,ij->i", indexed @ (asking.T @ asking / len(asking)), indexed)
    m = np.polynomial.polynomial.polyfit(logs, means, 2)
    mean: Floats = np.asarray(np.polynomial.polynomial.polyval(logs, m), float)
    distances = np.sqrt(np.maximum(squares - 2 * mean * means + mean**2, 0))
    s = np.polynomial.polynomial.polyfit(logs, distances, 2)
    spread = np.polynomial.polynomial.polyval(logs, s)
    least = max(float(np.percentile(spread, FLOOR)), 1e-9)
    names = ("m0", "m1", "m2", "s0", "s1", "s2", "s_least")
    numbers = dict(zip(names, [*map(float, m), *map(float, s), least], strict=True))
    return Fitted(shift=mean, scale=1 / np.maximum(spread, least), coefficients=numbers)


@dataclass(frozen=True, eq=False)
class Trial:
    """The vectors that fixes are tried on, whose product is the similarity.

    queries, texts: float32 (n, width). lengths: of texts, as read. is_cosine: True if vectors were
    divided by their norms, and are again once they are centred.
    length_power: of the user's own fix, or None.
    """

    queries: Floats32
    texts: Floats32
    lengths: NDArray[np.int32]
    relevance: Relevance
    is_cosine: bool
    length_power: float | None = None

    @property
    def names(self) -> list[str]:
        """Fixes that can be fitted."""
        return ["centred", "calibrated", *(["tokens^p"] if self.length_power is not None else [])]

    def fit(self, name: str, is_fitting: NDArray[np.bool_]) -> Fitted:
        """A fix, fitted to some searches and to texts that are right for no other.

        Raises Undefined where the texts are too few.
        """
        if name == "tokens^p":
            power = self.length_power or 0.0
            scale = np.maximum(self.lengths, 1).astype(float) ** power
            return Fitted(scale=scale, coefficients={"p": power})
        if name == "calibrated":
            return calibrate(self.queries[is_fitting], self.texts, self.lengths)
        is_own = is_fitting[self.relevance.searches]
        own = np.setdiff1d(self.relevance.texts[is_own], self.relevance.texts[~is_own])
        if len(own) < FEWEST_TEXTS:
            raise Undefined(f"Only {len(own)} texts are right for half of the searches.")
        return Fitted(centre=self.texts[own].mean(axis=0, dtype=float).astype(np.float32))

    def rank(self, name: str, folds: NDArray[np.intp]) -> NDArray[np.intp]:
        """The ten texts of each search by a fix that was fitted to the other fold: intp (n, 10)."""
        tens = np.empty((len(self.queries), 10), np.intp)
        for fold in (0, 1):
            fitted = self.fit(name, folds != fold)
            queries, texts = self.queries[folds == fold] - fitted.centre, self.texts - fitted.centre
            if self.is_cosine:
                queries, texts = unit(queries), unit(texts)
            tens[folds == fold] = rank(queries, texts, fitted.shift, fitted.scale)
        return tens


def folds_of(n_searches: int, seed: int = 0) -> NDArray[np.intp]:
    """The half of each search, 0 or 1: intp (n,)."""
    return np.random.default_rng(seed).permutation(n_searches) % 2


@dataclass(frozen=True)
class Advice:
    """A fix, chosen on one half of the searches and reported on the other.

    before, after: recall of the other half. interval: of 95%, of their paired difference.
    is_at_a_cost: True if recall may fall, which is the price of fair exposure.
    """

    fix: str
    before: float
    after: float
    interval: Interval
    is_at_a_cost: bool


def advise(
    own: Outcome, fixed: Mapping[str, Outcome], folds: NDArray[np.intp], bends: bool, seed: int = 0
) -> Advice | None:
    """The fix that raises recall most on one half, if it does so on the other; None: leave it.

    bends: True if a fifth stands out. Then a fix that makes all exposures fair is worth as much,
    and one that does so at a cost is better than none.
    """
    choosing, reporting = (np.flatnonzero(folds == fold) for fold in (0, 1))

    def gain(fix: str, half: NDArray[np.intp]) -> tuple[float, Interval]:
        difference = fixed[fix].recall[half] - own.recall[half]
        return float(difference.mean()), mean_interval(difference, draws(len(half), seed))

    def is_fair(fix: str, half: NDArray[np.intp]) -> bool:
        exposure = fixed[fix].take(half).exposure
        return bool((np.isnan(exposure) | (exposure >= FAIR[0]) & (exposure <= FAIR[1])).all())

    def advice(fix: str) -> Advice:
        before, after = (float(of.recall[reporting].mean()) for of in (own, fixed[fix]))
        interval = gain(fix, reporting)[1]
        return Advice(fix, before, after, interval, interval[0] < 0)

    gains = {fix: gain(fix, choosing) for fix in fixed}
    better = {
        fix: mean
        for fix, (mean, (low, _)) in gains.items()
        if low >= 0 and (mean >= WORTHWHILE or (bends and is_fair(fix, choosing)))
    }
    if better:
        best = advice(max(better, key=better.__getitem__))
        if not best.is_at_a_cost:
            return best
    fair = [fix for fix in fixed if bends and is_fair(fix, choosing) and is_fair(fix, reporting)]
    return advice(max(fair, key=lambda fix: gains[fix][0])) if fair else None
