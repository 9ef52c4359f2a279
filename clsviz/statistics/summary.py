"""Norms of any number of sentences, summed up by length: what is kept of them, and the numbers that follow from it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import UndefinedFitError
from clsviz.measurements import MAX_LENGTH
from clsviz.statistics.intervals import CONFIDENCE, Floats, Interval, RSquaredInterval, agreeing, interval_of_sums
from clsviz.statistics.line import CUTOFF_COLUMNS, CUTOFFS, FLAT_LENGTHS, Fit, Flat, explain_undefined_of

N_LENGTHS = MAX_LENGTH + 1
"""A sentence that a model reads whole has at most so many tokens, less one."""

N_BINS = 8192
"""A power of two, so that many coarser bins are made of whole ones."""

RESOLUTION = 1e-3
"""Half the width of a bin, as a share of the spread of the norms that the bins were decided from."""

N_OUTER = 256
"""Further bins on either side, each wider than the one before it; together they reach 150 times as far."""

_GROWTH = 1.02
"""How much further from the middle each of these begins than the one before it."""


_CENTRAL, _APART = (0.01, 0.99), 4.653
"""Two quantiles, and how many standard deviations of a normal distribution lie between them."""


@dataclass(frozen=True)
class NormBins:
    """Bins of norms: n inner ones of one width, and outer ones on either side, of which the last have no end.

    lowest: the lower edge of the first inner bin. width: of each.
    """

    lowest: float
    width: float
    n: int = N_BINS

    @classmethod
    def of(cls, norms: ArrayLike, n: int = N_BINS) -> Self:
        """The bins for norms like these, (m,): as wide as `RESOLUTION` says, and so 16 times as wide as the spread.

        The spread is the standard deviation, or what it would be if the distance between the lowest and the highest
        hundredth were that of a normal distribution, if that is less: so a few norms far out do not decide it. Norms
        that hardly vary count as if they varied by the rounding of float32. Raises ValueError if they are not finite.
        """
        y = np.asarray(norms, dtype=float)
        if not len(y):
            return cls(0.0, 1.0, n)
        if not np.isfinite(y).all():
            raise ValueError("a norm is not finite")
        rounding = max(float(np.abs(y).max()) * float(np.finfo(np.float32).eps), float(np.finfo(np.float32).tiny))
        low, high = np.quantile(y, _CENTRAL).tolist()
        spread = min(float(y.std()), (high - low) / _APART) if high > low else float(y.std())
        width = 2 * RESOLUTION * max(spread, rounding)
        return cls((low + high) / 2 - width * n / 2, width, n)

    @property
    def n_columns(self) -> int:
        """How many bins there are, the outer ones included."""
        return self.n + 2 * N_OUTER

    @property
    def inner(self) -> slice:
        """Which of these are the inner ones."""
        return slice(N_OUTER, N_OUTER + self.n)

    @property
    def middle(self) -> float:
        """Between the lower and the upper half of the bins."""
        return self.lowest + self.width * self.n / 2

    @property
    def edges(self) -> Floats:
        """Where the inner bins begin, and the last one ends: float64 (n + 1,)."""
        return self.lowest + self.width * np.arange(self.n + 1, dtype=np.float64)

    @property
    def places(self) -> Floats:
        """Where norms in each bin are taken to be, less the middle: in its own middle; float64 (n_columns,)."""
        inner = self.width * (np.arange(self.n) + 0.5 - self.n / 2)
        outer = self.width * self.n / 2 * _GROWTH ** (np.arange(N_OUTER) + 0.5)
        return np.concatenate([-outer[::-1], inner, outer])

    def numbers(self, norms: Floats) -> Floats:
        """In which of all bins each norm is, from 0, as float64. NaN is in none."""
        scaled = (norms - self.lowest) * (1 / self.width)
        np.floor(scaled, out=scaled)
        outside = np.flatnonzero((scaled < 0) | (scaled >= self.n))
        scaled += N_OUTER
        if len(outside):
            away = (norms[outside] - self.middle) / (self.width * self.n / 2)
            steps = np.clip(np.floor(np.log(np.abs(away)) / np.log(_GROWTH)), 0, N_OUTER - 1)
            scaled[outside] = np.where(away < 0, N_OUTER - 1 - steps, N_OUTER + self.n + steps)
        return scaled


@dataclass(frozen=True, eq=False)
class Census:
    """Norms of one vector of any number of sentences, in 35 MB: sums and counts for l lengths in tokens, from `first`.

    n: int64 (l,), how many sentences have each length. counts: int64 (l, bins.n_columns), how many of them have a norm
    in each bin, the outer ones included. sums, squares: float64 (l,), of the norms less `bins.middle`.
    lowest, highest: float64 (l,), norms; inf and -inf where no sentence has the length.

    Lines and their intervals are exact: they follow from sums. Spearman’s correlation, for which norms in one bin are
    the same, is off by about 1e-6 + 0.1 / n. A length cutoff restricts everything to the sentences of fewer tokens.
    """

    bins: NormBins
    n: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: Floats
    squares: Floats
    lowest: Floats
    highest: Floats
    first: int = 0

    @classmethod
    def none(cls, bins: NormBins) -> Self:
        """No sentences, to be counted in these bins."""
        counts = np.zeros((N_LENGTHS, bins.n_columns), np.int64)
        sums, infinite = np.zeros(N_LENGTHS), np.full(N_LENGTHS, np.inf)
        return cls(bins, np.zeros(N_LENGTHS, np.int64), counts, sums, sums.copy(), infinite, -infinite)

    @classmethod
    def of(cls, lengths: ArrayLike, norms: ArrayLike, bins: NormBins | None = None) -> Self:
        """Count sentences by lengths and norms, both (n,), as `add` does; by default in the bins that these decide."""
        census = cls.none(NormBins.of(norms) if bins is None else bins)
        census.add(lengths, norms)
        return census

    def add(self, lengths: ArrayLike, norms: ArrayLike) -> None:
        """Count further sentences by lengths and norms, both (n,); changes this census, which has all lengths.

        Raises ValueError for lengths that are not from 0 to MAX_LENGTH, and norms that are not finite.
        """
        x, y = np.asarray(lengths).astype(np.intp), np.asarray(norms, dtype=float)
        if len(x) and (x.min() < 0 or x.max() >= N_LENGTHS):
            raise ValueError(f"a length is not between 0 and {MAX_LENGTH}")
        if not np.isfinite(y).all():
            raise ValueError("a norm is not finite")
        cells = x * self.bins.n_columns + self.bins.numbers(y).astype(np.intp)
        np.add.at(self.counts.reshape(-1), cells, 1)
        deviations = y - self.bins.middle
        self.n[:] += np.bincount(x, minlength=N_LENGTHS)
        self.sums[:] += np.bincount(x, deviations, N_LENGTHS)
        self.squares[:] += np.bincount(x, deviations**2, N_LENGTHS)
        np.minimum.at(self.lowest, x, y)
        np.maximum.at(self.highest, x, y)

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Intp (l,)."""
        return np.arange(self.first, self.first + len(self.n))

    @property
    def total(self) -> int:
        """How many sentences there are."""
        return int(self.n.sum())

    def between(self, start: int, stop: int) -> Self:
        """Those of the lengths from `start` to `stop`, the latter not included, as far as they are here."""
        start, stop = (min(max(length - self.first, 0), len(self.n)) for length in (start, stop))
        names = ("n", "counts", "sums", "squares", "lowest", "highest")
        return replace(self, first=self.first + start, **{name: getattr(self, name)[start:stop] for name in names})

    def under(self, length_cutoff: int) -> Self:
        """The sentences of fewer tokens than the cutoff, from the shortest length to the longest that occurs."""
        lengths = self.first + np.flatnonzero(self.n[: max(length_cutoff - self.first, 0)])
        return self.between(lengths[0], lengths[-1] + 1) if len(lengths) else self.between(0, 0)

    def fit(self, length_cutoff: int = N_LENGTHS) -> Fit:
        """The line, as `fit` gives it for the same norms if all sentences are independent.

        All is exact but Spearman’s correlation and the interval of R², whose width is off by about a millionth of
        itself, and by up to some thousandths where a few outliers or a nearly perfect line decide it. Raises
        UndefinedFitError as `fit` does.
        """
        line = _Line(self.under(length_cutoff))
        intercept = line.norm_mean - line.slope * line.mean_length
        margin = line.t * float(line.covariance[0, 0]) ** 0.5
        of_r_squared, of_slope = line.intervals()
        return Fit(
            n=line.n,
            n_clusters=line.n,
            slope=line.slope,
            intercept=intercept,
            r_squared=line.r_squared,
            spearman=_spearman(line.census),
            slope_interval=of_slope,
            intercept_interval=(intercept - margin, intercept + margin),
            r_squared_interval=of_r_squared.ends,
            rests_on_few=of_r_squared.rests_on_few(line.n),
            norm_mean=line.norm_mean,
            norm_sd=(line.yy / (line.n - 1)) ** 0.5,
            covariance=line.covariance,
            degrees_of_freedom=line.degrees_of_freedom,
            t=line.t,
        )

    def flat(self) -> Flat:
        """As `line.flat`, and exact; raises UndefinedFitError as that does."""
        inside = self.between(FLAT_LENGTHS.start, FLAT_LENGTHS.stop)
        absent = tuple(length for length, n in zip(inside.lengths.tolist(), inside.n.tolist(), strict=True) if not n)
        _Line(inside)  # raises where there is none
        occurs = inside.n > 0
        n, x = inside.n[occurs], inside.lengths[occurs] - inside.lengths[occurs].mean()
        means, squares = inside.sums[occurs] / n, inside.squares[occurs] / n
        y = means - means.mean()
        yy = float((squares - means**2).sum() + y @ y)
        return Flat(float(x @ y) ** 2 / float(x @ x) / yy, absent)

    def by_cutoff(self, cutoffs: Iterable[int] = CUTOFFS) -> pd.DataFrame:
        """As `line.by_cutoff`, by lengths in tokens."""
        rows: list[tuple[float, ...]] = []
        for cutoff in sorted(set(cutoffs)):
            under = self.between(0, cutoff)
            if rows and under.total == rows[-1][1]:
                continue
            try:
                line = _Line(under)
            except UndefinedFitError:
                continue
            rows.append((cutoff, line.n, line.r_squared, *line.intervals()[0].ends, line.slope))
        return pd.DataFrame(rows, columns=CUTOFF_COLUMNS).astype({"length_cutoff": int, "n": int})


class _Line:
    """The least-squares line through counted sentences, and what its intervals take.

    x, y: lengths and norms less their means, of each length. residuals: float64 (l,), the sums of their squares.
    covariance: of intercept and slope, (2, 2), by HC3 (MacKinnon and White 1985): exact, as leverage depends on length.
    Raises UndefinedFitError where there is no line.
    """

    def __init__(self, census: Census) -> None:
        from scipy import special

        self.census, n = census, census.n
        self.n = census.total
        present = np.flatnonzero(n)
        total = max(self.n, 1)
        self.mean_length = float(n @ census.lengths) / total
        self.mean = float(census.sums.sum()) / total
        self.x = census.lengths - self.mean_length
        of_length = census.sums / np.maximum(n, 1)
        self.y = of_length - self.mean
        within = np.maximum(census.squares - census.sums * of_length, 0)
        self.xx, self.xy = float(n @ self.x**2), float((n * self.x) @ self.y)
        self.yy = float(within.sum() + n @ self.y**2)
        self.norm_mean = census.bins.middle + self.mean
        ends = census.lengths[present[[0, -1]]] if self.n else np.zeros(2)
        explain_undefined_of(self.n, (float(ends[0]), float(ends[1])), self.norm_mean, (self.yy / total) ** 0.5)
        self.slope = self.xy / self.xx
        self.residuals = within + n * (self.y - self.slope * self.x) ** 2
        self.r_squared = min(self.xy**2 / self.xx / self.yy, 1.0)
        self.degrees_of_freedom = max(self.n - 2, 1)
        self.t = float(special.stdtrit(self.degrees_of_freedom, (1 + CONFIDENCE) / 2))
        if len(present) == 2 and n[present].min() == 1:  # its own error is unknown, at its end of the line
            self.covariance = np.full((2, 2), np.inf)
        else:  # only of lengths that occur: at others the leverage may be 1
            x = self.x[present]
            weights = self.residuals[present] / (1 - 1 / self.n - x**2 / self.xx) ** 2
            bread = np.stack([1 / self.n - self.mean_length * x / self.xx, x / self.xx])
            self.covariance = (bread * weights) @ bread.T

    def intervals(self) -> tuple[RSquaredInterval, Interval]:
        """Of R², by the jackknife of sentences as `intervals.r_squared_interval` has it, and of the slope."""
        times, sums = self._cells()
        found = interval_of_sums(sums, times, np.array([self.n, 0.0, 0.0, self.xx, self.xy, self.yy]))
        margin = self.t * float(self.covariance[1, 1]) ** 0.5
        ends, of_slope = agreeing(found.ends, (self.slope - margin, self.slope + margin))
        return replace(found, ends=ends), of_slope

    def _cells(self) -> tuple[Floats, Floats]:
        """Sentences of one length and bin as cells: how many are in each, (m,), and sums as `cluster_sums` has them.

        Norms lie in the middle of their bin, but the lowest and highest of a length where they are, and all moved and
        stretched so that mean and variance at each length are the exact ones. What variance is missing, half of each
        cell lies a standard deviation to either side for.
        """
        census, bins = self.census, self.census.bins
        row, column = np.nonzero(census.counts)  # in the order of lengths and norms
        times = census.counts[row, column].astype(float)
        lowest, highest = census.lowest[row] - bins.middle, census.highest[row] - bins.middle
        y = np.clip(bins.places[column], lowest, highest)
        for ends, extreme in (
            (np.diff(row, prepend=-1) > 0, lowest),
            (np.diff(row, append=len(census.n)) > 0, highest),
        ):
            alone = ends & (times == 1)
            y[alone] = extreme[alone]
        inside = np.where((column >= bins.inner.start) & (column < bins.inner.stop), bins.width**2 / 12, 0.0)
        inside[times == 1] = 0
        n_rows, n = len(census.n), np.maximum(census.n, 1)
        mean = census.sums / n
        variance = np.maximum(census.squares / n - mean**2, 0)
        y -= (np.bincount(row, times * y, n_rows) / n)[row]
        in_bins = np.bincount(row, times * (y * y + inside), n_rows) / n
        ratio = np.minimum(variance / np.where(in_bins > 0, in_bins, 1), 1)[row]
        off = np.sqrt(inside * ratio + np.maximum(variance - in_bins, 0)[row])
        y = y * np.sqrt(ratio) + mean[row] - self.mean
        x, y = np.tile(self.x[row], 2), np.concatenate([y - off, y + off])
        return np.tile(times / 2, 2), np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1)


def _spearman(census: Census) -> float:
    """Spearman’s rank correlation with mid-ranks, as if all norms in a bin were the same; NaN if all are in one."""
    by_bin = census.counts.sum(axis=0)
    used = np.flatnonzero(by_bin)
    inside = slice(used[0], used[-1] + 1)
    of_length, of_norm = (
        np.cumsum(counts) - counts / 2 - counts.sum() / 2 for counts in (census.n, by_bin[inside])
    )  # the mid-rank of each, less the mean rank
    products = census.n @ of_length**2 * (by_bin[inside] @ of_norm**2)
    together = of_length @ (census.counts[:, inside] @ of_norm)
    return float(together / products**0.5) if products > 0 else float("nan")
