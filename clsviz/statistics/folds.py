"""Folds for cross-validation that keep identical sentences together."""

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from clsviz.errors import UndefinedFitError

N_FOLDS = 5


def folds_of(sentences: Sequence[str], seed: int = 0) -> NDArray[np.intp]:
    """Assign each of n sentences to a fold: intp (n,), from 0 to N_FOLDS - 1.

    Sentences that differ only in case, accents or white space share a fold, so that no probe is tested on what it was
    trained on. Raises UndefinedFitError if fewer than N_FOLDS sentences are distinct.
    """
    keys = [canonical(sentence) for sentence in sentences]
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(number_of) < N_FOLDS:
        raise UndefinedFitError(
            f"Only {len(number_of)} of these sentences differ by more than case, accents or white space; at least "
            f"{N_FOLDS} must, because a probe is tested on sentences it has not seen. Take more sentences."
        )
    groups = np.array([number_of[key] for key in keys])
    folds = np.empty(len(groups), np.intp)
    splits = GroupKFold(N_FOLDS, shuffle=True, random_state=seed).split(groups, groups=groups)
    for fold, (_, held_out) in enumerate(splits):
        folds[held_out] = fold
    return folds


def canonical(sentence: str) -> str:
    """The sentence without case, accents and extra white space: equal for sentences that count as the same."""
    letters = (letter for letter in unicodedata.normalize("NFKD", sentence) if not unicodedata.combining(letter))
    return " ".join("".join(letters).casefold().split())
