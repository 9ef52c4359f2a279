"""What is said of the SentLen task."""

from typing import TYPE_CHECKING

import numpy as np

from clsviz.statistics.results import CHANCE

if TYPE_CHECKING:
    from clsviz.analysis.vectors import SentLen

ABOUT = (
    "The SentLen task (Conneau et al. 2018): which of six bins does a sentence’s length in words fall into? Logistic "
    "regression on balanced classes. Its penalty is chosen on a development set; the accuracy is on a held-out test "
    "set. Sentences are drawn and split several times over."
)

_FEW_PER_DIMENSION = 5
"""With fewer training sentences per dimension, an accuracy says little."""


def verdict(found: "SentLen") -> str:
    """How often the bin is told, beside the norm alone and guessing."""
    draws = found.vector_draws
    if not draws:
        return ""
    of = f"{np.mean(draws):.1%} on average over {len(draws)} draws" if len(draws) > 1 else f"{draws[0]:.1%} in one draw"
    text = f"From the whole vector, {of}"
    if len(draws) > 1:
        text += f" ({min(draws):.1%} to {max(draws):.1%})"
    if found.norm_draws:
        text += f"; from its norm alone, {np.mean(found.norm_draws):.1%}"
    text += f"; by guessing, {CHANCE:.1%}."
    if np.mean(draws) < CHANCE:
        return f"{text} The whole vector does worse than guessing."
    if min(draws) <= CHANCE:
        return f"{text} The whole vector is not told apart from guessing: some draws do no better."
    return text


def caveat(found: "SentLen") -> str:
    """Why the accuracy is not firm, or ""."""
    if found.vector is None or found.vector.n_train >= _FEW_PER_DIMENSION * found.width:
        return ""
    needed = -(-_FEW_PER_DIMENSION * found.width // found.vector.n_train)
    return (
        f"The rarest bin leaves only {found.vector.n_train:,} sentences to train on, few for vectors of "
        f"{found.width:,} dimensions: about {needed} times as many would be enough. Raise the number of vectors, or "
        "take a corpus with more sentences of 26 to 28 words."
    )


def of_norm(found: "SentLen") -> str:
    """Why there is no accuracy for the norm alone, or ""."""
    return "" if found.norm else f"The norm alone: {found.problem}"
