"""Folds for cross-validation that keep sentences together that are the same or nearly."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from clsviz.corpora import clusters_of
from clsviz.errors import TooFewError

N_FOLDS = 5


def folds_of(sentences: Sequence[str], seed: int = 0) -> NDArray[np.intp]:
    """Assign each of n sentences to a fold: intp (n,), from 0 to N_FOLDS - 1.

    Sentences that are the same or nearly share a fold (`corpora.clusters_of`), so that no probe is tested on what it
    was trained on. Raises UndefinedFitError if they are fewer than N_FOLDS clusters.
    """
    return folds_of_clusters(clusters_of(sentences), seed)


def folds_of_clusters(clusters: NDArray[np.intp], seed: int = 0) -> NDArray[np.intp]:
    """As `folds_of`, of sentences whose clusters (n,) are known."""
    n_clusters = len(np.unique(clusters))
    if n_clusters < N_FOLDS:
        different = "All of these sentences are alike but for a few words"
        if n_clusters != 1:
            different = f"Only {n_clusters} of these sentences differ by more than a few words"
        raise TooFewError(
            f"{different}; at least {N_FOLDS} must differ, because a probe is tested on sentences it has not seen."
        )
    folds = np.empty(len(clusters), np.intp)
    splits = GroupKFold(N_FOLDS, shuffle=True, random_state=seed).split(clusters, groups=clusters)
    for fold, (_, held_out) in enumerate(splits):
        folds[held_out] = fold
    return folds
