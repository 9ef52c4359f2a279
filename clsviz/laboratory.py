"""What can be tried with single sentences: grow them, compare them, and find their like in a corpus."""

import re
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import cosine_similarity

from clsviz import analysis
from clsviz.errors import SettingError
from clsviz.measurements import POOLED, Vectors
from clsviz.wording import SMALL_SPREAD, number

Floats = NDArray[np.float64]

MOST_WORDS = 60
"""Of a sentence that is grown."""
_BEYOND = 1.2
"""How much further than the longest grown sentence the corpus is looked at, as its last bin has to be whole."""


class Variant(StrEnum):
    """In what way a sentence is grown."""

    TYPED = "as typed"
    SHUFFLED = "words shuffled"
    REPEATED = "one word repeated"


def words_of(sentence: str) -> list[str]:
    """What white space separates, the first MOST_WORDS."""
    return sentence.split()[:MOST_WORDS]


def grown(sentence: str, variant: Variant, *, seed: int = 0, word: str | None = None) -> list[str]:
    """What has been said after every word of the sentence, up to MOST_WORDS words.

    As typed, with its words in another order, drawn by the seed, or with `word` in the place of each: the first one
    unless told otherwise. The words shuffled are in another order than as typed wherever there is one.
    """
    words = words_of(sentence)
    if variant is Variant.TYPED:  # with the white space as typed, so that the last is the sentence itself
        start = len(sentence) - len(sentence.lstrip())
        return [sentence[start : match.end()] for match in list(re.finditer(r"\S+", sentence))[:MOST_WORDS]]
    if variant is Variant.SHUFFLED:
        words = _in_another_order(words, seed)
    if variant is Variant.REPEATED:
        words = [words[0] if word is None else word for _ in words]
    return [" ".join(words[:n]) for n in range(1, len(words) + 1)]


def _in_another_order(words: list[str], seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    while True:
        shuffled = [words[index] for index in generator.permutation(len(words))]
        if shuffled != words or len(set(words)) < 2:
            return shuffled


def growth_said(lines: pd.DataFrame) -> str:
    """What growing a sentence showed, in words that are true of any; for the table see `layer_figures.growth`.

    The line as typed comes first; "" where there is none.
    """
    ends = [rows.sort_values("n_words") for _, rows in lines.groupby("variant", sort=False)]
    if not ends:
        return ""
    typed, *others = ends
    norms = typed["norm"].to_numpy()
    if len(norms) == 1:
        return f"The sentence has one word, and with it the norm {number(norms[0])}: there is nothing to grow."
    said = (
        f"As typed, the norm is {number(norms[0])} after the first word and {number(norms[-1])} after all "
        f"{len(norms)}, and between {number(norms.min())} and {number(norms.max())} on the way."
    )
    compared = [f"{rows['variant'].iloc[0]}, it ends at {number(rows['norm'].iloc[-1])}" for rows in others]
    said += f" With {'; with '.join(compared)}." if compared else ""
    apart = float(np.ptp(lines["norm"]))
    if apart < SMALL_SPREAD * norms.mean():
        said += f" That is hardly any change: all these norms lie within {number(apart)} of each other."
    return said


def length_band(lengths: ArrayLike, norms: ArrayLike, longest: int) -> pd.DataFrame | None:
    """Norm given length, as `analysis.bins`, for sentences that grow to `longest`; None where too few are so short."""
    x, y = np.asarray(lengths), np.asarray(norms)
    near = x <= max(longest * _BEYOND, longest + 2)
    table = analysis.bins(x[near], y[near])
    return table if len(table) else None


def layer_band(norms: NDArray[np.float32], unknown: Sequence[int] = ()) -> pd.DataFrame | None:
    """Quartiles of norms, float32 (n, n_layers + 1), after every layer: layer, lower, median, upper.

    NaN after the layers that are `unknown`; None where there are fewer than 3 sentences.
    """
    if len(norms) < 3:
        return None
    quartiles = np.quantile(norms, (0.25, 0.5, 0.75), axis=0)
    quartiles[:, list(unknown)] = np.nan
    table = pd.DataFrame(quartiles.T, columns=["lower", "median", "upper"])
    table.insert(0, "layer", np.arange(norms.shape[1]))
    return table


def similarities(vectors: NDArray[np.float32]) -> Floats:
    """Cosine similarity of all pairs of vectors (n, width), float64 (n, n); NaN where one is zero: it has no direction.

    That of a vector with itself is exactly 1.
    """
    exact = np.asarray(vectors, np.float64)
    table: Floats = np.clip(cosine_similarity(exact), -1, 1)
    np.fill_diagonal(table, 1)
    is_zero = ~exact.any(axis=1)
    table[is_zero] = table[:, is_zero] = np.nan
    return table


def mean_similarities(vectors: Vectors) -> Floats:
    """Mean cosine similarity of the pairs of at least 2 sentences: float64 (3, n_layers + 1), as POOLED and layers.

    NaN where no two vectors have a direction.
    """
    return np.array(
        [
            [typical_similarity(vectors.of(pooling, layer)) for layer in range(vectors.n_layers + 1)]
            for pooling in POOLED
        ]
    )


def typical_similarity(vectors: NDArray[np.float32]) -> float:
    """Mean cosine similarity of two different ones of n vectors (n, width); NaN for fewer than 2 that are not zero.

    The sum over all pairs is the squared length of the sum of all directions.
    """
    exact = np.asarray(vectors, np.float64)
    norms = np.linalg.norm(exact, axis=1)
    directions = exact[norms > 0] / norms[norms > 0, None]
    n = len(directions)
    if n < 2:
        return float("nan")
    return float(((directions.sum(axis=0) ** 2).sum() - n) / (n * (n - 1)))


def nearest(
    vector: NDArray[np.float32], vectors: NDArray[np.float32], sentences: Sequence[str], n: int = 10
) -> pd.DataFrame:
    """The n of the sentences whose vectors (n_sentences, width) are nearest by cosine: sentence, similarity, times.

    The same sentence is listed once, with how many times it is there. Vectors that are zero are near to nothing.
    Raises SettingError where `vector`, (width,), is.
    """
    if not np.any(vector):
        raise SettingError(
            "The vector of this sentence is zero, so it has no direction. Choose another layer or vector."
        )
    if not len(vectors):
        return pd.DataFrame({"sentence": [], "similarity": [], "times": []})
    similarity = np.clip(cosine_similarity(vector[None], vectors)[0], -1, 1).astype(np.float64)
    has_direction = np.flatnonzero(np.asarray(vectors).any(axis=1))
    near = [sentences[index] for index in has_direction.tolist()]
    table = pd.DataFrame({"sentence": near, "similarity": similarity[has_direction]})
    table["times"] = table.groupby("sentence")["sentence"].transform("size")
    ordered = table.sort_values("similarity", ascending=False, kind="stable")
    return ordered.drop_duplicates("sentence").head(n).reset_index(drop=True)
