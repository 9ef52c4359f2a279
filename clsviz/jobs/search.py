"""Texts ranked for searches by every way to search: measured once, then stored."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import Undefined
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Prepared, last_vectors
from clsviz.jobs.worker import Runner
from clsviz.sources import models
from clsviz.sources.models import Weights
from clsviz.sources.searches import Searches, find
from clsviz.statistics import fixes
from clsviz.statistics.exposure import Evaluation
from clsviz.statistics.ranking import Floats32, rank, rank_by_words, right_ranks, unit
from clsviz.store.chunks import Chunks
from clsviz.store.results import Results

VERSION: Final = 2  # changes when rankings are computed in another way


@dataclass(frozen=True, eq=False)
class Indexed:
    """Vectors of texts and queries, float32 (n, width), and n_tokens and truncated of the texts.

    means: those of the mean over all tokens, texts and queries, or () where the others are it.
    seconds: that measuring took.
    """

    texts: Floats32
    queries: Floats32
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    means: tuple[Floats32, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Rankings:
    """What all ways to search find, which is all that an answer takes.

    n_tokens, truncated: of the texts. names: of ways: bm25, cosine, dot, and each of the last two
    with a fix, as “dot calibrated”. tens: unsigned (n_ways, n_searches, 10), places of texts.
    ranks, nearest: int32 (2, n_searches), by cosine and dot product: the rank of the best right
    text, from 1, and its place. coefficients: of fixes that were fitted to all searches.
    seconds: that measuring took.
    """

    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    names: tuple[str, ...]
    tens: NDArray[np.unsignedinteger]
    ranks: NDArray[np.int32]
    nearest: NDArray[np.int32]
    coefficients: Mapping[str, Mapping[str, float]]
    seconds: float

    @property
    def ways(self) -> dict[str, NDArray[np.unsignedinteger]]:
        """The ten texts of each search, by the name of the way."""
        return dict(zip(self.names, self.tens, strict=True))


@dataclass(frozen=True, eq=False)
class Plan:
    """A model and searches, ready to be measured."""

    weights: Weights
    searches: Searches


def plan(job: Job[Plan], experiment: Experiment, root: Path, titles: str = "") -> Steps:
    """Find the model and make searches of the corpus, downloading what this machine lacks.

    titles: the column that searches, "" for the likeliest.
    """
    weights = models.find(experiment.model, experiment.seed, job.show)
    yield
    job.result = Plan(weights, find(experiment, root, titles=titles, progress=job.show))


def key_of(
    searches: Searches, fingerprint: str, experiment: Experiment, power: float | None
) -> tuple[object, ...]:
    """The key of the rankings in the store; fingerprint: of the model, or of own vectors."""
    settings = experiment.pooling, experiment.seed, power
    return "search", VERSION, searches.fingerprint, fingerprint, *settings


def rank_all(searches: Searches, indexed: Indexed, seed: int, power: float | None) -> Rankings:
    """Search by shared words, by both similarities, and by both with every fix.

    power: of the user's own fix, or None. Raises Undefined where the texts have too few lengths.
    """
    relevance, n = Evaluation.of(searches.right, indexed.n_tokens).relevance, len(searches.right)
    folds = fixes.folds_of(n, seed)
    samples = searches.queries, searches.texts
    tens = {"bm25": rank_by_words(*(some.table["sentence"].to_pylist() for some in samples))}
    coefficients, nearest = {}, []
    # Tokens beyond those that the model reads have no part in a vector.
    limit = indexed.n_tokens[~indexed.truncated].max(initial=0) or indexed.n_tokens.max()
    lengths = np.minimum(indexed.n_tokens, limit)
    vectors = indexed.queries, indexed.texts, *indexed.means[::-1]
    for similarity in ("cosine", "dot"):
        is_cosine = similarity == "cosine"
        queries, texts, *means = map(unit, vectors) if is_cosine else vectors
        tens[similarity] = rank(queries, texts)
        if means:
            tens[f"{similarity} mean_pooled"] = rank(*means)
        trial = fixes.Trial(queries, texts, lengths, relevance, is_cosine, power)
        for fix in trial.names:
            try:
                tens[f"{similarity} {fix}"] = trial.rank(fix, folds)
            except Undefined:  # too few texts to fit it: it is not among the fixes of the answer
                continue
            fitted = trial.fit(fix, np.ones(n, np.bool_))
            coefficients[f"{similarity} {fix}"] = dict(fitted.coefficients)
        nearest.append(right_ranks(queries, texts, relevance))
    return Rankings(
        n_tokens=indexed.n_tokens,
        truncated=indexed.truncated,
        names=tuple(tens),
        tens=np.stack(list(tens.values())).astype(np.min_scalar_type(relevance.n_texts)),
        ranks=np.stack([ranks for ranks, _ in nearest]),
        nearest=np.stack([places for _, places in nearest]),
        coefficients=coefficients,
        seconds=indexed.seconds,
    )


def index(
    job: Job[Any],
    searches: Searches,
    weights: Weights,
    experiment: Experiment,
    chunks: Chunks,
    runner: Runner,
) -> Generator[None, None, Indexed]:
    """Measure texts and queries as a part of a job: what is stored is read.

    Raises SettingError, with the first texts, where the model lacks the vector.
    """
    both = [(Prepared(weights, sample), experiment, chunks, runner) for sample in searches.samples]
    texts, seconds = yield from last_vectors(job, *both[0])
    queries, seconds_of_queries = yield from last_vectors(job, *both[1])
    pooling = experiment.pooling
    means = () if pooling == "mean" else (texts.of("mean"), queries.of("mean"))
    vectors = texts.of(pooling), queries.of(pooling)
    return Indexed(*vectors, texts.n_tokens, texts.truncated, means, seconds + seconds_of_queries)


def run(
    job: Job[Rankings],
    searches: Searches,
    weights: Weights,
    experiment: Experiment,
    power: float | None,
    chunks: Chunks,
    runner: Runner,
    store: Results,
) -> Steps:
    """Rank the texts for all searches: what is stored is read, the rest is measured and stored."""
    key = key_of(searches, weights.fingerprint, experiment, power)
    rankings = store.find(key, Rankings)
    if rankings is not None:
        job.result = replace(rankings, seconds=0.0)
        return
    indexed = yield from index(job, searches, weights, experiment, chunks, runner)
    compute = partial(rank_all, searches, indexed, experiment.seed, power)
    job.result = store.get(key, Rankings, compute)
