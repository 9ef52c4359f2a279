"""Try a sentence: its norm among those of sentences about as long, and word by word."""

from typing import Any, Final

import numpy as np

from clsviz.analyses.norms import NEARLY_CONSTANT, NormFit, check_precision
from clsviz.analyses.select import layer_of, lengths, norms_of
from clsviz.analyses.typed import MOST_WORDS, Trace, beginnings
from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import Undefined, quote
from clsviz.numbers import counted, lowered, percent
from clsviz.results import provenance
from clsviz.results.norms import WAITING
from clsviz.results.result import POOLINGS, Fact, Result, remedy_of
from clsviz.settings import Experiment
from clsviz.sources.sampling import Measured
from clsviz.statistics.intervals import LARGER, OTHER
from clsviz.statistics.lengths import FEWEST_SIMILAR, are_similar, percentile

LADDER: Final = {5: "Unusually low", 25: "Low", 75.0000001: "Ordinary", 95.0000001: "High"}
"""Words for a percentile below each of these."""


def result(traced: Trace, fit: NormFit, norms: Result, experiment: Experiment) -> Result:
    """The answer for a sentence, next to the norms of a corpus.

    fit, norms: of the corpus, in numbers and in words, complete or not. Raises SettingError where
    the model lacks the layer or the vector.
    """
    import pandas as pd

    measured = fit.measured
    label, texts, steps = measured.weights.label, beginnings(traced.text), traced.beginnings
    columns: dict[str, Any] = {
        "text": texts,
        "n_tokens": steps.n_tokens,
        "length": lengths(texts, steps.n_tokens, experiment.unit),
        "norm": norms_of(steps, experiment, label),
    }
    length, norm = int(columns["length"][-1]), float(columns["norm"][-1])
    used = norms.table[norms.table["is_used"]]
    rank = percentile(norm, length, used["norm"], used["length"])
    verdict, advice = _verdict(traced.anatomy, norms, measured, experiment, length, rank)
    vector = f"{POOLINGS[experiment.pooling]} after layer {layer_of(measured, experiment)}"
    unit = experiment.unit.removesuffix("s" * (length == 1))
    share = None if rank is None else rank / 100
    n_similar = int(are_similar(used["length"], length).sum())
    n_words = len(traced.text.split())
    words = f"Word by word is of the first {MOST_WORDS} of {n_words:,} words."
    own = measured.weights.pipeline
    return Result(
        kind="typed",
        question=f"What does {label} make of {quote(traced.text)}?",
        verdict=verdict,
        advice=advice,
        facts=(
            Fact("norm", f"norm of {vector}:", norm),
            Fact("length", unit, length, None, "count"),
            Fact("percentile", "percentile", share, None, "percent", is_quiet=True),
            Fact("n_similar", "sentences about as long", n_similar, None, "count"),
        ),
        picture={key: norms.picture[key] for key in ("labels", "bands") if key in norms.picture},
        caveats=(*[words] * (n_words > MOST_WORDS), *own.caveats(experiment.pooling)),
        table=pd.DataFrame(columns),
        about=provenance.about(measured, experiment),
        is_complete=norms.is_complete,
        weights=measured.weights,
        corpus=measured.sample.corpus,
    )


def verdict_of(rank: float) -> str:
    """The answer for a percentile, from 0 to 100, among sentences about as long."""
    amount = next((word for limit, word in LADDER.items() if rank < limit), "Unusually high")
    share = percent(rank / 100) if rank else "none"
    return f"{amount} for its length: its norm tops {share} of sentences about as long."


def _verdict(
    parts: Anatomy,
    norms: Result,
    measured: Measured,
    experiment: Experiment,
    length: int,
    rank: float | None,
) -> tuple[str, str]:
    """The answer, and what to do."""
    table, nothing = norms.table, "Nothing to compare with:"
    y = table["norm"][table["is_used"]].to_numpy(np.float64)
    if parts.is_cut:
        cut = f"Cut short: the model reads {len(parts.ids):,} tokens, special ones included."
        return cut, "Shorten it."
    if not norms.is_complete:
        return WAITING, ""
    if len(y) > 1 and y.std() < NEARLY_CONSTANT * y.mean():
        return "Only on paper: norms are nearly constant.", OTHER
    similar = table[are_similar(table["length"], length) & ~table["truncated"]]
    n = int(similar["is_used"].sum())
    if n < FEWEST_SIMILAR:
        few = f"only {counted(n)} {'is' if n == 1 else 'are'}" if n else "no sentence is"
        remedy = remedy_of(LARGER, experiment, measured.sample, n_long=len(similar) - n)
        return f"{nothing} {few} about as long.", remedy
    try:
        check_precision(measured, layer_of(measured, experiment), y)
    except Undefined as error:
        return f"{nothing} {lowered(error.reason)}", error.remedy
    if rank is None:
        return f"{nothing} sentences about as long all have its norm.", ""
    return verdict_of(rank), ""
