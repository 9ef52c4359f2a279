"""How a probe does on another corpus."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Leg:
    """A probe after one layer: R² and mean absolute error of the lengths that it predicts; NaN where undefined.

    within: of held-out sentences of the corpus that it is trained on. across: of the other corpus, by a probe of all
    sentences of the first. there: of held-out sentences of the other corpus, by a probe trained on that, to compare.
    """

    layer: int
    within_r_squared: float = np.nan
    within_error: float = np.nan
    across_r_squared: float = np.nan
    across_error: float = np.nan
    there_r_squared: float = np.nan
    there_error: float = np.nan
    within_fold_r_squared: tuple[float, ...] = ()
    there_fold_r_squared: tuple[float, ...] = ()


@dataclass(frozen=True)
class Travel:
    """The legs of the layers done so far.

    n, n_there: sentences of either corpus. guess_error: of guessing, for held-out sentences of the first corpus, its
    mean length. guess_error_across: of guessing that mean for the other corpus. guess_error_there: of guessing its own.
    n_clusters, n_clusters_there: how many of them differ by more than a few words; None if that is not known.
    """

    n: int
    n_there: int
    n_layers: int
    guess_error: float
    guess_error_across: float
    guess_error_there: float
    legs: tuple[Leg, ...] = ()
    n_clusters: int | None = None
    n_clusters_there: int | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all layers are done."""
        return bool(self.legs) and self.legs[-1].layer == self.n_layers
