"""Sentences that a visitor typed: all that is measured of them, word by word, and the corpus to compare them with."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clsviz.analysis.view import NOT_KNOWN, More, audit_of, lengths_of, more_than, under_cutoff, unmeasurable_layers
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.measurements import Vectors, without_gain
from clsviz.settings import Pooling
from clsviz.statistics.dimensions import norms_of_directions
from clsviz.statistics.lengths import bins, lengths_in
from clsviz.statistics.similarity import percentiles_among_pairs, similarities

if TYPE_CHECKING:
    from clsviz.encoder import Anatomy, Encoder


MOST_WORDS = 60
"""How many words a sentence is grown to at most."""


_BEYOND = 1.2
"""How far past the longest grown sentence the corpus is included, so that the last bin is complete."""


class Variant(StrEnum):
    """How a sentence is grown."""

    TYPED = "as typed"
    SHUFFLED = "words shuffled"
    REPEATED = "one word repeated"


def first_words(sentence: str) -> list[str]:
    """The first MOST_WORDS words, separated by white space."""
    return sentence.split()[:MOST_WORDS]


def grown(sentence: str, variant: Variant, *, seed: int = 0, word: str | None = None) -> list[str]:
    """The sentence after each of its words, up to MOST_WORDS.

    The words are as typed, in another order drawn with the seed, or all replaced by `word` (by default the first one).
    Shuffled words differ in order from the typed ones wherever a different order exists.
    """
    words = first_words(sentence)
    if variant is Variant.TYPED:  # with the white space as typed, so that the last is the sentence itself
        start = len(sentence) - len(sentence.lstrip())
        return [sentence[start : match.end()] for match in list(re.finditer(r"\S+", sentence))[:MOST_WORDS]]
    if variant is Variant.SHUFFLED:
        generator, typed = np.random.default_rng(seed), words
        while words == typed and len(set(typed)) > 1:
            words = [typed[place] for place in generator.permutation(len(typed))]
    if variant is Variant.REPEATED:
        words = [words[0] if word is None else word for _ in words]
    return [" ".join(words[:n]) for n in range(1, len(words) + 1)]


def growth_texts(sentence: str, *, seed: int = 0, word: str | None = None) -> pd.DataFrame:
    """The sentence grown in every variant, one row per text: variant, n_words, text, added (its last word)."""
    rows = [
        (variant.value, n_words, text, text.split()[-1])
        for variant in Variant
        for n_words, text in enumerate(grown(sentence, variant, seed=seed, word=word), 1)
    ]
    return pd.DataFrame(rows, columns=["variant", "n_words", "text", "added"])


def with_norms(texts: pd.DataFrame, vectors: Vectors, view: View) -> pd.DataFrame:
    """The `texts` with two more columns: tokens (the length in the view's unit) and norm (of the view's vector).

    vectors: of the texts, in their order.
    """
    lengths = lengths_in(view.unit, texts["text"].tolist(), vectors.n_tokens)
    return texts.assign(tokens=lengths, norm=vectors.norms(view.pooling, view.layer))


def layer_band(norms: NDArray[np.float32], unknown: Sequence[int] = ()) -> pd.DataFrame | None:
    """Quartiles of norms, float32 (n, n_layers + 1), after every layer: layer, lower, median, upper.

    NaN after the layers in `unknown`; None for fewer than 3 sentences.
    """
    if len(norms) < 3:
        return None
    quartiles = np.quantile(norms, (0.25, 0.5, 0.75), axis=0)
    quartiles[:, list(unknown)] = np.nan
    table = pd.DataFrame(quartiles.T, columns=["lower", "median", "upper"])
    table.insert(0, "layer", np.arange(norms.shape[1]))
    return table


@dataclass(frozen=True, eq=False)
class CorpusContext:
    """The measured corpus sentences under the length cutoff.

    lengths: int32 (n,), in the view's unit. norms: float32 (n,), of the view's vector; None where the fast
        precision errs too much to compare with them.
    layer_band: quartiles of the norm of [CLS] after every layer, as in `layer_band`.
    quartiles: lower and upper quartile of the norm of the last [CLS] and of the pooler output, where known.
    more: what may add sentences to these.
    """

    lengths: NDArray[np.int32]
    norms: NDArray[np.float32] | None
    layer_band: pd.DataFrame | None
    quartiles: dict[Pooling, tuple[float, float]]
    more: More = NOT_KNOWN

    @property
    def is_nearly_constant(self) -> bool:
        """Whether the standard deviation of the norms is under 0.1% of their mean."""
        norms = np.empty(0) if self.norms is None else self.norms.astype(float)
        return len(norms) > 2 and bool(norms.std() < 1e-3 * norms.mean())

    def length_band(self, longest: int) -> pd.DataFrame | None:
        """Norm by length up to `longest`, as in `lengths.bins`; None where norms are missing or too few."""
        if self.norms is None:
            return None
        near = self.lengths <= max(longest * _BEYOND, longest + 2)
        table = bins(self.lengths[near], self.norms[near])
        return table if len(table) else None


def corpus_context(norms: Found, view: View) -> CorpusContext:
    """What is known of the corpus for a view, from its norms, the view's among them."""
    measurements = norms.measurements
    index, _ = under_cutoff(measurements, view)
    quartiles = {}
    for pooling in (Pooling.CLS, *([Pooling.POOLER] if measurements.has_pooler else [])):
        if len(index) >= 3 and not _is_unmeasurable(norms, replace(view, pooling=pooling, layer=None)):
            low, high = np.quantile(measurements.norms(pooling, None)[index], (0.25, 0.75))
            quartiles[pooling] = float(low), float(high)
    return CorpusContext(
        lengths_of(norms, view, index),
        None if _is_unmeasurable(norms, view) else measurements.norms(view.pooling, view.layer)[index],
        layer_band(measurements.cls_norms[index], unmeasurable_layers(norms, view)),
        quartiles,
        more_than(norms, view),
    )


def _is_unmeasurable(found: Found, view: View) -> bool:
    """Whether the fast precision errs too much for the norms to be compared with exact ones."""
    if found.audit is None:
        return False
    audit = audit_of(found, view)
    return audit is None or not audit.is_measurable


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
        return int(self.lengths(view)[at])

    def lengths(self, view: View) -> NDArray[np.int32]:
        """The lengths of all in the view's unit: int32 (n,)."""
        return lengths_in(view.unit, self.sentences, self.vectors.n_tokens)

    def norm(self, at: int, view: View) -> float:
        """The norm of the view's vector of one sentence."""
        return float(self.vectors.norms(view.pooling, view.layer)[at])


def measure(encoder: "Encoder", sentences: Sequence[str]) -> TypedSentences:
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


def measure_norms(encoder: "Encoder", sentences: Sequence[str]) -> Vectors:
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


def similarity_table(typed: TypedSentences, corpus: Vectors | None, view: View) -> pd.DataFrame:
    """Cosine similarity of every two typed sentences, by the view's vector, and where it ranks among corpus pairs.

    Columns: first and second (numbers from 1), first_sentence, second_sentence, similarity, and where the corpus is
    given, percentile (percentage of all pairs of its sentences that are less alike).
    """
    matrix = similarities(typed.vectors.of(view.pooling, view.layer))
    first, second = np.triu_indices(len(matrix), 1)
    similarity = matrix[first, second]
    columns = {
        "first": first + 1,
        "second": second + 1,
        "first_sentence": [typed.sentences[index] for index in first.tolist()],
        "second_sentence": [typed.sentences[index] for index in second.tolist()],
        "similarity": similarity,
    }
    if corpus is not None:
        columns["percentile"] = percentiles_among_pairs(similarity, corpus.of(view.pooling, view.layer))
    return pd.DataFrame(columns)


CHECK_EXAMPLE = "Sinan loves a beautiful day"
"""Measured for visitors who have typed nothing."""


TOLERANCE = 1e-5
"""Largest error of a pooler output, whose values lie between −1 and 1, that float32 rounding explains."""


DIRECTION_TOLERANCE = 1e-5
"""Largest relative error of a norm recomputed from the direction of a float32 vector."""


@dataclass(frozen=True)
class OfLayer:
    """The norm of [CLS] after a layer, as measured, and recomputed from its direction alone.

    from_direction: NaN where the layer does not end with a LayerNorm that has gain and bias. n_gainless: how many
    dimensions have no gain, so that the direction misses what they held.
    """

    layer: int
    norm: float
    from_direction: float
    n_gainless: int

    @property
    def error(self) -> float:
        """By how much the recomputed norm is off, relative to the measured one."""
        return abs(self.from_direction / self.norm - 1) if self.norm else np.nan


@dataclass(frozen=True, eq=False)
class Check:
    """One sentence as the model reads it: its tokens with their ids, and its vectors, float32 (width,).

    cls: after the last layer. pooler: the model's pooler output, empty if it has none.
    layers: its norm after every layer from 0 on.
    """

    sentence: str
    tokens: list[tuple[str, int]]
    cls: NDArray[np.float32]
    pooler: NDArray[np.float32]
    layers: list[OfLayer]


def check(encoder: "Encoder", sentence: str) -> Check:
    """Measure the sentence; raises ModelError where the encoder cannot."""
    cls, pooler = encoder.cls_and_pooler([sentence])
    layers = []
    for layer, vectors in enumerate(encoder.cls_by_layer([sentence])):
        norm, (gain, bias) = float(np.linalg.norm(vectors[0])), encoder.layer_norms[layer]
        if np.isnan(encoder.layer_norms[layer]).any() or len(gain) != vectors.shape[1]:
            layers.append(OfLayer(layer, norm, np.nan, 0))
        else:
            n_gainless = int(np.count_nonzero(without_gain(gain)))
            layers.append(OfLayer(layer, norm, float(norms_of_directions(vectors, gain, bias)[0]), n_gainless))
    return Check(sentence, encoder.framed_tokens(sentence), cls[0], pooler[0], layers)


def largest_error(anatomy: "Anatomy", check: Check) -> float | None:
    """By how much the model's pooler output is off at most; None if the pooler is not built like BERT's."""
    if anatomy.pooler is None:
        return None
    return float(np.abs(anatomy.pooler.output(check.cls[None])[0] - check.pooler).max())


def norm_table(check: Check) -> pd.DataFrame:
    """One row per layer: layer, norm, from_direction (recomputed; NaN where that cannot be) and difference."""
    rows = [(of.layer, of.norm, of.from_direction, of.from_direction - of.norm) for of in check.layers]
    return pd.DataFrame(rows, columns=["layer", "norm", "from_direction", "difference"])


def dimension_table(anatomy: "Anatomy", check: Check) -> pd.DataFrame:
    """One row per dimension: component, input_embedding, cls (last layer), expected and pooler (the pooler's output).

    expected: recomputed from cls, where the pooler is built like BERT's. Without pooler, where the model has none.
    """
    columns: dict[str, Any] = {"input_embedding": anatomy.cls_embedding, "cls": check.cls}
    if anatomy.pooler is not None:
        columns["expected"] = anatomy.pooler.output(check.cls[None])[0]
    if anatomy.has_pooler:
        columns["pooler"] = check.pooler
    table = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})  # widths may differ
    table.insert(0, "component", np.arange(len(table)))
    return table
