"""What is said of the SentLen task."""

from typing import TYPE_CHECKING

import numpy as np

from clsviz.statistics.sentlen import CHANCE
from clsviz.words.numbers import duration

if TYPE_CHECKING:
    from clsviz.analysis.layers import SentLen
    from clsviz.analysis.probes import Published
    from clsviz.statistics.sentlen import Result

ABOUT = (
    "The SentLen task (Conneau et al. 2018): which of six bins does a sentence’s length in words fall into? Logistic "
    "regression on balanced classes. Its penalty is chosen on a development set; the accuracy is on a held-out test "
    "set. Sentences are drawn and split several times over. The online code (Voita and Titov 2020) counts the bits "
    "that the classes take if each is predicted from those before: fewer where fewer sentences are enough to read them."
)

CLASSIFIER = (
    "The classifier is a logistic regression on standardised features, its penalty chosen on the validation sentences. "
    "Conneau et al. report a multi-layer perceptron, and logistic regression in their appendix."
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
    if code := found.vector_code:
        text += (
            f" Coded online, the classes of {code.n:,} training sentences take {code.bits:,.0f} bits given the vector"
        )
        text += f", {found.norm_code.bits:,.0f} given its norm" if found.norm_code else ""
        text += f", {code.uniform_bits:,.0f} given nothing."
    if min(draws) > CHANCE:
        return text
    if max(draws) < CHANCE and found.vector is not None and found.vector.interval[1] < CHANCE:
        return f"{text} The whole vector does worse than guessing."
    how_many = "no draw does" if max(draws) <= CHANCE else "some draws do no"
    return f"{text} The whole vector is not told apart from guessing: {how_many} better."


def caveat(found: "SentLen") -> str:
    """Why the accuracy is not firm, or ""."""
    if found.vector is None or found.vector.n_train >= _FEW_PER_DIMENSION * found.width:
        return ""
    needed = -(-_FEW_PER_DIMENSION * found.width // found.vector.n_train)
    return (
        f"The rarest bin leaves only {found.vector.n_train:,} sentences to train on, few for vectors of "
        f"{found.width:,} dimensions: about {needed} times as many would be enough. If the corpus has more "
        "sentences, raise the number of vectors; else take a corpus with more sentences of 26 to 28 words."
    )


def of_norm(found: "SentLen") -> str:
    """Why there is no accuracy for the norm alone, or ""."""
    return "" if found.norm else f"The norm alone: {found.problem}"


def file_cost(n: int, seconds: float, gigabytes: float) -> str:
    """What measuring the sentences of a task file takes."""
    size = f"{gigabytes:.1f} GB" if gigabytes >= 1 else f"{max(1, round(1000 * gigabytes)):,} MB"
    return f"{n:,} sentences: about {duration(seconds)}, and {size} in the store"


def of_file(found: "Published") -> str:
    """How often the class of a test sentence is told, with 95% intervals, beside the norm alone and guessing."""
    if found.vector is None:
        return found.problem
    text = f"On {found.n_test:,} test sentences of {found.file}, the whole vector tells {_share(found.vector)}"
    text += f"; its norm alone {_share(found.norm)}" if found.norm else ""
    text += f"; guessing the commonest class {found.guessing:.1%}."
    if found.vector.interval[1] < found.guessing:
        text += " The whole vector does worse than guessing."
    elif found.vector.interval[0] <= found.guessing:
        text += " The whole vector is not told apart from guessing."
    return text


def _share(result: "Result") -> str:
    low, high = result.interval
    return f"{result.accuracy:.1%} (95% interval {low:.1%} to {high:.1%})"


def file_caveats(found: "Published") -> list[str]:
    """What to keep in mind of the result on a task file."""
    texts = []
    if found.n_train < (needed := _FEW_PER_DIMENSION * found.width):
        texts.append(
            f"{found.n_train:,} training sentences are few for vectors of {found.width:,} dimensions: with {needed:,} "
            "or more the accuracy would be firmer."
        )
    if found.n_shared:
        texts.append(f"{found.n_shared:,} of the test sentences are among the training sentences as well.")
    if found.n_truncated:
        texts.append(f"The model reads only the beginning of {found.n_truncated:,} of the sentences.")
    if found.problem and found.vector:
        texts.append(f"The norm alone: {found.problem}")
    return texts
