"""The folds of cross-validation, in which sentences that are the same stay together."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold

from clsviz.errors import UndefinedFitError

N_FOLDS = 5


def folds_of(sentences: Sequence[str], seed: int = 0) -> NDArray[np.intp]:
    """Number of the fold of each sentence, intp (n,), from 0 to N_FOLDS - 1.

    Sentences that differ only in case, accents or white space share a fold, so that no probe is tested on what it was
    trained on. Raises UndefinedFitError where fewer than N_FOLDS are different.
    """
    keys = [canonical(sentence) for sentence in sentences]
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(number_of) < N_FOLDS:
        raise UndefinedFitError(
            f"Only {len(number_of)} of these sentences differ by more than case, accents or white space; at least "
            f"{N_FOLDS} must, as a probe is tested on sentences it has not seen. Take more sentences."
        )
    groups = np.array([number_of[key] for key in keys])
    folds = np.empty(len(groups), np.intp)
    splits = GroupKFold(N_FOLDS, shuffle=True, random_state=seed).split(groups, groups=groups)
    for fold, (_, held_out) in enumerate(splits):
        folds[held_out] = fold
    return folds


def canonical(sentence: str) -> str:
    """The sentence without what may differ between two that are the same: case, accents and white space."""
    letters = (letter for letter in unicodedata.normalize("NFKD", sentence) if not unicodedata.combining(letter))
    return " ".join("".join(letters).casefold().split())


def shuffled(lengths: ArrayLike, seed: int = 0) -> NDArray[np.generic]:
    """The same lengths in random order: a control, as of these no probe can read anything."""
    return np.random.default_rng(seed).permutation(np.asarray(lengths))
