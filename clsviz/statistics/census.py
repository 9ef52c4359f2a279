"""Of all sentences, however many: what is kept of the norms of one vector, and the numbers that follow from it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from clsviz.statistics.columns import Columns
from clsviz.statistics.columns_line import N_DRAWS, bootstrap, by_cutoff_of, flat_of, line_of
from clsviz.statistics.columns_shape import bins_of, density_of, percentile_of, quantiles_of, slices_of
from clsviz.statistics.counting import N_LENGTHS, CountedRun
from clsviz.statistics.intervals import Floats, Interval
from clsviz.statistics.line import CUTOFFS, Fit, Flat
from clsviz.statistics.norm_bins import NormBins


class Census(Columns):
    """Norms of one vector of any number of sentences, in 35 MB: `Columns` of all lengths from 0 to MAX_LENGTH tokens.

    Sentences are counted by their length in tokens and by bins of norm. Lines, their intervals, means and extremes are
    exact: they follow from sums. Medians and other quantiles are off by at most `off_by`, half the width of a bin,
    which is a thousandth of the spread of the norms that the bins were decided from; if they are further from the
    middle of these than eight times the spread, by a hundredth of that distance (`NormBins`). Spearman’s correlation,
    for which norms in one bin are the same, is off by about 1e-6 + 0.1 / n.

    A length cutoff restricts everything to the sentences of fewer tokens.
    """

    @classmethod
    def none(cls, bins: NormBins) -> Self:
        """No sentences, to be counted in these bins."""
        counts = np.zeros((N_LENGTHS, bins.n_columns), np.int64)
        sums, infinite = np.zeros(N_LENGTHS), np.full(N_LENGTHS, np.inf)
        return cls(bins, np.zeros(N_LENGTHS, np.int64), counts, sums, sums.copy(), infinite, -infinite)

    @classmethod
    def of(cls, lengths: ArrayLike, norms: ArrayLike, bins: NormBins | None = None) -> Self:
        """Count sentences by lengths and norms, both (n,); by default in the bins that these norms decide.

        Raises ValueError for lengths that are not from 0 to MAX_LENGTH, and norms that are not finite.
        """
        census = cls.none(NormBins.of(norms) if bins is None else bins)
        run = CountedRun.of(lengths, np.asarray(norms)[:, None], [census.bins])
        if run is not None:
            census.add(run)
        return census

    def add(self, run: CountedRun, vector: int = 0) -> None:
        """Add a run that was counted in the same bins, of whose vectors this is one; changes this census."""
        at = run.lengths
        np.add.at(self.counts.reshape(-1), run.cells[vector], 1)
        self.n[at] += run.n
        self.sums[at] += run.sums[vector]
        self.squares[at] += run.squares[vector]
        self.lowest[at] = np.minimum(self.lowest[at], run.lowest[vector])
        self.highest[at] = np.maximum(self.highest[at], run.highest[vector])

    def merged(self, other: "Census") -> Self:
        """The census of the sentences of both, which are different ones; raises ValueError if their bins differ."""
        if self.bins != other.bins:
            raise ValueError("Censuses with different bins cannot be merged.")
        added = {name: getattr(self, name) + getattr(other, name) for name in ("n", "counts", "sums", "squares")}
        ends = np.minimum(self.lowest, other.lowest), np.maximum(self.highest, other.highest)
        return replace(self, **added, lowest=ends[0], highest=ends[1])

    @property
    def off_by(self) -> float:
        """How far a quantile of norms may be off, where it is in an inner bin."""
        return self.bins.width / 2

    def under(self, length_cutoff: int) -> Columns:
        """The sentences of fewer tokens than the cutoff, from the shortest length to the longest that occurs."""
        return self.between(0, length_cutoff).occurring()

    def extremes(self, length_cutoff: int = N_LENGTHS) -> tuple[float, float]:
        """The lowest and the highest norm; inf and -inf if there are no sentences."""
        under = self.under(length_cutoff)
        return float(under.lowest.min(initial=np.inf)), float(under.highest.max(initial=-np.inf))

    def fit(self, length_cutoff: int = N_LENGTHS) -> Fit:
        """The line, as `fit` gives it for the same norms if all sentences are independent.

        All is exact but Spearman’s correlation and the interval of R², whose width is off by about a millionth of
        itself, and by up to some thousandths where a few outliers or a nearly perfect line decide it. Raises
        UndefinedFitError as `fit` does.
        """
        return line_of(self.under(length_cutoff))

    def bootstrap(self, length_cutoff: int = N_LENGTHS, n_draws: int = N_DRAWS, seed: int = 0) -> Interval:
        """The interval of R² once more, by a Poisson bootstrap; raises UndefinedFitError as `fit` does."""
        return bootstrap(self.under(length_cutoff), n_draws, seed)

    def flat(self) -> Flat:
        """As `statistics.flat`, and exact; raises UndefinedFitError as that does."""
        return flat_of(self)

    def by_cutoff(self, cutoffs: Iterable[int] = CUTOFFS) -> pd.DataFrame:
        """As `statistics.by_cutoff`, by lengths in tokens."""
        return by_cutoff_of(self, cutoffs)

    def quantiles(self, shares: ArrayLike, length_cutoff: int = N_LENGTHS) -> Floats:
        """Quantiles of the norm, as `numpy.quantile` has them, each off by at most `off_by`: float64 (shares,)."""
        return quantiles_of(self.under(length_cutoff), shares)

    def bins_of_length(self, length_cutoff: int = N_LENGTHS) -> pd.DataFrame:
        """As `statistics.bins`; quartiles are off by at most `off_by`, and all else is exact."""
        return bins_of(self.under(length_cutoff))

    def slices(self, length_cutoff: int = N_LENGTHS) -> pd.DataFrame:
        """As `statistics.slices`; norms are off by at most `off_by`, so lengths are those of norms as near as that."""
        return slices_of(self.under(length_cutoff))

    def percentile_at_length(self, length: int, norm: float) -> tuple[float, int] | None:
        """As `statistics.percentile_at_length`, off by at most half of the norms in one bin."""
        return percentile_of(self, length, norm)

    def density(
        self,
        length_cutoff: int,
        n_bins: int,
        norms: tuple[float, float] | None = None,
        lengths: tuple[int, int] | None = None,
    ) -> tuple[NDArray[np.int64], Floats]:
        """How many sentences have each length and a norm in each of some bins: int64 (lengths, bins), and their edges.

        n_bins: a divisor of `bins.n`: so many bins, over all that are kept. norms: the lowest and the highest norm of
        interest: then as fine bins as `n_bins` allows, which cover these and begin where wider ones do. lengths: the
        shortest and the longest to count; by default from 0 to what is under the cutoff. Norms in the outer bins are
        left out. Raises ValueError where such bins cannot be made of those that are kept.
        """
        shortest, longest = lengths or (0, length_cutoff - 1)
        inside = self.between(shortest, min(longest + 1, length_cutoff))
        return density_of(inside, n_bins, norms)
