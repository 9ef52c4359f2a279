"""What a straight line leaves out: a curve, the spread at each length, and whether length tells anything at all."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.feature_selection import mutual_info_regression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from statsmodels.regression.quantile_regression import QuantReg
from statsmodels.tools.sm_exceptions import ConvergenceWarning, IterationLimitWarning

from clsviz.errors import UndefinedFitError
from clsviz.statistics.folds import folds_of
from clsviz.statistics.intervals import CONFIDENCE, ROUNDING, Floats, Interval
from clsviz.statistics.line import explain_undefined

LEAST = 100
"""Sentences; among fewer, the 5% quantile would rest on less than five of them."""


QUANTILES = (0.05, 0.5, 0.95)


EXTREME_SHARE = 0.02
"""The share of norms that count as extreme: half of them the lowest, half the highest."""


_KNOTS = 5


_RESAMPLES, _PERMUTATIONS = 999, 99


_MOST_FOR_INFORMATION = 2000
"""Sentences that mutual information is estimated from: the permutations take a second then."""


@dataclass(frozen=True)
class Extremes:
    """What lengths the most extreme norms have.

    length: the median length. among_extreme: the share of the extreme norms that belong to shorter sentences.
    among_all: the share of all sentences that are shorter. n: how many norms count as extreme.
    """

    length: float
    among_extreme: float
    among_all: float
    n: int


@dataclass(frozen=True)
class Shape:
    """How norms depend on length, beyond a straight line. All intervals assume that the sentences are independent.

    curve_r_squared: cross-validated R² of a cubic regression spline, the mean over the folds; below 0 where the mean
        norm would have been a better guess.
    spread_ratio: standard deviation of the norms of the shortest fifth over that of the longest; NaN where these are
        the same sentences, or where the norms of the longest are all the same.
    spread_ratio_interval: its 95% interval, by the percentile bootstrap.
    quantile_slopes: change of the norm's 5%, 50% and 95% quantile per unit of the natural logarithm of length, by
        quantile regression (Koenker and Bassett 1978); by quantile.
    mutual_information: in nats, estimated from nearest neighbours (Kraskov, Stögbauer and Grassberger 2004).
    mutual_information_null: what 95 of 100 estimates stay below if the lengths are shuffled.
    """

    curve_r_squared: float
    spread_ratio: float
    spread_ratio_interval: Interval
    quantile_slopes: dict[float, float]
    mutual_information: float
    mutual_information_null: float
    extreme_norms: Extremes


def shape(sentences: Sequence[str], lengths: ArrayLike, norms: ArrayLike) -> Shape:
    """Describe how the norms (n,) of n sentences depend on their lengths (n,).

    The sentences must be in random order, as those of a sample are. Raises UndefinedFitError where they are fewer than
    LEAST, or determine no line either.
    """
    x, y = np.asarray(lengths, dtype=float), np.asarray(norms, dtype=float)
    explain_undefined(x, y)
    if len(x) < LEAST:
        raise UndefinedFitError(
            f"The shape of the relation takes at least {LEAST} sentences to describe, and there are {len(x)}. Take "
            "more sentences, or a larger cutoff."
        )
    ratio, interval = _spread(x, y)
    information, null = _information(x[:_MOST_FOR_INFORMATION], y[:_MOST_FOR_INFORMATION])
    return Shape(_curve(x, y, folds_of(sentences)), ratio, interval, _slopes(x, y), information, null, _extremes(x, y))


def _curve(x: Floats, y: Floats, folds: NDArray[np.intp]) -> float:
    """Cross-validated R² of a cubic spline with knots at the quantiles of the training lengths."""
    scores = []
    for fold in np.unique(folds):
        held_out = folds == fold
        if np.ptp(y[held_out]) == 0:
            continue  # no variance to explain
        train = x[~held_out, None]
        knots = np.unique(np.quantile(train, np.linspace(0, 1, _KNOTS)))[:, None]
        if len(knots) < 2:
            continue  # one length: there is no curve
        curve = make_pipeline(SplineTransformer(knots=knots, extrapolation="linear"), LinearRegression())
        curve.fit(train, y[~held_out] - y.mean())  # some norms vary so little that their mean would cost digits
        scores.append(r2_score(y[held_out] - y.mean(), curve.predict(x[held_out, None])))
    return float(np.mean(scores)) if scores else math.nan


def _spread(x: Floats, y: Floats) -> tuple[float, Interval]:
    low, high = np.quantile(x, [0.2, 0.8])
    shortest, longest = y[x <= low] - y.mean(), y[x >= high] - y.mean()

    def ratio(first: Floats, second: Floats, axis: int = -1) -> Floats:
        values: Floats = first.std(axis=axis, ddof=1) / second.std(axis=axis, ddof=1)
        return values

    if low == high or min(len(shortest), len(longest)) < 3 or longest.std() <= ROUNDING * abs(y.mean()):
        return math.nan, (math.nan, math.nan)
    interval = stats.bootstrap(
        (shortest, longest),
        ratio,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        batch=50,  # so that memory stays small with many sentences
        rng=0,
    ).confidence_interval
    return float(ratio(shortest, longest)), (float(interval.low), float(interval.high))


def _slopes(x: Floats, y: Floats) -> dict[float, float]:
    centre, scale = y.mean(), y.std()
    design = np.stack([np.ones_like(x), np.log(np.maximum(x, 1))], axis=1)
    model = QuantReg((y - centre) / scale, design)
    with warnings.catch_warnings():
        # Where several lines fit almost equally well, it may go back and forth between them until it is stopped.
        warnings.simplefilter("ignore", IterationLimitWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return {quantile: float(model.fit(quantile, p_tol=1e-5).params[1] * scale) for quantile in QUANTILES}


def _information(x: Floats, y: Floats) -> tuple[float, float]:
    """Mutual information, and what it stays below in 95 of 100 cases without any."""

    def estimate(lengths: Floats) -> float:
        return float(mutual_info_regression(lengths[:, None], y, random_state=0)[0])

    random = np.random.default_rng(0)
    null = [estimate(random.permutation(x)) for _ in range(_PERMUTATIONS)]
    return estimate(x), float(np.quantile(null, 0.95))


def _extremes(x: Floats, y: Floats) -> Extremes:
    each = max(1, round(len(y) * EXTREME_SHARE / 2))
    order = np.argsort(y, kind="stable")
    extreme = np.concatenate([order[:each], order[-each:]])
    median = float(np.median(x))
    return Extremes(median, float(np.mean(x[extreme] < median)), float(np.mean(x < median)), len(extreme))
