"""Where meaning is found: how often a search by the vector after each layer finds right texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from clsviz import limits
from clsviz.analyses.select import prompts_of, resolve
from clsviz.errors import ClsvizError, SettingError
from clsviz.jobs.measure import Workspace, last_vectors, measure
from clsviz.measurements import Last, Vectors
from clsviz.progress import Progress
from clsviz.settings import Experiment
from clsviz.sources import corpora, searches
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Prepared
from clsviz.sources.searches import Searches
from clsviz.statistics.intervals import Floats, of_mean
from clsviz.statistics.ranking import Qrels, shared_recalls

VERSION: Final = 1  # changes when recall is computed in another way


@dataclass(frozen=True)
class RecallSettings:
    """The texts that are searched, and the column that searches, or "" for the likeliest.

    is_measured: False where recall is taken only if it is stored.
    """

    corpus: str
    titles: str = ""
    is_measured: bool = True


@dataclass(frozen=True, eq=False)
class Recalls:
    """Recall among ten, by cosine, of vectors of one model.

    numbers: float64 (n_names, 3), of each vector of `ProbeScores.names`, with its interval.
    chance: of ten texts drawn at random. n_truncated: texts that the model does not read as a
    whole. best: the layer with the highest recall of [CLS], of those before the last. difference,
    low, high: its recall less the last layer's, and the interval, wider as it is the best of many.
    """

    numbers: Floats
    chance: float
    n_truncated: int
    best: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LayerSearch:
    """Searches, and the recall of every vector.

    key: of the recalls in the store. seconds: that measuring took.
    """

    settings: RecallSettings
    searches: Searches
    key: tuple[object, ...]
    recalls: Recalls
    seconds: float = 0.0


def by_layer(
    weights: Weights,
    names: Sequence[str],
    experiment: Experiment,
    settings: RecallSettings,
    workspace: Workspace,
    progress: Progress,
) -> LayerSearch | None:
    """The recall of every vector of a model; None where it is not to be measured, and not stored.

    names: of vectors, as in `ProbeScores`. Raises ClsvizError where it is to be measured and
    nothing can search, or the model has no [CLS].
    """
    if weights.no_cls:
        if not settings.is_measured:
            return None
        reason = f"{weights.label} has no [CLS], whose recall is by layer."
        raise SettingError(reason, "Leave recall out, and ask search-test of its vector.")
    size = int(min(experiment.probe_size, limits.number("sample_size")))
    seed, precision = experiment.seed, experiment.precision
    search = Experiment(
        experiment.model, settings.corpus, sample_size=size, seed=seed, precision=precision
    )
    if not settings.is_measured and corpora.is_on_hub(search.corpus):  # which may not be reached
        return None
    try:
        with progress.at("fetch"):
            choice: dict[str, Any] = {"titles": settings.titles, "progress": progress}
            made = searches.find(search, workspace.root, **choice)
    except ClsvizError:
        if settings.is_measured:
            raise
        return None
    prompt = experiment.text_prompt
    emitting = resolve(replace(search, pooling="pipeline", text_prompt=prompt), weights)
    both = made.fingerprint, weights.key("pipeline")
    key = "recall", VERSION, *both, precision, seed, *prompts_of(emitting)
    known = workspace.results.find(key, Recalls)
    if known is not None:
        return LayerSearch(settings, made, key, known)
    if not settings.is_measured:
        return None
    n_texts, n_queries = map(len, made.samples)
    search, n = replace(search, probe_size=max(n_texts, n_queries)), n_texts + n_queries
    parts = progress.part(0, n, "texts"), progress.part(n_texts, n, "texts")
    prepared = [Prepared(weights, sample) for sample in made.samples]
    texts, queries = (
        measure(one, search, "vectors", workspace, part)
        for one, part in zip(prepared, parts, strict=True)
    )
    emitted, seconds = tuple[Last, ...](), texts.seconds + queries.seconds
    if "pipeline" in names:
        of_queries, more = last_vectors(prepared[1], emitting, workspace, parts[1], "query")
        of_texts, rest = last_vectors(prepared[0], emitting, workspace, parts[0])
        emitted, seconds = (of_queries, of_texts), seconds + more + rest
    with progress.at("analysis"):
        assert isinstance(texts.norms, Vectors)
        assert isinstance(queries.norms, Vectors)
        recalls = compute(made, names, queries.norms, texts.norms, seed, emitted)
        recalls = workspace.results.put(key, recalls)
    return LayerSearch(settings, made, key, recalls, seconds)


def compute(
    made: Searches,
    names: Sequence[str],
    queries: Vectors,
    texts: Vectors,
    seed: int,
    emitted: Sequence[Last] = (),
) -> Recalls:
    """Recall of every vector, and of the best layer against the last.

    emitted: vectors of queries and of texts by the model's own pipeline, where it has one.
    """
    qrels, last = Qrels.of(made.relevant, len(texts)), texts.n_layers
    of_searches = []
    for name in names:
        view: tuple[Any, int | None] = ("cls", int(name)) if name.isdecimal() else (name, None)
        asking, indexed = emitted if name == "pipeline" else (queries, texts)
        of_searches.append(shared_recalls(asking.of(*view), indexed.of(*view), qrels))
    best = int(np.argmax([recalls.mean() for recalls in of_searches[:last]]))
    differences = of_searches[best] - of_searches[last]
    low, high = of_mean(differences, seed, -1.0, n_tested=last)
    return Recalls(
        np.array([(recalls.mean(), *of_mean(recalls, seed)) for recalls in of_searches]),
        qrels.chance,
        int(texts.truncated.sum()),
        best,
        float(differences.mean()),
        low,
        high,
    )
