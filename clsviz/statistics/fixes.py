"""Fixes for a search that length bends: fitted to one half of it, tested on the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
from numpy.polynomial.polynomial import polyfit, polyval
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import Undefined
from clsviz.statistics.exposure import Ranking
from clsviz.statistics.intervals import Floats, Interval, of_mean
from clsviz.statistics.ranking import N_PLACES, Floats32, Qrels, rank, unit

FORMULAS: Final = {
    "normalized": "vectors / np.linalg.norm(vectors, axis=1, keepdims=True)",
    "mean_pooled": "token_vectors.mean(axis=0)",
    "unprompted": "encode(texts, prompt=None)",
    "centred": "vectors - text_vectors.mean(axis=0)",
    "calibrated": "(scores - (m0 + m1 * np.log(n) + m2 * np.log(n) ** 2))"
    " / np.maximum(s0 + s1 * np.log(n) + s2 * np.log(n) ** 2, s_least)",
    "tokens^p": "scores * n**p",
}
"""Fixes by name, in NumPy; n: the length of each text, in the tokens that the model reads."""

FEWEST_TEXTS: Final = 10  # texts that a centre is fitted to
WORTHWHILE: Final = 0.01  # a fix that adds less to recall is not advised for it
FLOOR: Final = 1  # percentile of the spreads of texts below which none is taken to be


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fix as it was fitted: ((query − centre) · (text − centre) − shift) × scale.

    centre: (width,) or 0. shift, scale: float64 (n_texts,) or 0 and None. coefficients: of its
    formula.
    """

    centre: Floats32 | float = 0.0
    shift: Floats | float = 0.0
    scale: Floats | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict)


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
    m, _ = polyfit(logs, means, 2, full=True)  # full: no warning where lengths are few
    mean = np.asarray(polyval(logs, m), np.float64)
    distances = np.sqrt(np.maximum(squares - 2 * mean * means + mean**2, 0))
    s, _ = polyfit(logs, distances, 2, full=True)
    spread = polyval(logs, s)
    least = max(float(np.percentile(spread, FLOOR)), 1e-9)
    numbers = zip(("m0", "m1", "m2", "s0", "s1", "s2", "s_least"), [*m, *s, least], strict=True)
    coefficients = {name: float(number) for name, number in numbers}
    return Fitted(shift=mean, scale=1 / np.maximum(spread, least), coefficients=coefficients)


@dataclass(frozen=True, eq=False)
class Trial:
    """The vectors that fixes are tried on, whose product is the similarity.

    queries, texts: float32 (n, width). lengths: of texts, as read. is_cosine: True if vectors were
    divided by their norms, and are again after they are centred.
    length_power: of the user's own fix, or None.
    """

    queries: Floats32
    texts: Floats32
    lengths: NDArray[np.int32]
    qrels: Qrels
    is_cosine: bool
    length_power: float | None = None

    @property
    def names(self) -> list[str]:
        """Fixes that can be fitted."""
        return ["centred", "calibrated"] + ["tokens^p"] * (self.length_power is not None)

    def fit(self, name: str, is_fitting: NDArray[np.bool_]) -> Fitted:
        """A fix, fitted to some searches and to texts that are right for no other.

        Raises Undefined where the texts are too few.
        """
        if name == "calibrated":
            return calibrate(self.queries[is_fitting], self.texts, self.lengths)
        if name == "tokens^p":
            power = self.length_power or 0.0
            return Fitted(scale=np.maximum(self.lengths, 1.0) ** power, coefficients={"p": power})
        is_own, texts = is_fitting[self.qrels.searches], self.qrels.texts
        own = np.setdiff1d(texts[is_own], texts[~is_own])
        if len(own) < FEWEST_TEXTS:
            raise Undefined(f"Only {len(own)} texts are right for half of the searches.")
        return Fitted(centre=self.texts[own].mean(axis=0, dtype=float).astype(np.float32))

    def rank(self, name: str, folds: NDArray[np.intp]) -> NDArray[np.intp]:
        """The ten texts of each search by a fix that was fitted to the other fold: intp (n, 10)."""
        top_k = np.empty((len(self.queries), N_PLACES), np.intp)
        for fold in (0, 1):
            fitted = self.fit(name, folds != fold)
            queries, texts = self.queries[folds == fold] - fitted.centre, self.texts - fitted.centre
            if self.is_cosine:
                queries, texts = unit(queries), unit(texts)
            top_k[folds == fold] = rank(queries, texts, fitted.shift, fitted.scale)
        return top_k


def folds_of(n_searches: int, seed: int = 0) -> NDArray[np.intp]:
    """The half of each search, 0 or 1: intp (n,)."""
    return np.random.default_rng(seed).permutation(n_searches) % 2


@dataclass(frozen=True)
class Effect:
    """A fix on all searches, each ranked by a fix that was fitted to others.

    before, after: their recall. interval: of 95%, of their paired difference, as wide as the number
    of fixes asks for (Bonferroni). is_harmful: True if a fifth stands out with it, farther from 1
    than any is without it. makes_fair: True if one stands out without it, none does with it, and
    the exposure farthest from 1 comes at least half way to it, in logarithms.
    """

    fix: str
    before: float
    after: float
    interval: Interval
    is_harmful: bool
    makes_fair: bool

    @classmethod
    def of(cls, fix: str, own: Ranking, fixed: Ranking, seed: int, n_tested: int) -> Self:
        """From the rankings without and with it; the seed repeats the draws of the interval."""
        interval = of_mean(fixed.recalls - own.recalls, seed, -1.0, n_tested)
        is_harmful = fixed.is_biased and fixed.unevenness > own.unevenness
        makes_fair = own.is_biased and not fixed.is_biased and fixed.unevenness < own.unevenness / 2
        return cls(fix, own.recall, fixed.recall, interval, is_harmful, makes_fair)

    @property
    def gain(self) -> float:
        """The recall that the fix adds."""
        return self.after - self.before


def advise(effects: Iterable[Effect]) -> Effect | None:
    """The fix of the largest recall of those that answer the question; None: leave it.

    Where a fifth stands out, these make exposure fair, at any cost of recall; if none does, and
    elsewhere, they add to recall, enough and beyond chance, and do not harm exposure.
    """
    by_recall = sorted(effects, key=lambda effect: -effect.after)
    fair = [one for one in by_recall if one.makes_fair]
    better = [one for one in by_recall if one.interval[0] > 0 and not one.is_harmful]
    return next((one for one in fair or better if one.makes_fair or one.gain >= WORTHWHILE), None)
