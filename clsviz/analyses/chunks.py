"""Chunks of texts, searched by a sentence of theirs, and texts searched by their best chunk."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import Undefined
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Prepared, last_vectors
from clsviz.jobs.worker import Runner
from clsviz.sources import chunks, models, sentences
from clsviz.sources.chunks import Chunks
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample
from clsviz.sources.searches import Searches, corpus_of, find
from clsviz.statistics import ranking
from clsviz.statistics.intervals import Floats
from clsviz.statistics.ranking import Floats32, Qrels
from clsviz.store.measurements import Measurements
from clsviz.store.results import Results

VERSION: Final = 1
"""Changes when ranks are computed in another way."""

WAYS: Final = ("cosine", "dot", "bm25")

MOST_TRUNCATED: Final = 0.25
"""Share of the chunks of a size that the model reads in part, at most, where the size counts."""


@dataclass(frozen=True, eq=False)
class Index:
    """Vectors of n texts, float32 (n, width), and as `Norms` has them, n_tokens and truncated."""

    vectors: Floats32
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    seconds: float = 0.0

    def by(self, similarity: str) -> Floats32:
        """The vectors whose products are the similarity, cosine or dot."""
        return ranking.unit(self.vectors) if similarity == "cosine" else self.vectors


@dataclass(frozen=True, eq=False)
class Containment:
    """The ranks of chunks, which is all that an answer takes.

    sizes: sentences of a chunk; and of each size: tokens, the median; n_chunks that the model reads
    as a whole, and n_truncated others, which are left out.
    ranks: int32 (3, n_sizes, n_searches), from 1, of the best right chunk, by each of WAYS.
    positions: float32 (n_sizes, n_searches), of the sentence in its chunk.
    n_left_out: searches whose chunk is truncated at one of the sizes.
    seconds: that measuring took.
    recalls: float64 (n_sizes + 1, n_judged), of judged searches by chunks, at last by whole texts.
    truncated: share of these whole texts that the model reads in part.
    """

    sizes: tuple[int, ...]
    tokens: tuple[float, ...]
    n_chunks: tuple[int, ...]
    n_truncated: tuple[int, ...]
    ranks: NDArray[np.int32]
    positions: NDArray[np.float32]
    n_left_out: int
    seconds: float
    recalls: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    truncated: float = 0.0


@dataclass(frozen=True, eq=False)
class Plan:
    """A model and chunks, ready to be measured; searches: judged ones of whole texts, or None."""

    weights: Weights
    chunks: Chunks
    searches: Searches | None = None


def plan(
    job: Job[Plan],
    experiment: Experiment,
    root: Path,
    titles: str = "",
    judged: Path | None = None,
    texts: Any = None,
    most_texts: int | Literal["all"] = "all",
) -> Steps:
    """Find the model and cut the corpus, downloading what this machine lacks.

    titles, judged: as of `searches.find`; with either, at most so many whole texts are searched.
    texts: in memory, in the place of the corpus.
    """
    weights = models.find(experiment.model, experiment.seed, job.show)
    yield
    cut = chunks.find(experiment, root, texts, job.show)
    searches = None
    if titles or judged is not None:
        view = replace(experiment, sample_size=most_texts)
        searches = find(view, root, titles=titles, judged=judged, texts=texts, progress=job.show)
    job.result = Plan(weights, cut, searches)


def key_of(plan: Plan, experiment: Experiment, similarity: str) -> tuple[object, ...]:
    """The key of the ranks in the store. similarity: which judged searches are by."""
    judged = (plan.searches.fingerprint, similarity) if plan.searches else ()
    inputs = plan.chunks.fingerprint, plan.weights.fingerprint
    return "chunks", VERSION, *inputs, experiment.pooling, *judged


def run(
    job: Job[Containment],
    plan: Plan,
    experiment: Experiment,
    similarity: Literal["cosine", "dot"],
    measurements: Measurements,
    runner: Runner,
    store: Results,
) -> Steps:
    """Search chunks: what is stored is read, the rest is measured and stored.

    Raises Undefined where the model reads hardly more than single sentences.
    """
    weights, cut, searches = plan.weights, plan.chunks, plan.searches
    key = key_of(plan, experiment, similarity)
    stored = store.find(key, Containment)
    if stored is not None:
        job.result = stored
        return

    n_done, n_all = 0, cut.n_chunks

    def index(sample: Sample) -> Generator[None, None, Index]:
        nonlocal n_done
        inputs = Prepared(weights, sample), experiment, measurements, runner
        norms, seconds = yield from last_vectors(job, *inputs, n_done, n_all)
        n_done += len(sample)
        return Index(norms.of(experiment.pooling), norms.n_tokens, norms.truncated, seconds)

    sizes: list[Index] = []
    for place in range(len(cut.sizes)):
        one = yield from index(cut.sample(place))
        if place and one.truncated.mean() > MOST_TRUNCATED:
            break
        sizes.append(one)
    if len(sizes) < 2:
        reason = "The model reads over a quarter of the chunks of two sentences only in part."
        raise Undefined(reason, "Choose a model of a higher limit, or texts of shorter sentences.")
    contained = contain(cut, sizes)
    if searches is not None:
        texts, queries = searches.samples
        asking = yield from index(queries)
        qrels = Qrels.of(searches.relevant, len(texts))
        recalls: list[Floats] = []
        for size in (*contained.sizes, None):
            sample, owners = _chunks_of(searches, size)
            sizes.append(one := (yield from index(sample)))
            top_k = ranking.rank_by_chunks(asking.by(similarity), one.by(similarity), owners)
            recalls.append(qrels.recalls(top_k))
        contained = replace(
            contained,
            seconds=sum(one.seconds for one in (asking, *sizes)),
            recalls=np.array(recalls),
            truncated=float(one.truncated.mean()),
        )
    job.result = store.get(key, Containment, lambda: contained)


def contain(cut: Chunks, sizes: Sequence[Index]) -> Containment:
    """The ranks of chunks. sizes: of each measured size, the first of which is the sentences.

    Raises Undefined where the model reads the chunks of under 100 sentences as a whole.
    """
    is_read = [~one.truncated for one in sizes]
    is_used = np.all([read[cut.owners[n][cut.queries]] for n, read in enumerate(is_read)], axis=0)
    queries = cut.queries[is_used]
    if len(queries) < chunks.FEWEST_SEARCHES:
        reason = f"The model reads the chunks of only {len(queries):,} of {len(cut.queries):,} "
        reason += f"sentences as a whole, and {chunks.FEWEST_SEARCHES} are needed."
        raise Undefined(reason, "Raise sample_size, or choose a model of a higher limit.")
    words = cut.cut[0].table["sentence"].take(queries).to_pylist()
    ranks = []
    for n, (one, read) in enumerate(zip(sizes, is_read, strict=True)):
        new = np.cumsum(read) - 1
        relevant = [new[some[read[some]]] for some in compress(cut.relevant(n), is_used)]
        qrels = Qrels.of(relevant, int(read.sum()))
        texts = cut.cut[n].table["sentence"].filter(read).to_pylist()
        by_vectors = (
            ranking.relevant_ranks(sizes[0].by(way)[queries], one.by(way)[read], qrels)[0]
            for way in WAYS[:2]
        )
        ranks.append([*by_vectors, ranking.relevant_ranks_by_words(words, texts, qrels)])
    columns = list(zip(sizes, is_read, strict=True))
    return Containment(
        sizes=cut.sizes[: len(sizes)],
        tokens=tuple(float(np.median(one.n_tokens[read])) for one, read in columns),
        n_chunks=tuple(int(read.sum()) for read in is_read),
        n_truncated=tuple(int((~read).sum()) for read in is_read),
        ranks=np.stack(ranks, axis=1).astype(np.int32),
        positions=cut.positions[: len(sizes), queries].astype(np.float32),
        n_left_out=int((~is_used).sum()),
        seconds=sum(one.seconds for one in sizes),
    )


def _chunks_of(searches: Searches, size: int | None) -> tuple[Sample, NDArray[np.intp]]:
    """The chunks of all texts, None for whole texts, and the text of each, in order."""
    texts = searches.texts.table["sentence"].to_pylist()
    cut = [sentences.cut(text) if size else [text] for text in texts]
    step = size or 1
    parts = [[" ".join(some[at : at + step]) for at in range(0, len(some), step)] for some in cut]
    owners = np.repeat(np.arange(len(texts)), list(map(len, parts)))
    corpus = corpus_of(searches.texts, f"chunks of {step}", list(chain.from_iterable(parts)))
    return Sample(corpus, 0, np.arange(len(owners))), owners
