"""Chunks of texts, searched by a sentence of theirs, and texts searched by their best chunk."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from clsviz.analyses.select import is_symmetric, prompts_of, resolve, similarity_of
from clsviz.errors import Undefined
from clsviz.jobs.measure import Workspace, last_vectors
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import ChunkTestSettings, Experiment, Similarity
from clsviz.sources import chunks, judgements, searches, sentences
from clsviz.sources.chunks import Chunks, Cutting
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Prepared, Sample
from clsviz.sources.searches import Searches, corpus_of
from clsviz.statistics import ranking
from clsviz.statistics.containment import (
    LEAST_THIRDS,
    N_EQUAL,
    Recall,
    between,
    crossing,
    expected,
    position_effect,
)
from clsviz.statistics.intervals import Floats, Interval, of_mean
from clsviz.statistics.lengths import unread_share
from clsviz.statistics.ranking import Floats32, Qrels

VERSION: Final = 2
"""Changes when ranks are computed in another way."""

RETRIEVERS: Final = ("cosine", "dot", "bm25")

KEPT: Final = 0.75
"""Share of the sentences that chunks keep findable, at least, up to the advised length."""

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

    def at(self, places: NDArray[Any]) -> Self:
        """Of some of the texts."""
        arrays = self.vectors[places], self.n_tokens[places], self.truncated[places]
        return replace(self, vectors=arrays[0], n_tokens=arrays[1], truncated=arrays[2])


@dataclass(frozen=True, eq=False)
class Containment:
    """The ranks of chunks, which is all that an answer takes.

    sizes: sentences of a chunk; and of each size: tokens, the median; n_chunks that the model reads
    as a whole, and n_truncated others, which are left out.
    ranks: int32 (3, n_sizes, n_searches), from 1, of the best right chunk, by each of RETRIEVERS.
    positions: float32 (n_sizes, n_searches), of the sentence in its chunk. queries: intp
    (n_searches,), the sentences that search. n_left_out: others, whose chunk is truncated at one of
    the sizes.
    seconds: that measuring took.
    recalls: float64 (n_sizes + 1, n_judged), of judged searches by chunks, at last by whole texts.
    truncated, unread: shares of these whole texts, and of their tokens, that the model does not
    read. width: of a vector.
    """

    sizes: tuple[int, ...]
    tokens: tuple[float, ...]
    n_chunks: tuple[int, ...]
    n_truncated: tuple[int, ...]
    ranks: NDArray[np.int32]
    positions: NDArray[np.float32]
    queries: NDArray[np.intp]
    n_left_out: int
    seconds: float
    recalls: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    truncated: float = 0.0
    unread: float = 0.0
    width: int = 0


@dataclass(frozen=True, eq=False)
class Variant:
    """The ranks of chunks cut in another way, for the same searches, as they are.

    tokens: the median. truncated, unread: shares of chunks, and of their tokens, that the model
    does not read. ranks: int32 (3, n_searches), as of `Containment`, and beyond the last where no
    chunk has the sentence. positions: float32 (n_searches,).
    """

    tokens: float
    n_chunks: int
    truncated: float
    unread: float
    ranks: NDArray[np.int32]
    positions: NDArray[np.float32]
    seconds: float


@dataclass(frozen=True, eq=False)
class ChunkInputs:
    """A model and texts cut into chunks; judged: searches of whole texts, or None."""

    weights: Weights
    chunks: Chunks
    judged: Searches | None = None


@dataclass(frozen=True)
class Gain:
    """A recall, less another one of the same searches, with the interval of the difference."""

    recall: float
    difference: float
    interval: Interval

    @classmethod
    def of(cls, recalls: Floats, others: Floats, seed: int, n_tested: int = 1) -> Self:
        """From those of each search, (n,); n_tested: of which the best one is taken."""
        difference = recalls - others
        interval = of_mean(difference, seed, -1.0, n_tested)
        return cls(float(recalls.mean()), float(difference.mean()), interval)


@dataclass(frozen=True)
class OwnNumbers:
    """The user's chunks.

    recall: of all searches. contained: of those whose sentence is in a chunk, at equal competition.
    cut_in_two: the share of the others. by_sentences: recall of sentence-wise chunks of so many
    tokens, read off between two sizes, less that of these.
    """

    variant: Variant
    recall: Recall
    contained: float
    cut_in_two: float
    by_sentences: Gain
    tokens: float

    @classmethod
    def of(cls, variant: Variant, measured: Containment, way: str, n_equal: int, seed: int) -> Self:
        """From ranks."""
        ranks = variant.ranks[RETRIEVERS.index(way)]
        recall = Recall.of(ranks, np.zeros(len(ranks)), 1, variant.n_chunks, n_equal, seed)
        shares = expected(ranks, variant.n_chunks, n_equal)
        is_contained = ranks <= variant.n_chunks
        by_sentences, tokens = between(
            shares_of(measured, way, n_equal), measured.tokens, variant.tokens
        )
        return cls(
            variant,
            recall,
            float(shares[is_contained].mean()) if is_contained.any() else np.nan,
            float((~is_contained).mean()),
            Gain.of(by_sentences, shares, seed),
            tokens,
        )


@dataclass(frozen=True)
class ChunkNumbers:
    """The numbers of a chunk test by a similarity.

    recalls: by each of RETRIEVERS, of each size. n_equal: chunks of each size at equal competition.
    length: tokens up to which chunks keep three in four sentences there, with its interval.
    position: the effect of the sentence's place in its chunk. gains: of each size, for judged
    searches, whose recall by whole texts is uncut; () and NaN without them. own_chunks: the user's.
    overlap: the place of a size, its chunks with overlap, and their recall less that without.
    shuffled: the effect of the position where the sentences of each text are shuffled.
    """

    inputs: ChunkInputs
    measured: Containment
    similarity: Similarity
    recalls: dict[str, list[Recall]]
    n_equal: int
    length: tuple[float, Interval]
    position: tuple[float, Interval]
    gains: tuple[Gain, ...] = ()
    uncut: float = np.nan
    own_chunks: OwnNumbers | None = None
    overlap: tuple[int, Variant, Gain] | None = None
    shuffled: tuple[float, Interval] | None = None

    @classmethod
    def of(
        cls,
        inputs: ChunkInputs,
        measured: Containment,
        similarity: Similarity,
        seed: int,
        own: Variant | None = None,
    ) -> Self:
        """From ranks; the seed repeats the draws of intervals."""
        sizes = measured.positions, measured.sizes, measured.n_chunks
        n_equal = min(N_EQUAL, *measured.n_chunks, own.n_chunks if own else N_EQUAL)
        recalls = {
            way: [Recall.of(*columns, n_equal, seed) for columns in zip(ranks, *sizes, strict=True)]
            for way, ranks in zip(RETRIEVERS, measured.ranks, strict=True)
        }
        shares = shares_of(measured, similarity, n_equal)
        length = crossing(shares, measured.tokens, KEPT, seed)
        *of_sizes, uncut = measured.recalls if len(measured.recalls) else [np.array([np.nan])]
        of_own = OwnNumbers.of(own, measured, similarity, n_equal, seed) if own else None
        gains = [Gain.of(recall, uncut, seed, len(of_sizes)) for recall in of_sizes]
        way = RETRIEVERS.index(similarity)
        position = position_effect(measured.ranks[way], *sizes[:2], seed)
        numbers = inputs, measured, similarity, recalls, n_equal, length, position
        return cls(*numbers, tuple(gains), float(uncut.mean()), of_own)

    @property
    def own(self) -> list[Recall]:
        """By the similarity."""
        return self.recalls[self.similarity]

    @property
    def tokens(self) -> list[int]:
        """Tokens of a chunk of each size, the median."""
        return list(map(round, self.measured.tokens))

    @property
    def advised(self) -> int | None:
        """Tokens up to which chunks keep three in four sentences; None where none surely do."""
        length, (low, _) = self.length
        return round(min(length, self.measured.tokens[-1])) if low > 0 else None

    def n_vectors(self, place: int) -> int:
        """Chunks of a size, also those that the model reads in part."""
        return self.measured.n_chunks[place] + self.measured.n_truncated[place]

    @property
    def best(self) -> Gain:
        """The gain of the size whose chunks have the largest recall of judged searches."""
        return max(self.gains, key=lambda gain: gain.recall)


def shares_of(measured: Containment, way: str, n_equal: int) -> Floats:
    """How likely each search finds its chunk first at equal competition: (n_sizes, n_searches)."""
    ranks = zip(measured.ranks[RETRIEVERS.index(way)], measured.n_chunks, strict=True)
    return np.stack([expected(*of_size, n_equal) for of_size in ranks])


def nearest(tokens: Sequence[float], length: float) -> int:
    """The place of the size whose chunks have about so many tokens."""
    return int(np.abs(np.log(np.maximum(tokens, 1) / np.float64(max(length, 1)))).argmin())


def advised_of(recalls: Sequence[Recall]) -> int:
    """The place of the longest chunks that keep three in four sentences; −1 where none do."""
    return max((n for n, one in enumerate(recalls) if one.recall_at_1_of_equal >= KEPT), default=-1)


def chunk_test(
    experiment: Experiment,
    settings: ChunkTestSettings,
    workspace: Workspace,
    progress: Progress,
    texts: Any = None,
    own: Any = None,
) -> ChunkNumbers:
    """Cut a corpus into chunks of several sizes, and search each for its sentences.

    With titles or judged searches, whole texts are searched, too, as many as `sample_size` allows
    whole texts. texts: in memory, in the place of the corpus. own: the user's chunks, in memory or
    the name of a file. Raises ClsvizError.
    """
    titles, judged = settings.titles, None
    with progress.at("fetch"):
        weights = workspace.runner.find(experiment.model, experiment.seed, progress)
        cut = chunks.find(experiment, workspace.root, texts, progress, own)
        if titles or settings.searches is not None:
            view = searches.bounded(replace(experiment, sample_size="all"))
            choice: dict[str, Any] = {"titles": titles, "texts": texts}
            if settings.searches is not None:
                choice["judged"] = judgements.read(settings.searches, settings.queries, progress)
            judged = searches.find(view, workspace.root, **choice, progress=progress)
    inputs, experiment = ChunkInputs(weights, cut, judged), resolve(experiment, weights)
    similarity = similarity_of(settings.similarity, experiment, weights)
    of_all = experiment, similarity, workspace, progress
    measured = contained(inputs, *of_all)
    own = recut(inputs, cut.own, measured, *of_all) if cut.own else None
    with progress.at("analysis"):
        numbers = ChunkNumbers.of(inputs, measured, similarity, experiment.seed, own)
    return _with_controls(numbers, settings, *of_all)


def _with_controls(
    numbers: ChunkNumbers,
    settings: ChunkTestSettings,
    experiment: Experiment,
    similarity: Similarity,
    workspace: Workspace,
    progress: Progress,
) -> ChunkNumbers:
    """With overlap, if it is asked for, and shuffled sentences, if the position matters."""
    inputs, measured, seed = numbers.inputs, numbers.measured, experiment.seed
    cut, way = inputs.chunks, RETRIEVERS.index(similarity)
    of_all = measured, experiment, similarity, workspace, progress
    if settings.overlap is not None:
        tokens = settings.chunk_tokens or (
            numbers.own_chunks.variant.tokens if numbers.own_chunks else numbers.advised or 0
        )
        place = max(1, nearest(measured.tokens, tokens))
        size = measured.sizes[place]
        n_shared = min(max(1, round(settings.overlap * size)), size - 1)
        variant = recut(inputs, cut.recut(size, n_shared), *of_all)
        firsts = (ranks[way] == 1 for ranks in (variant.ranks, measured.ranks[:, place]))
        gain = Gain.of(*(first.astype(float) for first in firsts), seed)
        numbers = replace(numbers, overlap=(place, variant, gain))
    low, high = numbers.position[1]
    if low > 0 or high < 0:
        sizes = [one for one in measured.sizes if one >= LEAST_THIRDS]
        size = sizes[len(sizes) // 2]
        variant = recut(inputs, cut.recut(size, seed=seed), *of_all)
        shuffled = position_effect(variant.ranks[[way]], variant.positions[None], [size], seed)
        numbers = replace(numbers, shuffled=shuffled)
    return numbers


def key_of(inputs: ChunkInputs, experiment: Experiment, similarity: str) -> tuple[object, ...]:
    """The key of the ranks in the store. similarity: which judged searches are by."""
    of_judged = (inputs.judged.fingerprint, similarity) if inputs.judged else ()
    both = inputs.chunks.fingerprint, inputs.weights.key(experiment.pooling)
    return "chunks", VERSION, *both, experiment.pooling, *of_judged, *prompts_of(experiment)


def contained(
    inputs: ChunkInputs,
    experiment: Experiment,
    similarity: Similarity,
    workspace: Workspace,
    progress: Progress,
) -> Containment:
    """The ranks of chunks: what is stored is read, the rest is measured and stored.

    Raises Undefined where the model reads hardly more than single sentences.
    """
    weights, cut = inputs.weights, inputs.chunks
    key = key_of(inputs, experiment, similarity)
    known = workspace.results.find(key, Containment)
    if known is not None:
        return known
    sizes: list[Index] = []
    n_done = 0
    for place in range(len(cut.sizes)):
        sample, part = cut.cut[place].sample, progress.part(n_done, cut.n_chunks, "texts")
        one = _index(sample, weights, experiment, workspace, part)
        n_done += len(sample)
        if place and one.truncated.mean() > MOST_TRUNCATED:
            break
        sizes.append(one)
    if len(sizes) < 2:
        reason = "The model reads over a quarter of the chunks of two sentences only in part."
        raise Undefined(reason, "Choose a model of a higher limit, or texts of shorter sentences.")
    asking = None
    if not is_symmetric(experiment, weights):
        part = progress.part(n_done, cut.n_chunks, "texts")
        asking = _index(cut.cut[0].sample, weights, experiment, workspace, part, "query")
    with progress.at("analysis"):
        containment = contain(cut, sizes, asking)
    if inputs.judged is not None:
        part = progress.part(n_done, cut.n_chunks, "texts")
        of_chunks = inputs.judged, containment, experiment, similarity
        containment = _with_judged(weights, *of_chunks, workspace, part)
    return workspace.results.put(key, containment)


def _with_judged(
    weights: Weights,
    judged: Searches,
    containment: Containment,
    experiment: Experiment,
    similarity: Similarity,
    workspace: Workspace,
    progress: Progress,
) -> Containment:
    """With recalls of judged searches by the best chunk of each size, and by whole texts."""
    texts, queries = judged.samples
    asking = _index(queries, weights, experiment, workspace, progress, "query")
    qrels = Qrels.of(judged.relevant, len(texts))
    seconds, n_done = containment.seconds + asking.seconds, len(queries)
    recalls: list[Floats] = []
    for size in (*containment.sizes, None):
        sample, owners = _chunks_of(judged, size)
        part = progress.part(n_done, n_done, "texts")
        one = _index(sample, weights, experiment, workspace, part)
        n_done, seconds = n_done + len(sample), seconds + one.seconds
        with progress.at("analysis"):
            inputs = asking.by(similarity), one.by(similarity), owners
            recalls.append(qrels.recalls(ranking.rank_by_chunks(*inputs)))
    return replace(  # the last ones are whole texts
        containment,
        seconds=seconds,
        recalls=np.array(recalls),
        truncated=float(one.truncated.mean()),
        unread=unread_share(one.n_tokens, one.truncated),
    )


def _index(
    sample: Sample,
    weights: Weights,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
    role: Kind = "text",
) -> Index:
    """The vectors of a sample, of texts or of queries."""
    prepared = Prepared(weights, sample)
    norms, seconds = last_vectors(prepared, experiment, workspace, progress, role)
    return Index(norms.of(experiment.pooling), norms.n_tokens, norms.truncated, seconds)


def contain(cut: Chunks, sizes: Sequence[Index], asking: Index | None = None) -> Containment:
    """The ranks of chunks. sizes: of each measured size, the first of which is the sentences.

    asking: sentences as queries, None where those are encoded as texts are. Raises Undefined where
    the model reads the chunks of under 100 sentences as a whole.
    """
    is_read = [~one.truncated for one in sizes]
    owners = (one.owners[cut.queries] for one in cut.cut)
    is_used = np.all([read[some] for read, some in zip(is_read, owners, strict=False)], axis=0)
    queries = cut.queries[is_used]
    if len(queries) < chunks.FEWEST_SEARCHES:
        reason = f"The model reads the chunks of only {len(queries):,} of {len(cut.queries):,} "
        reason += f"sentences as a whole, and {chunks.FEWEST_SEARCHES} are needed."
        raise Undefined(reason, "Raise sample_size, or choose a model of a higher limit.")
    words = [cut.sentences[n] for n in queries]
    asking, ranks = (asking or sizes[0]).at(queries), []
    for n, (one, read) in enumerate(zip(sizes, is_read, strict=True)):
        new = np.cumsum(read) - 1
        relevant = [new[some[read[some]]] for some in compress(cut.cut[n].relevant, is_used)]
        texts = list(compress(cut.cut[n].chunks, read))
        ranks.append(_ranks(asking, words, one.at(read), texts, relevant))
    columns = list(zip(sizes, is_read, strict=True))
    return Containment(
        sizes=cut.sizes[: len(sizes)],
        tokens=tuple(float(np.median(one.n_tokens[read])) for one, read in columns),
        n_chunks=tuple(int(read.sum()) for read in is_read),
        n_truncated=tuple(int((~read).sum()) for read in is_read),
        ranks=np.stack(ranks, axis=1),
        positions=np.array([one.positions[queries] for one in cut.cut[: len(sizes)]], np.float32),
        queries=queries,
        n_left_out=int((~is_used).sum()),
        seconds=sum(one.seconds for one in sizes),
        width=sizes[0].vectors.shape[1],
    )


def recut(
    inputs: ChunkInputs,
    cutting: Cutting,
    measured: Containment,
    experiment: Experiment,
    similarity: Similarity,
    workspace: Workspace,
    progress: Progress,
) -> Variant:
    """The ranks of chunks cut in another way, as they are, for the searches of `measured`."""
    cut, weights = inputs.chunks, inputs.weights
    key = (*key_of(replace(inputs, judged=None), experiment, similarity), "as they are")
    key = (*key, cutting.corpus.fingerprint)
    known = workspace.results.find(key, Variant)
    if known is not None:
        return known
    asked, total = len(cut.sentences), len(cut.sentences) + len(cutting.sample)
    on = weights, experiment, workspace
    part = progress.part(0, total, "texts")
    role: Kind = "text" if is_symmetric(experiment, weights) else "query"
    asking = _index(cut.cut[0].sample, *on, part, role).at(measured.queries)
    chunks = _index(cutting.sample, *on, progress.part(asked, total, "texts"))
    words = [cut.sentences[n] for n in measured.queries]
    relevant = compress(cutting.relevant, np.isin(cut.queries, measured.queries))
    positions = cutting.positions[measured.queries] if len(cutting.positions) else np.empty(0)
    with progress.at("analysis"):
        ranks = _ranks(asking, words, chunks, cutting.chunks, list(relevant))
    variant = Variant(
        tokens=float(np.median(chunks.n_tokens)),
        n_chunks=len(cutting.sample),
        truncated=float(chunks.truncated.mean()),
        unread=unread_share(chunks.n_tokens, chunks.truncated),
        ranks=ranks,
        positions=positions.astype(np.float32),
        seconds=chunks.seconds,
    )
    return workspace.results.put(key, variant)


def _ranks(
    asking: Index,
    words: Sequence[str],
    chunks: Index,
    texts: Sequence[str],
    relevant: Sequence[NDArray[np.intp]],
) -> NDArray[np.int32]:
    """The ranks of the best right chunk of each search, by each of RETRIEVERS: int32 (3, n)."""
    qrels = Qrels.of(relevant, len(texts))
    by_vectors = (
        ranking.relevant_ranks(asking.by(way), chunks.by(way), qrels)[0] for way in RETRIEVERS[:2]
    )
    return np.stack([*by_vectors, ranking.relevant_ranks_by_words(words, texts, qrels)])


def _chunks_of(searches: Searches, size: int | None) -> tuple[Sample, NDArray[np.intp]]:
    """The chunks of all texts, None for whole texts, and the text of each, in order."""
    texts = searches.texts.table["sentence"].to_pylist()
    language = searches.texts.reading.language
    cut = [sentences.cut(text, language) if size else [text] for text in texts]
    step = size or 1
    parts = [[" ".join(some[at : at + step]) for at in range(0, len(some), step)] for some in cut]
    owners = np.repeat(np.arange(len(texts)), list(map(len, parts)))
    corpus = corpus_of(searches.texts, f"chunks of {step}", list(chain.from_iterable(parts)))
    return Sample(corpus, 0, np.arange(len(owners))), owners
