"""Whether length bends a search: how similarity follows the lengths, what helps, and what joining sentences does."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clsviz.analysis.view import advised, check_layer, check_pooling, lengths_of, under_cutoff
from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Vectors
from clsviz.settings import Pooling
from clsviz.statistics import similarity
from clsviz.statistics.erasure import Remedy, fit_remedy
from clsviz.statistics.ridge import unit
from clsviz.statistics.similarity import (
    Chance,
    Directions,
    LengthBias,
    check_lengths,
    directions_of,
    first_of_each,
    length_bias,
    length_groups,
    nearest_among,
    share_kept,
    tf_idf,
)

if TYPE_CHECKING:
    from clsviz.statistics.erasure import Map


_COMPARED = (Pooling.CLS, Pooling.MEAN, Pooling.POOLER)
"""The poolings whose vectors people search with."""


_FIFTHS, _ENOUGH_SEARCHES = 5, 900


@dataclass(frozen=True)
class Way:
    """One way to compare sentences, and how far it follows their lengths; None where undefined.

    pooling: the vector. remedy: what was done to it before, if anything.
    length_share, neighbour_correlation, lengths_apart: as in `LengthBias`.
    held_out: the correlation where a fifth of the sentences searches the others, which alone the remedy is fitted to.
        The other numbers are of all sentences, each of which the remedy was fitted to.
    kept: the share of the ten nearest neighbours that are those of the view's vector as it is.
    problem: why there are no numbers, or "".
    """

    pooling: Pooling
    remedy: Remedy | None = None
    length_share: float | None = None
    neighbour_correlation: float | None = None
    lengths_apart: float | None = None
    held_out: float | None = None
    kept: float | None = None
    problem: str = ""


@dataclass(frozen=True, eq=False)
class Similarity:
    """How far the similarity of the view's vectors follows the lengths of the sentences.

    index: intp (n,), which of the measured sentences are compared: those under the cutoff, and of equal ones the first.
    n_equal, n_truncated: how many others were left out because they are equal, or were not read whole.
    lengths: int32 (n,). ranges: the shortest and the longest of each tenth of them.
    bias: of the view's vector. chance: the same with the lengths shuffled. random_apart: how far the lengths of two
        random sentences are apart. by_words: as `bias`, of shared words; None, with `by_words_problem`, without any.
    remedies: the vector as it is, and after each remedy. poolings: the vectors of other poolings, after the same layer.
    """

    index: NDArray[np.intp]
    n_equal: int
    n_truncated: int
    lengths: NDArray[np.int32]
    ranges: list[tuple[int, int]]
    bias: LengthBias
    chance: Chance
    random_apart: float
    by_words: LengthBias | None = None
    by_words_problem: str = ""
    remedies: tuple[Way, ...] = ()
    poolings: tuple[Way, ...] = ()


def n_steps(found: Found, view: View) -> int:
    """How many results `compare` yields."""
    return 3 + len(Remedy) + len(_others(found, view))


def compare(found: Found, view: View) -> Iterator[Similarity]:
    """How similarity follows length, step by step: the view's vector, shared words, remedies, other poolings.

    Raises UndefinedFitError where the first cannot be said.
    """
    check_pooling(view, found.measurements)
    check_layer(view, found.vectors.n_layers)
    shown, n_truncated = under_cutoff(found.measurements, view)
    index = shown[first_of_each([found.sentences[i] for i in shown])]
    lengths = lengths_of(found, view, index)
    vectors = found.vectors.of(view.pooling, view.layer)[index]
    with advised(found, view):
        check_lengths(lengths)
    directions = directions_of(vectors)
    bias = length_bias(directions, lengths)
    so_far = Similarity(
        index,
        len(shown) - len(index),
        n_truncated,
        lengths,
        length_groups(lengths)[1],
        bias,
        similarity.chance(directions, lengths, bias.neighbours),
        similarity.random_apart(lengths),
    )
    yield so_far
    sentences = [found.sentences[i] for i in index]
    try:
        by_words = length_bias(Directions.of_sparse(tf_idf(sentences)), lengths)
        so_far = replace(so_far, by_words=by_words)
    except UndefinedFitError as error:
        so_far = replace(so_far, by_words_problem=str(error))
    yield so_far
    numbers = bias.length_share, bias.neighbour_correlation, bias.lengths_apart, _held_out(None, vectors, lengths)
    so_far = replace(so_far, remedies=(Way(view.pooling, None, *numbers),))
    yield so_far
    for remedy in Remedy:
        way = _way(view.pooling, remedy, vectors, lengths, bias)
        so_far = replace(so_far, remedies=(*so_far.remedies, way))
        yield so_far
    for pooling in _others(found, view):
        way = _way(pooling, None, found.vectors.of(pooling, view.layer)[index], lengths, bias)
        so_far = replace(so_far, poolings=(*so_far.poolings, way))
        yield so_far


def _others(found: Found, view: View) -> list[Pooling]:
    there = [*found.vectors.poolings, *([Pooling.POOLER] if found.vectors.has_pooler else [])]
    return [pooling for pooling in _COMPARED if pooling is not view.pooling and pooling in there]


def _way(
    pooling: Pooling,
    remedy: Remedy | None,
    vectors: NDArray[np.float32],
    lengths: NDArray[np.int32],
    before: LengthBias,
) -> Way:
    """Another way to compare; before: what it is compared with."""
    try:
        mended = vectors if remedy is None else fit_remedy(remedy, vectors, lengths)(vectors)
        bias = length_bias(directions_of(mended), lengths)
        held_out = _held_out(remedy, vectors, lengths)
    except UndefinedFitError as error:
        return Way(pooling, remedy, problem=str(error))
    kept = share_kept(before.neighbours, bias.neighbours)
    numbers = bias.length_share, bias.neighbour_correlation, bias.lengths_apart
    return Way(pooling, remedy, *numbers, held_out, kept)


def _held_out(remedy: Remedy | None, vectors: NDArray[np.float32], lengths: NDArray[np.int32]) -> float:
    """The correlation where a fifth searches the others, which alone the remedy is fitted to.

    Each fifth in turn, until there have been enough searches; the sentences are in random order.
    """
    own: list[NDArray[np.int32]] = []
    of_nearest: list[NDArray[np.float64]] = []
    for fifth in np.array_split(np.arange(len(vectors)), _FIFTHS):
        if sum(map(len, own)) >= _ENOUGH_SEARCHES:
            break
        rest = np.delete(np.arange(len(vectors)), fifth)
        mend: Map = np.asarray if remedy is None else fit_remedy(remedy, vectors[rest], lengths[rest])
        nearest = nearest_among(mend(vectors[fifth]), mend(vectors[rest])).index
        own.append(lengths[fifth])
        of_nearest.append(similarity.lengths_of_nearest(lengths[rest], nearest))
    return similarity.neighbour_correlation(np.concatenate(own), np.concatenate(of_nearest))


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
    index = shown[first_of_each([found.sentences[i] for i in shown])]
    n = min(MOST_TEXTS, len(index) // SIZES[-1])
    groups = index[: n * SIZES[-1]].reshape(n, SIZES[-1])
    texts = {size: [" ".join(found.sentences[i] for i in group[:size]) for group in groups] for size in SIZES}
    with advised(found, view):
        sizes, longest = _readable(texts, measure)
    whole = np.flatnonzero(~longest.truncated)
    try:
        weights = tf_idf([text for size in sizes for text in texts[size]]).toarray()
        words = np.split(weights, len(sizes))  # (n, words) each
    except UndefinedFitError:  # there are none
        words = []
    first = found.vectors.of(view.pooling, view.layer)[groups[:, 0]]
    rows: tuple[Joined, ...] = ()
    for size in sizes:
        if size == 1:
            vectors, n_tokens = first, found.measurements.n_tokens[groups[:, 0]]
        else:
            measured = longest if size == sizes[-1] else measure(texts[size])
            vectors, n_tokens = measured.of(view.pooling, view.layer), measured.n_tokens
        of_words = _mean_cosines(words[0][whole], words[len(rows)][whole]) if words else (None, None, None)
        of_vectors = _mean_cosines(first[whole], vectors[whole])
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


def _mean_cosines(first: NDArray[np.floating], vectors: NDArray[np.floating]) -> tuple[float, float, float]:
    """The mean cosine of texts (n, width) with their own first sentence, that of another, and another text."""
    sentences, texts = unit(first), unit(vectors)
    products, of_texts = texts @ sentences.T, texts @ texts.T
    others = ~np.eye(len(texts), dtype=bool)
    return float(np.diag(products).mean()), float(products[others].mean()), float(of_texts[others].mean())
