"""What is said of the SentLen task."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsviz.analysis.vectors import SentLen

ABOUT = (
    "The SentLen task (Conneau et al. 2018): which of six bins does a sentence’s length in words fall into? Logistic "
    "regression on balanced classes. Its penalty is chosen on a development set; the accuracy is on a held-out test "
    "set."
)

_FEW_PER_DIMENSION = 5
"""With fewer training sentences per dimension, an accuracy says little."""


def caveat(found: "SentLen") -> str:
    """Why the accuracy is not firm, or ""."""
    if found.vector is None or found.vector.n_train >= _FEW_PER_DIMENSION * found.width:
        return ""
    return (
        f"The rarest bin leaves only {found.vector.n_train:,} sentences to train on, too few for a firm answer with "
        f"{found.width:,}-dimensional vectors. Take a larger sample or another corpus."
    )


def of_norm(found: "SentLen") -> str:
    """Why there is no accuracy for the norm alone, or ""."""
    return "" if found.norm else f"The norm alone: {found.problem}"
