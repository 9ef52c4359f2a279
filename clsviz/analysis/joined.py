"""What joining sentences to longer texts does to their similarity."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.analysis.more import advised
from clsviz.analysis.norms import check_layer, check_pooling, under_cutoff
from clsviz.errors import TooFewError, UndefinedFitError
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
    out in every size, and a size that would leave too few is left out itself. Raises UndefinedFitError where there are
    too few sentences for any.
    """
    check_pooling(view, found.measurements)
    check_layer(view, found.vectors.n_layers)
    shown, _ = under_cutoff(found.measurements, view)
    index = shown[statistics.first_of_each([found.sentences[i] for i in shown])]
    n = min(MOST_TEXTS, len(index) // SIZES[-1])
    groups = index[: n * SIZES[-1]].reshape(n, SIZES[-1])
    texts = {size: [" ".join(found.sentences[i] for i in group[:size]) for group in groups] for size in SIZES}
    with advised(found, view):
        sizes, longest = _readable(texts, measure)
    whole = np.flatnonzero(~longest.truncated)
    words = _words([texts[size] for size in sizes])
    first = found.vectors.of(view.pooling, view.layer)[groups[:, 0]]
    rows: tuple[Joined, ...] = ()
    for size in sizes:
        if size == 1:
            vectors, n_tokens = first, found.measurements.n_tokens[groups[:, 0]]
        else:
            measured = longest if size == sizes[-1] else measure(texts[size])
            vectors, n_tokens = measured.of(view.pooling, view.layer), measured.n_tokens
        of_words = _means(words[0][whole], words[len(rows)][whole]) if words else (None, None, None)
        of_vectors = _means(first[whole], vectors[whole])
        rows = (*rows, Joined(size, len(whole), float(n_tokens[whole].mean()), *of_vectors, *of_words))
        yield rows


def _readable(
    texts: dict[int, list[str]], measure: Callable[[Sequence[str]], Vectors]
) -> tuple[tuple[int, ...], Vectors]:
    """The sizes of which the model reads enough texts whole, and the vectors of the largest."""
    if len(texts[1]) < _LEAST_TEXTS:
        raise TooFewError(f"Joining sentences takes at least {_LEAST_TEXTS * SIZES[-1]} different sentences.")
    for last in range(len(SIZES), 1, -1):
        longest = measure(texts[SIZES[last - 1]])
        if np.count_nonzero(~longest.truncated) >= _LEAST_TEXTS:
            return SIZES[:last], longest
    raise UndefinedFitError(
        f"Joining sentences takes at least {_LEAST_TEXTS} pairs that the model can read whole. Lower the length cutoff."
    )


def _words(texts: list[list[str]]) -> list[NDArray[np.float64]]:
    """The shared words of texts of every size, (n, words) each; none where there are no words."""
    try:
        weights = statistics.tf_idf([text for of_size in texts for text in of_size])
    except UndefinedFitError:
        return []
    return np.split(weights.toarray(), len(texts))


def _means(first: NDArray[np.floating], vectors: NDArray[np.floating]) -> tuple[float, float, float]:
    """The mean cosine of texts (n, width) with their own first sentence, that of another, and another text."""
    sentences, texts = statistics.unit(first), statistics.unit(vectors)
    products, of_texts = texts @ sentences.T, texts @ texts.T
    others = ~np.eye(len(texts), dtype=bool)
    return float(np.diag(products).mean()), float(products[others].mean()), float(of_texts[others].mean())
