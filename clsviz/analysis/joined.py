"""What joining sentences to longer texts does to their similarity."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.analysis.norms import check_layer, check_pooling, under_cutoff
from clsviz.errors import UndefinedFitError
from clsviz.experiment import View
from clsviz.measuring import Found
from clsviz.vectors import Vectors

SIZES = (1, 2, 4, 8)
"""How many sentences a text is joined from."""


MOST_TEXTS, _LEAST_TEXTS = 100, 10
"""Texts of each size, each with sentences of its own; and the fewest that give means worth telling."""


@dataclass(frozen=True)
class Joined:
    """The mean cosines of texts of so many sentences, beside those of their shared words (None without words).

    n: how many texts. length: how many tokens they have on average.
    to_own: with the first of their own sentences, alone. to_sentence: with the first sentence of another text, alone.
    to_text: with another text of as many sentences. words_…: the same of shared words.
    """

    n_sentences: int
    n: int
    length: float
    to_own: float
    to_sentence: float
    to_text: float
    words_to_own: float | None
    words_to_sentence: float | None
    words_to_text: float | None


def join(found: Found, view: View, measure: Callable[[Sequence[str]], Vectors]) -> Iterator[tuple[Joined, ...]]:
    """Join random sentences under the cutoff to texts of 1, 2, 4 and 8, and compare; one more size at each step.

    measure: gives the vectors of texts by the model that `found` is by. A text that the model cannot read whole is left
    out in every size. Raises UndefinedFitError where there are too few.
    """
    check_pooling(view, found.measurements)
    check_layer(view, found.vectors.n_layers)
    shown, _ = under_cutoff(found.measurements, view)
    index = shown[statistics.first_of_each([found.sentences[i] for i in shown])]
    n = min(MOST_TEXTS, len(index) // SIZES[-1])
    groups = index[: n * SIZES[-1]].reshape(n, SIZES[-1])
    _check(n)
    texts = {size: [" ".join(found.sentences[i] for i in group[:size]) for group in groups] for size in SIZES}
    longest = measure(texts[SIZES[-1]])
    whole = np.flatnonzero(~longest.truncated)
    _check(len(whole))
    try:
        words = np.split(
            statistics.tf_idf([text for of_size in texts.values() for text in of_size]).toarray(), len(SIZES)
        )
    except UndefinedFitError:
        words = []
    first = found.vectors.of(view.pooling, view.layer)[groups[:, 0]]
    rows: tuple[Joined, ...] = ()
    for place, size in enumerate(SIZES):
        if size == 1:
            vectors, n_tokens = first, found.measurements.n_tokens[groups[:, 0]]
        else:
            measured = longest if size == SIZES[-1] else measure(texts[size])
            vectors, n_tokens = measured.of(view.pooling, view.layer), measured.n_tokens
        of_words = _means(words[0][whole], words[place][whole]) if words else (None, None, None)
        row = Joined(size, len(whole), float(n_tokens[whole].mean()), *_means(first[whole], vectors[whole]), *of_words)
        rows = (*rows, row)
        yield rows


def _means(first: NDArray[np.floating], vectors: NDArray[np.floating]) -> tuple[float, float, float]:
    """The mean cosine of texts (n, width) with their own first sentence, that of another, and another text."""
    sentences, texts = statistics.unit(first), statistics.unit(vectors)
    products, of_texts = texts @ sentences.T, texts @ texts.T
    others = ~np.eye(len(texts), dtype=bool)
    return float(np.diag(products).mean()), float(products[others].mean()), float(of_texts[others].mean())


def _check(n: int) -> None:
    if n < _LEAST_TEXTS:
        raise UndefinedFitError(
            f"Joining sentences takes at least {_LEAST_TEXTS} texts of {SIZES[-1]} that the model reads whole, and "
            f"there are only {n}. Take more sentences, or lower the length cutoff."
        )
