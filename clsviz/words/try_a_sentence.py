"""What is said of a visitor's own sentences, beside those of the corpus."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from clsviz.analysis import CorpusContext
from clsviz.analysis.typed import MOST_WORDS, TypedSentences
from clsviz.experiment import Experiment, View
from clsviz.settings import Pooling, Unit
from clsviz.sources import models
from clsviz.statistics.lengths import percentile_at_length
from clsviz.statistics.similarity import Nearest
from clsviz.words.answer import SMALL_SPREAD
from clsviz.words.labels import vector_name
from clsviz.words.numbers import between, duration, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData

_TRAINED_ON_MEANS = ("minilm", "all-mpnet-base-v2")
"""sentence-transformers models of the catalogue whose sentence vector is the mean after the last layer."""

_LONGEST_QUOTE = 90


def quoted(sentence: str, most: int = _LONGEST_QUOTE) -> str:
    """The sentence in quotation marks, shortened to `most` characters."""
    return f"“{sentence if len(sentence) <= most else f'{sentence[: most - 1].rstrip()}…'}”"


EXAMPLE = "An example; type your own"

SENTENCE_BEFORE = "Of the sentence before, until this one is measured"


def headline(typed: TypedSentences, at: int, corpus: CorpusContext | None, view: View) -> str:
    """How the norm of one sentence compares with those of corpus sentences about as long."""
    if typed.vectors.truncated[at]:
        n_read = int(typed.vectors.n_tokens[at])
        return f"Cut short: the model reads only the first {n_read:,} tokens of this sentence."
    if corpus is None:
        return "Nothing to compare with: the corpus is not measured yet."
    if corpus.norms is None:
        return "Nothing to compare with: in fast precision the error exceeds the variation of the norms."
    found = percentile_at_length(typed.length(at, view), typed.norm(at, view), corpus.lengths, corpus.norms)
    if found is None:
        return "Nothing to compare with: too few corpus sentences are about as long."
    percent, _ = found
    if math.isnan(percent):
        return "Nothing to compare with: sentences about as long all have the same norm, up to rounding."
    if corpus.is_nearly_constant:
        return f"Only on paper: its norm tops {percentage(percent)} of sentences about as long, but norms hardly vary."
    low = "Unusually low" if percent < 5 else "Low" if percent < 25 else ""
    high = "Unusually high" if percent > 95 else "High" if percent > 75 else ""
    tops = "none" if not percent else f"{'only ' if low else ''}{percentage(percent)}"
    return f"{low or high or 'Ordinary'} for its length: its norm tops {tops} of corpus sentences about as long."


def numbers(typed: TypedSentences, at: int, corpus: CorpusContext | None, view: View) -> str:
    """What stands below it: the sentence, its length and norm, how many it is compared with, and how far norms vary."""
    length, norm = typed.length(at, view), typed.norm(at, view)
    parts = [
        quoted(typed.sentences[at]),
        f"{length:,} {view.unit.singular if length == 1 else view.unit}",
        f"norm of {vector_name(view)} {number(norm)}",
    ]
    if corpus is not None and corpus.norms is not None:
        if found := percentile_at_length(length, norm, corpus.lengths, corpus.norms):
            parts.append(f"{found[1]:,} corpus sentences about as long")
        if corpus.is_nearly_constant:
            mean, sd = float(corpus.norms.mean(dtype=float)), float(corpus.norms.std(dtype=float))
            parts.append(f"standard deviation of all norms {number(sd, digits=2)}, around {number(mean, digits=4)}")
    return " · ".join(parts)


def similarity(similarity: float, view: View, percent: float | None = None) -> str:
    """How near two sentences are by cosine; percent: of pairs of corpus sentences that are less similar, if known."""
    text = f"Similarity of the two (cosine of {vector_name(view, 'the')}): **{similarity:.3f}**"
    return text + (f", above {percentage(percent)} of pairs of corpus sentences" if percent is not None else "")


def tokens_title(typed: TypedSentences, at: int) -> str:
    """What the model reads, as the title of a box."""
    return (
        f"The model reads {len(typed.tokens[at]):,} tokens, {int(typed.vectors.n_tokens[at]):,} of them the sentence’s"
    )


def layers_title(typed: TypedSentences, at: int) -> str:
    """Where the norm begins and ends, as the title of a box."""
    norms = typed.vectors.cls_norms[at]
    return (
        f"Norm by layer: {number(norms[0], digits=2)} at the embeddings, {number(norms[-1], digits=2)} after the last"
    )


def pooler_title(typed: TypedSentences, at: int) -> str:
    """What the pooler does to the norm, as the title of a box."""
    if not typed.vectors.has_pooler:
        return "This model has no pooler"
    output = float(typed.vectors.norms(Pooling.POOLER, None)[at])
    return (
        f"The pooler takes the norm from {number(float(typed.raw_norms[at]), digits=2)} to {number(output, digits=2)}"
    )


def tokens(typed: TypedSentences, at: int, n_shown: int) -> str:
    """How many tokens the model reads, and how many of them are the sentence's own."""
    n, n_own = len(typed.tokens[at]), int(typed.vectors.n_tokens[at])
    cut = " (cut to what the model can read)" if typed.vectors.truncated[at] else ""
    return (
        f"{n:,} tokens with their ids: {n_own:,} from the sentence{cut}, plus the special tokens that the tokenizer "
        f"adds around them." + (f" The first {n_shown} are shown; the download has all of them." if n > n_shown else "")
    )


def layers(typed: TypedSentences, at: int, corpus: CorpusContext | None) -> str:
    """The norm of [CLS] at both ends of the model, and where the corpus lies after the last layer."""
    norms = typed.vectors.cls_norms[at]
    said = f"From {number(norms[0])} at the embedding layer to {number(norms[-1])} after the last."
    band = corpus.layer_band if corpus else None
    if band is not None and np.isfinite(band["lower"].iloc[-1]):
        last = band.iloc[-1]
        said += f" After the last layer, the middle half of the corpus lies between {number(last['lower'])} and "
        said += f"{number(last['upper'])}."
    return said


def layers_note(corpus: CorpusContext | None, length_cutoff: int) -> str:
    """What the band of the corpus holds, or why there is none; "" before the corpus is measured."""
    if corpus is None:
        return ""
    if corpus.layer_band is None:
        return _too_few(corpus, length_cutoff)
    text = f"The band holds the middle half of the corpus’s sentences under {length_cutoff} tokens. Where the norm "
    text += "barely varies, the band is so thin that it looks like a line."
    lost = corpus.layer_band.loc[corpus.layer_band["median"].isna(), "layer"].tolist()
    if lost:
        text += f" After layer {', '.join(map(str, lost))}, the error of the fast precision exceeds the variation of "
        text += "the norm, so there is no band."
    return text


def growth_note(corpus: CorpusContext | None, length_cutoff: int, *, has_band: bool) -> str:
    """How sentences are grown, and why the corpus has no band where it has none."""
    text = f"Words are separated by white space; only the first {MOST_WORDS} are used. The seed determines how they "
    text += "are shuffled."
    if corpus is not None and corpus.norms is None:
        text += " In fast precision the error exceeds the variation of the corpus’s norms. Choose exact precision to "
        text += "see them."
    elif corpus is not None and not has_band:
        text += f" {_too_few(corpus, length_cutoff)}"
    return text


def _too_few(corpus: CorpusContext, length_cutoff: int) -> str:
    return f"Too few corpus sentences are under {length_cutoff} tokens to draw a band. {corpus.more.advice}"


def pooler(typed: TypedSentences, at: int, model: str) -> str:
    """What lies between [CLS] after the last layer and the pooler output."""
    if typed.near_one is None:
        text = f"The norm of raw [CLS] after the last layer is {number(float(typed.raw_norms[at]))}. "
        if not typed.vectors.has_pooler:
            return f"{text}{model} has no pooler: nothing more is computed from [CLS] after its last layer."
        output = float(typed.vectors.norms(Pooling.POOLER, None)[at])
        return (
            f"{text}The norm of the pooler output is {number(output)}. This model’s pooler is built in an unusual way, "
            "so its steps are not shown."
        )
    width = typed.vectors.width
    dense = f"a dense layer ({width:,} × {width:,} weights and a bias)"
    if not typed.is_tanh:
        return f"Between raw [CLS] and the pooler output are {dense} and an activation."
    return (
        f"Between raw [CLS] and the pooler output are {dense} and tanh, which squeezes every dimension into the range "
        f"−1 to 1, so the norm is at most √{width:,} = {width**0.5:.1f}. {typed.near_one[at]:.0%} of the dimensions "
        "are beyond ±0.99, where tanh is almost flat."
    )


def is_trained_for_cosine(experiment: Experiment) -> bool:
    """Whether the view's vector is known to be one that was trained to be compared by cosine."""
    name = models.Name.parse(experiment.model)
    is_mean = experiment.pooling is Pooling.MEAN and experiment.layer is None
    return name.base in _TRAINED_ON_MEANS and not name.untrained and is_mean


def cosine_note(experiment: Experiment) -> str:
    """How far cosine similarities of the view's vectors can be trusted."""
    if is_trained_for_cosine(experiment):
        return "This is the vector the model was trained to compare by cosine: the mean after its last layer."
    return (
        "Read similarities with care. The [CLS] and mean vectors of BERT as released were not trained to be compared "
        "by cosine, and its author says they are not meant to be. They all point in much the same direction, so most "
        "pairs look alike whatever the sentences say: go by the order and by the comparison with random pairs, not by "
        "the values. sentence-transformers models are trained for it, each with its own pooling; for MiniLM-L6 and "
        "MPNet that is the mean after the last layer."
    )


def nearest(sentence: str, view: View, found: Nearest, typical: float) -> str:
    """To what the nearest sentences are near, among how many; typical: similarity of two random ones, may be NaN."""
    said = f"Nearest to {quoted(sentence)} by {vector_name(view, 'the')}, among {found.n_compared:,} sentences."
    if found.n_tied:
        others = "one more sentence is" if found.n_tied == 1 else f"{found.n_tied:,} more sentences are"
        said += f" A tie: {others} as near as the last one listed."
    if found.n_without:
        of = "One sentence has" if found.n_without == 1 else f"{found.n_without:,} sentences have"
        said += f" {of} a zero vector, which is near nothing."
    if np.isfinite(typical):
        said += f" For comparison, two random corpus sentences have a similarity of {typical:.3f} on average."
    return said


def similarities(sentence: str, view: View, others: Sequence[str]) -> str:
    """What the table of one sentence's similarities to the other typed ones shows."""
    return (
        f"Similarity of {quoted(sentence)} to {'the other sentence' if len(others) == 1 else 'the others'} you typed, "
        f"by {vector_name(view, 'the')}, and how many pairs of random corpus sentences are less alike."
    )


def nearest_cost(n: int, seconds: float | None) -> str:
    """What finding the nearest sentences takes; seconds: None where that is not known."""
    said = f"This measures whole vectors for the first {n:,} sentences of the sample, once."
    return said + (f" It takes about {duration(seconds)} unless it has been done already." if seconds else "")


_MOST_TOKENS = 80

_CUT = ":orange[cut short: the model reads only the beginning]"


def facts(length: int, norm: float, unit: Unit, shown: "ViewData | None", *, is_truncated: bool) -> str:
    """Its length and norm against the regression line and the corpus where these are known, as Markdown."""
    facts = [f"**{length:,} {unit.singular if length == 1 else unit}**", f"norm **{number(norm)}**"]
    if shown is None:
        return " · ".join([*facts, *([_CUT] if is_truncated else [])])
    there = shown.distinct_lengths
    is_inside = len(there) > 0 and there[0] <= length <= there[-1]
    if shown.fit and is_inside:
        line = float(shown.fit.predict(length))
        facts.append(f"the line predicts {number(line)} for this length (residual {number(norm - line, sign='+')})")
    compared = among(length, norm, shown.lengths, shown.norms)
    facts.append(compared or "too few corpus sentences about as long for a comparison")
    if len(there) and not is_inside:
        range_of_line = f"{between(there[0], there[-1])} {unit}"
        facts.append(f":orange[outside the lengths of the picture ({range_of_line}), so nothing is predicted]")
    if is_truncated:
        facts.append(_CUT)
    return " · ".join(facts)


def among(length: int, norm: float, lengths: "NDArray[np.int32]", norms: "NDArray[np.float32]") -> str:
    """Where the norm lies among those (n,) of corpus sentences of about its length, or "" if these are too few."""
    found = percentile_at_length(length, norm, lengths, norms)
    if found is None:
        return ""
    percent, n = found
    sentences = f"{n:,} corpus sentences about as long"
    if math.isnan(percent):
        return f"the same as that of all {sentences}, up to rounding"
    return f"tops {percentage(percent)} of {sentences}"


def percentage(percent: float) -> str:
    """A percentage as a whole number; 0% and 100% only where it is neither more nor less."""
    shown = f"{percent:.0f}"
    if shown in ("0", "100") and 0 < percent < 100:
        shown = f"{min(max(percent, 0.1), 99.9):.1f}"
    return f"{shown}%"


def token_list(tokens: list[str]) -> str:
    """The tokens of a sentence, as far as there is room."""
    rest = len(tokens) - _MOST_TOKENS
    return "  ".join(tokens[:_MOST_TOKENS]) + (f"  … and {rest:,} more" if rest > 0 else "")


def growth_said(lines: pd.DataFrame) -> str:
    """How the norm changes as the sentence grows; for the table see `analysis.typed.with_norms`.

    The first variant in the table is the sentence as typed; "" for an empty table.
    """
    ends = [rows.sort_values("n_words") for _, rows in lines.groupby("variant", sort=False)]
    if not ends:
        return ""
    typed, *others = ends
    norms = typed["norm"].to_numpy()
    if len(norms) == 1:
        return f"The sentence has only one word (norm {number(norms[0])}), so there is nothing to grow."
    said = (
        f"As typed, the norm is {number(norms[0])} after the first word and {number(norms[-1])} after all "
        f"{len(norms)}, and stays between {number(norms.min())} and {number(norms.max())} along the way."
    )
    compared = [f"{rows['variant'].iloc[0]}, it ends at {number(rows['norm'].iloc[-1])}" for rows in others]
    said += f" With {'; with '.join(compared)}." if compared else ""
    apart = float(np.ptp(lines["norm"]))
    if apart < SMALL_SPREAD * norms.mean():
        said += f" That is hardly any change: all of these norms lie within {number(apart)} of one another."
    return said
