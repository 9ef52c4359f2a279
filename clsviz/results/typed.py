"""Try a sentence: its norm among those of sentences about as long, and word by word."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.encoder import pipeline
from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import Undefined, quote
from clsviz.experiment import Experiment, Precision
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured
from clsviz.jobs.worker import Runner
from clsviz.measurements import Vectors
from clsviz.results import provenance
from clsviz.results.anatomy import EXAMPLE, VERSION, dissected
from clsviz.results.norms import NEARLY_CONSTANT, WAITING, check_precision, layer_of
from clsviz.results.numbers import counted, lowered, percent
from clsviz.results.result import Fact, Result
from clsviz.results.select import POOLINGS, lengths, norms_of, remedy_of
from clsviz.sources.models import Weights
from clsviz.statistics.intervals import LARGER, OTHER
from clsviz.statistics.lengths import FEWEST_SIMILAR, are_similar, percentile
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

MOST_WORDS: Final = 60  # beginnings of a sentence that are measured

N_NEAREST: Final = 10

SAME: Final = 1e-6  # cosines that differ by less differ by rounding alone

LADDER: Final = {5: "Unusually low", 25: "Low", 75.0000001: "Ordinary", 95.0000001: "High"}
"""Words for a percentile below each of these."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A sentence in a model. beginnings: of its first words, ever more; the last is all of it."""

    text: str
    anatomy: Anatomy
    beginnings: Vectors


def beginnings(text: str) -> list[str]:
    """The text up to each of its first words, and all of it."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return [*(text[:end] for end in ends[:MOST_WORDS] if end < ends[-1]), text]


def trace(
    job: Job[Trace],
    weights: Weights,
    precision: Precision,
    text: str,
    runner: Runner,
    store: Results,
) -> Steps:
    """Measure a sentence and its beginnings; of sentences the example alone is stored."""
    anatomy = dissected(weights, precision, text, runner, store)
    yield

    def measure() -> Vectors:
        return Vectors.from_slices([runner.run(weights, precision, beginnings(text), "vectors")])

    key = "beginnings", VERSION, weights.fingerprint, precision
    steps = store.get(key, Vectors, measure) if text == EXAMPLE else measure()
    job.result = Trace(text, anatomy, steps)


def typed(traced: Trace, norms: Result, measured: Measured, experiment: Experiment) -> Result:
    """The answer for a sentence, next to the norms of a corpus.

    norms: the result of `results.norms`, complete or not. Raises SettingError where the model lacks
    the layer or the vector.
    """
    import pandas as pd

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
    own = pipeline.read(measured.weights.folder)
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


def vector_of(traced: Trace, experiment: Experiment) -> NDArray[np.float32]:
    """The vector of a sentence, float32 (width,); raises SettingError where it is not measured."""
    vector: NDArray[np.float32] = traced.beginnings.of(experiment.pooling, experiment.layer)[-1]
    return vector


def cosine(vector: ArrayLike, vectors: ArrayLike) -> NDArray[np.float64]:
    """The cosines of a vector (width,) and of others (…, width): float64 (…)."""
    a, b = np.asarray(vector, np.float64), np.asarray(vectors, np.float64)
    cosines: NDArray[np.float64] = b @ a / np.linalg.norm(b, axis=-1) / np.linalg.norm(a)
    return cosines


def cosines_of(traced: Trace, measured: Measured, experiment: Experiment) -> NDArray[np.float64]:
    """The cosine of a sentence and each of the vector sample, (n,).

    Raises SettingError where the vectors are not measured, and Undefined where they do not differ.
    """
    assert isinstance(measured.norms, Vectors)  # it is of the kind vectors
    vectors = measured.norms.of(experiment.pooling, experiment.layer)
    cosines = cosine(vector_of(traced, experiment), vectors)
    if np.ptp(cosines) < SAME:
        raise Undefined("The vectors of all sentences are the same.", OTHER)
    return cosines


def nearest(
    cosines: NDArray[np.float64], measured: Measured, experiment: Experiment
) -> "pd.DataFrame":
    """The sentences with the highest cosines, best first: sentence, cosine, length."""
    import pandas as pd

    best = np.argsort(-cosines, kind="stable")[:N_NEAREST]
    sentences = [measured.sample.sentences(place, place + 1)[0] for place in best.tolist()]
    n_tokens = measured.norms.n_tokens[best]
    columns = {
        "sentence": sentences,
        "cosine": cosines[best],
        "length": lengths(sentences, n_tokens, experiment.unit),
    }
    return pd.DataFrame(columns)
