"""A sentence in a model, in parts and word by word, and the sentences that are nearest to it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.analyses.select import lengths
from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import Undefined
from clsviz.jobs.measure import Workspace, measure, prepare
from clsviz.measurements import Vectors
from clsviz.progress import Progress
from clsviz.settings import Experiment, Precision
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Measured
from clsviz.statistics.intervals import OTHER

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 1  # changes when models are taken apart, or sentences measured, in another way

EXAMPLE: Final = "Sinan loves a beautiful day"
"""The sentence of a visitor who has typed none; all that is measured of it is stored."""

MOST_WORDS: Final = 60  # beginnings of a sentence that are measured

N_NEAREST: Final = 10

SAME: Final = 1e-6  # cosines that differ by less differ by rounding alone


@dataclass(frozen=True, eq=False)
class Trace:
    """A sentence in a model. beginnings: of its first words, ever more; the last is all of it."""

    text: str
    anatomy: Anatomy
    beginnings: Vectors


def dissect(
    weights: Weights,
    precision: Precision,
    text: str,
    workspace: Workspace,
    progress: Progress,
    has_attention: bool = True,
) -> Anatomy:
    """The model in parts, with a text in it; of texts the example alone is stored.

    has_attention: what takes another model. Raises ModelError or SettingError.
    """
    key = "anatomy", VERSION, weights.fingerprint, precision
    known = workspace.results.find(key, Anatomy) if text == EXAMPLE else None
    if known is not None:
        return known
    with progress.at("model", weights):
        workspace.runner.load(weights, precision)
        is_whole = has_attention or text == EXAMPLE
        parts = workspace.runner.dissect(weights, precision, text, is_whole)
    return workspace.results.put(key, parts) if text == EXAMPLE else parts


def beginnings(text: str) -> list[str]:
    """The text up to each of its first words, and all of it."""
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return [*(text[:end] for end in ends[:MOST_WORDS] if end < ends[-1]), text]


def trace(
    weights: Weights, precision: Precision, text: str, workspace: Workspace, progress: Progress
) -> Trace:
    """Measure a sentence and its beginnings; of sentences the example alone is stored."""
    anatomy = dissect(weights, precision, text, workspace, progress, has_attention=False)
    key = "beginnings", VERSION, weights.fingerprint, precision
    known = workspace.results.find(key, Vectors) if text == EXAMPLE else None
    if known is not None:
        return Trace(text, anatomy, known)
    with progress.at("model", weights):
        workspace.runner.load(weights, precision)
        arrays = workspace.runner.run(weights, precision, beginnings(text), "vectors")
    steps = Vectors.from_slices([arrays])
    return Trace(text, anatomy, workspace.results.put(key, steps) if text == EXAMPLE else steps)


def shared_words(first: Anatomy, second: Anatomy, layer: int) -> "pd.DataFrame":
    """Words that two texts share, and the cosine of the two vectors of each: word, before, after.

    A vector is the mean over the word's tokens, where it comes first: before, of the embedding
    output; after, of the layer.
    """
    import pandas as pd

    both = [
        {
            word.casefold(): text.vectors[start:stop].mean(axis=0)
            for word, start, stop in text.words[::-1]
            if any(map(str.isalnum, word))
        }
        for text in (first, second)
    ]
    words = [word for word in reversed(both[0]) if word in both[1]]
    pairs = [(both[0][word], both[1][word]) for word in words]
    before, after = ([float(cosine(a[n], b[n])) for a, b in pairs] for n in (0, layer))
    return pd.DataFrame({"word": words, "before": before, "after": after})


@dataclass(frozen=True, eq=False)
class Nearest:
    """The sentences of a corpus that are nearest to one.

    cosines: float64 (n,), with each of the vector sample that is measured. table: the highest,
    best first: sentence, cosine, length.
    """

    cosines: NDArray[np.float64]
    table: "pd.DataFrame"
    is_complete: bool


def nearest(
    vector: NDArray[np.float32], experiment: Experiment, workspace: Workspace, progress: Progress
) -> Nearest:
    """Measure the vectors of a corpus, and find the nearest; publishes those so far.

    vector: (width,), of the sentence. Raises SettingError where the vectors are not measured, and
    Undefined where they do not differ.
    """
    prepared = prepare(experiment, workspace, progress)

    def publish(part: Measured) -> None:
        if not part.is_complete:
            progress.publish(lambda: nearest_of(vector, part, experiment))

    measured = measure(prepared, experiment, "vectors", workspace, progress, publish)
    return nearest_of(vector, measured, experiment)


def vector_of(traced: Trace, experiment: Experiment) -> NDArray[np.float32]:
    """The vector of a sentence, float32 (width,); raises SettingError where it is not measured."""
    vector: NDArray[np.float32] = traced.beginnings.of(experiment.pooling, experiment.layer)[-1]
    return vector


def cosine(vector: ArrayLike, vectors: ArrayLike) -> NDArray[np.float64]:
    """The cosines of a vector (width,) and of others (…, width): float64 (…)."""
    a, b = np.asarray(vector, np.float64), np.asarray(vectors, np.float64)
    cosines: NDArray[np.float64] = b @ a / np.linalg.norm(b, axis=-1) / np.linalg.norm(a)
    return cosines


def nearest_of(vector: NDArray[np.float32], measured: Measured, experiment: Experiment) -> Nearest:
    """The sentences with the highest cosines, best first."""
    import pandas as pd

    assert isinstance(measured.norms, Vectors)  # it is of the kind vectors
    cosines = cosine(vector, measured.norms.of(experiment.pooling, experiment.layer))
    if np.ptp(cosines) < SAME:
        raise Undefined("The vectors of all sentences are the same.", OTHER)
    best = np.argsort(-cosines, kind="stable")[:N_NEAREST]
    sentences = [measured.sample.sentences(place, place + 1)[0] for place in best.tolist()]
    columns = {
        "sentence": sentences,
        "cosine": cosines[best],
        "length": lengths(sentences, measured.norms.n_tokens[best], experiment.unit),
    }
    return Nearest(cosines, pd.DataFrame(columns), measured.is_complete)
