"""Sentences that a visitor typed: everything measured of them, and the tables made from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz import statistics
from clsviz.analysis.context import CorpusContext
from clsviz.experiment import View
from clsviz.settings import Pooling
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder


EXAMPLE = "The quick brown fox jumps over the lazy dog."
"""Measured for visitors who have typed nothing."""


_NEAR_ONE = 0.99
"""Beyond this value tanh is almost flat."""


@dataclass(frozen=True, eq=False)
class TypedSentences:
    """Everything measured of n typed sentences.

    tokens: all tokens that the model reads of each, with their ids. vectors: every pooling after every layer.
    raw_norms: float32 (n,), norms of [CLS] after the last layer. dense_norms, output_norms: float32 (n,), norms after
        the pooler's dense layer and after its activation; None if the model has no pooler of that kind.
    near_one: float64 (n,), share of the pooler output's dimensions beyond ±0.99.
    is_tanh: whether the pooler's activation is tanh.
    """

    sentences: list[str]
    tokens: list[list[tuple[str, int]]]
    vectors: Vectors
    raw_norms: NDArray[np.float32]
    dense_norms: NDArray[np.float32] | None = None
    output_norms: NDArray[np.float32] | None = None
    near_one: NDArray[np.float64] | None = None
    is_tanh: bool = False

    def has(self, view: View) -> bool:
        """Whether the model has the view's layer and pooling."""
        return (view.layer or 0) <= self.vectors.n_layers and (
            view.pooling is not Pooling.POOLER or self.vectors.has_pooler
        )

    def length(self, at: int, view: View) -> int:
        """The length of one sentence in the view's unit."""
        lengths = statistics.lengths_in(view.unit, [self.sentences[at]], self.vectors.n_tokens[at : at + 1])
        return int(lengths[0])

    def norm(self, at: int, view: View) -> float:
        """The norm of the view's vector of one sentence."""
        return float(self.vectors.norms(view.pooling, view.layer)[at])


def measure(encoder: "AnyEncoder", sentences: Sequence[str]) -> TypedSentences:
    """Measure everything of the sentences; raises ModelError where the encoder cannot."""
    raw, _ = encoder.cls_and_pooler(sentences)
    tokens = [encoder.framed_tokens(sentence) for sentence in sentences]
    typed = TypedSentences(list(sentences), tokens, encoder.vectors(sentences), np.linalg.norm(raw, axis=1))
    steps = encoder.pooler_steps(raw)
    if steps is None:
        return typed
    dense, output = steps
    return replace(
        typed,
        dense_norms=np.linalg.norm(dense, axis=1),
        output_norms=np.linalg.norm(output, axis=1),
        near_one=(np.abs(output) > _NEAR_ONE).mean(axis=1),
        is_tanh=bool(np.allclose(np.tanh(dense), output, atol=1e-5)),
    )


def measure_norms(encoder: "AnyEncoder", sentences: Sequence[str]) -> Vectors:
    """The norms of every pooling after every layer, without the vectors themselves."""
    return replace(encoder.vectors(sentences), runs=())


def token_table(typed: TypedSentences) -> pd.DataFrame:
    """One row per token that the model reads: sentence (its number, from 1), position (from 0), token, id."""
    rows = [
        (number, position, token, token_id)
        for number, tokens in enumerate(typed.tokens, 1)
        for position, (token, token_id) in enumerate(tokens)
    ]
    return pd.DataFrame(rows, columns=["sentence", "position", "token", "id"])


def layer_table(typed: TypedSentences, corpus: CorpusContext | None) -> pd.DataFrame:
    """Norm of [CLS] by sentence and layer: sentence (from 1), name, layer, norm, and the corpus's quartiles if known.

    The quartiles are in the columns lower, median and upper.
    """
    rows = [
        (at + 1, sentence, layer, float(typed.vectors.norms(Pooling.CLS, layer)[at]))
        for at, sentence in enumerate(typed.sentences)
        for layer in range(typed.vectors.n_layers + 1)
    ]
    table = pd.DataFrame(rows, columns=["sentence", "name", "layer", "norm"])
    if corpus is None or corpus.layer_band is None:
        return table
    return table.merge(corpus.layer_band, on="layer", how="left")


def pooler_table(typed: TypedSentences) -> pd.DataFrame:
    """Norms of raw [CLS] and of each step of the pooler, one row per sentence: sentence, cls, dense, pooler, near_one.

    Without the last three columns if the model has no such pooler.
    """
    columns = {"sentence": typed.sentences, "cls": typed.raw_norms}
    if typed.output_norms is not None:
        columns |= {"dense": typed.dense_norms, "pooler": typed.output_norms, "near_one": typed.near_one}
    return pd.DataFrame(columns)


def similarity_table(typed: TypedSentences, corpus: Vectors, view: View) -> pd.DataFrame:
    """Cosine similarity of every two typed sentences, by the view's vector, and where it ranks among corpus pairs.

    Columns: first and second (numbers from 1), first_sentence, second_sentence, similarity, percentile (percentage of
    all pairs of corpus sentences that are less alike).
    """
    matrix = statistics.similarities(typed.vectors.of(view.pooling, view.layer))
    first, second = np.triu_indices(len(matrix), 1)
    similarity = matrix[first, second]
    return pd.DataFrame(
        {
            "first": first + 1,
            "second": second + 1,
            "first_sentence": [typed.sentences[index] for index in first.tolist()],
            "second_sentence": [typed.sentences[index] for index in second.tolist()],
            "similarity": similarity,
            "percentile": statistics.percentiles_among_pairs(similarity, corpus.of(view.pooling, view.layer)),
        }
    )
