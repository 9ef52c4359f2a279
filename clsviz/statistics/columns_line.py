"""The regression line through sentences of which only counts and sums by length are kept."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import special

from clsviz.errors import UndefinedFitError
from clsviz.statistics.columns import COARSE, Cells, Columns, cells_of
from clsviz.statistics.intervals import (
    CONFIDENCE,
    Floats,
    Interval,
    RSquaredInterval,
    agreeing,
    correlation_of_sums,
    interval_of_sums,
)
from clsviz.statistics.line import CUTOFF_COLUMNS, FLAT_LENGTHS, Fit, Flat, explain_undefined_of

N_DRAWS = 999

_AT_ONCE = 9
"""Draws made together: they share a generator, so that the result does not depend on the number of threads."""


class Line:
    """The least-squares line through columns, and what its intervals take.

    x, y: lengths and norms less their means, of each column. residuals: float64 (l,), the sums of their squares.
    Raises UndefinedFitError where there is no line.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns, n = columns, columns.n
        self.n = columns.total
        present = np.flatnonzero(n)
        self.n_lengths, self.fewest = len(present), int(n[present].min(initial=self.n))
        total = max(self.n, 1)
        self.mean_length = float(n @ columns.lengths) / total
        self.mean = float(columns.sums.sum()) / total
        self.x = columns.lengths - self.mean_length
        of_length = columns.sums / np.maximum(n, 1)
        self.y = of_length - self.mean
        within = np.maximum(columns.squares - columns.sums * of_length, 0)
        self.xx, self.xy = float(n @ self.x**2), float((n * self.x) @ self.y)
        self.yy = float(within.sum() + n @ self.y**2)
        self.norm_mean = columns.bins.middle + self.mean
        ends = columns.lengths[present[[0, -1]]] if self.n else np.zeros(2)
        explain_undefined_of(self.n, (float(ends[0]), float(ends[1])), self.norm_mean, (self.yy / total) ** 0.5)
        self.slope = self.xy / self.xx
        self.residuals = within + n * (self.y - self.slope * self.x) ** 2
        self.r_squared = min(self.xy**2 / self.xx / self.yy, 1.0)

    @property
    def covariance(self) -> Floats:
        """Of intercept and slope, (2, 2), by HC3 (MacKinnon and White 1985): exact, as leverage depends on length."""
        if self.n_lengths == 2 and self.fewest == 1:  # its own error is unknown, at its end of the line
            return np.full((2, 2), np.inf)
        leverage = 1 / self.n + self.x**2 / self.xx
        occurs = self.columns.n > 0  # at a length that no sentence has, it may be 1
        weights = self.residuals[occurs] / (1 - leverage[occurs]) ** 2
        x = self.x[occurs]
        bread = np.stack([1 / self.n - self.mean_length * x / self.xx, x / self.xx])
        covariance: Floats = (bread * weights) @ bread.T
        return covariance

    @property
    def cells(self) -> Cells:
        """What the intervals of R² are computed from, in bins that are narrow beside the distances from the line."""
        bins = self.columns.bins
        n_bins, distance = min(COARSE, bins.n), float(self.residuals.sum() / self.n) ** 0.5
        while n_bins < bins.n and bins.width * bins.n / n_bins > distance / 4:
            n_bins *= 2
        return cells_of(self.columns, self.mean_length, self.mean, n_bins)

    @property
    def whole(self) -> Floats:
        """The exact sums over all sentences of what cells have the means of: (6,)."""
        return np.array([self.n, 0.0, 0.0, self.xx, self.xy, self.yy])

    @property
    def degrees_of_freedom(self) -> int:
        """Of the covariance."""
        return max(self.n - 2, 1)

    @property
    def t(self) -> float:
        """Student’s, for them."""
        return float(special.stdtrit(self.degrees_of_freedom, (1 + CONFIDENCE) / 2))

    def intervals(self, covariance: Floats) -> tuple[RSquaredInterval, Interval]:
        """Of R², by the jackknife of sentences as `intervals.r_squared_interval` has it, and of the slope."""
        cells = self.cells.halves
        found = interval_of_sums(cells.sums, cells.times, self.whole)
        margin = self.t * float(covariance[1, 1]) ** 0.5
        ends, of_slope = agreeing(found.ends, (self.slope - margin, self.slope + margin))
        return replace(found, ends=ends), of_slope


def line_of(columns: Columns) -> Fit:
    """As `line.fit` without clusters, of the norms that were counted."""
    line = Line(columns)
    intercept = line.norm_mean - line.slope * line.mean_length
    covariance = line.covariance
    margin = line.t * float(covariance[0, 0]) ** 0.5
    of_r_squared, of_slope = line.intervals(covariance)
    return Fit(
        n=line.n,
        n_clusters=line.n,
        slope=line.slope,
        intercept=intercept,
        r_squared=line.r_squared,
        spearman=spearman(columns),
        slope_interval=of_slope,
        intercept_interval=(intercept - margin, intercept + margin),
        r_squared_interval=of_r_squared.ends,
        rests_on_few=of_r_squared.rests_on_few(line.n),
        norm_mean=line.norm_mean,
        norm_sd=(line.yy / (line.n - 1)) ** 0.5,
        covariance=covariance,
        degrees_of_freedom=line.degrees_of_freedom,
        t=line.t,
    )


def spearman(columns: Columns) -> float:
    """Spearman’s rank correlation with mid-ranks, as if all norms in a bin were the same; NaN if all are in one."""
    by_bin = columns.norms_by_bin
    used = np.flatnonzero(by_bin)
    inside = slice(used[0], used[-1] + 1)
    of_length, of_norm = _ranks(columns.n), _ranks(by_bin[inside])
    products = columns.n @ of_length**2 * (by_bin[inside] @ of_norm**2)
    together = of_length @ (columns.counts[:, inside] @ of_norm)
    return float(together / products**0.5) if products > 0 else float("nan")


def _ranks(counts: np.ndarray) -> Floats:
    """The mid-rank of each group, less the mean rank."""
    ranks: Floats = np.cumsum(counts) - counts / 2 - counts.sum() / 2
    return ranks


def bootstrap(columns: Columns, n_draws: int = N_DRAWS, seed: int = 0) -> Interval:
    """A 95% interval of R² by the percentile bootstrap of sentences, drawn independently.

    In a resample a sentence occurs a number of times that follows Poisson’s distribution with a mean of 1, so that of
    a cell of m sentences one with a mean of m (Chamandy et al. 2012). As in `intervals.r_squared_interval`, R² is the
    square of a correlation with an interval that may hold 0. Raises UndefinedFitError as `line_of` does.
    """
    cells = Line(columns).cells
    sums = cells.sums
    seeds = np.random.SeedSequence(seed).spawn(-(-n_draws // _AT_ONCE))

    def draw(of: np.random.SeedSequence) -> Floats:
        times = np.random.default_rng(of).poisson(cells.times, (_AT_ONCE, len(cells.times)))
        return correlation_of_sums(times.astype(float) @ sums)

    with ThreadPoolExecutor(2) as pool:
        drawn = np.concatenate([*pool.map(draw, seeds)])[:n_draws]
    low, high = (
        np.quantile(drawn, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)) if np.isfinite(drawn).all() else (-1, 1)
    )
    ends = sorted((float(low) ** 2, float(high) ** 2))
    return (0.0 if low <= 0 <= high else ends[0], ends[1])


def flat_of(columns: Columns) -> Flat:
    """As `cutoff.flat`, of the norms that were counted; exact."""
    inside = columns.between(FLAT_LENGTHS.start, FLAT_LENGTHS.stop)
    absent = tuple(length for length, n in zip(inside.lengths.tolist(), inside.n.tolist(), strict=True) if not n)
    Line(inside)  # raises where there is none
    occurs = inside.n > 0
    n, x = inside.n[occurs], inside.lengths[occurs] - inside.lengths[occurs].mean()
    means, squares = inside.sums[occurs] / n, inside.squares[occurs] / n
    y = means - means.mean()
    yy = float((squares - means**2).sum() + y @ y)
    return Flat(float(x @ y) ** 2 / float(x @ x) / yy, absent)


def by_cutoff_of(columns: Columns, cutoffs: Iterable[int]) -> pd.DataFrame:
    """As `cutoff.by_cutoff`, of the norms that were counted, by lengths in tokens."""
    rows: list[tuple[float, ...]] = []
    for cutoff in sorted(set(cutoffs)):
        under = columns.between(0, cutoff)
        if rows and under.total == rows[-1][1]:
            continue
        try:
            line = Line(under)
        except UndefinedFitError:
            continue
        of_r_squared, _ = line.intervals(line.covariance)
        rows.append((cutoff, line.n, line.r_squared, *of_r_squared.ends, line.slope))
    return pd.DataFrame(rows, columns=CUTOFF_COLUMNS).astype({"length_cutoff": int, "n": int})
