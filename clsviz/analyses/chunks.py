"""Chunks of texts, searched by a sentence of theirs, and texts searched by their best chunk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
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
from clsviz.sources.models import Weights, limit_of
from clsviz.sources.sampling import Prepared, Sample
from clsviz.sources.searches import Searches, corpus_of
from clsviz.statistics import containment, ranking
from clsviz.statistics.containment import N_EQUAL, Recall, expected
from clsviz.statistics.intervals import Floats, Interval, of_mean
from clsviz.statistics.lengths import unread_share
from clsviz.statistics.ranking import Floats32, Qrels

VERSION: Final = 2
"""Changes when ranks are computed in another way."""

RETRIEVERS: Final = ("cosine", "dot", "bm25")

KEPT: Final = 0.75
"""Share of the sentences that chunks keep findable, at least, up to the advised length."""

MOST_TRUNCATED, MOST_CUT = 0.25, 0.01
"""Share of the chunks of a size that the model reads in part, at most, where the size counts; and
where it tells of positions: what is not read stands at the end."""


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
    """The ranks of chunks that are cut in one way, which is all that an answer takes.

    tokens: of a chunk, the median. truncated, unread: shares of chunks, and of their tokens, that
    the model does not read. ranks: int32 (3, n_searches), from 1, of the best right chunk, by each
    of RETRIEVERS; beyond the last where no chunk has the sentence. positions: float32
    (n_searches,), of the sentence in its chunk. seconds: that measuring took. width: of a vector.
    """

    tokens: float
    n_chunks: int
    truncated: float
    unread: float
    ranks: NDArray[np.int32]
    positions: NDArray[np.float32]
    seconds: float
    width: int = 0


@dataclass(frozen=True, eq=False)
class Judged:
    """Judged searches by chunks of each size.

    recalls: float64 (n_sizes + 1, n_judged), at last by whole texts. truncated, unread: shares of
    these, and of their tokens, that the model does not read.
    """

    recalls: Floats
    truncated: float
    unread: float
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

    measured: Containment
    recall: Recall
    contained: float
    cut_in_two: float
    by_sentences: Gain
    tokens: float


@dataclass(frozen=True)
class ChunkNumbers:
    """The numbers of a chunk test by a similarity.

    measured: chunks of each size. recalls: by each of RETRIEVERS, of each size. n_equal: chunks of
    each size at equal competition. length: tokens up to which chunks keep three in four sentences
    there, with its interval. position: the effect of the sentence's place in chunks that the model
    reads. judged: of whole texts, or None; gains: of each size beyond them. own_chunks: the user's.
    overlap: the place of a size, its chunks with overlap, and their recall less that without.
    shuffled: the effect of the position where the sentences of each text are shuffled.
    """

    inputs: ChunkInputs
    measured: Sequence[Containment]
    similarity: Similarity
    recalls: dict[str, list[Recall]]
    n_equal: int
    length: tuple[float, Interval]
    position: tuple[float, Interval]
    judged: Judged | None = None
    gains: tuple[Gain, ...] = ()
    own_chunks: OwnNumbers | None = None
    overlap: tuple[int, Containment, Gain] | None = None
    shuffled: tuple[float, Interval] | None = None

    @classmethod
    def of(
        cls,
        inputs: ChunkInputs,
        measured: Sequence[Containment],
        similarity: Similarity,
        seed: int,
        judged: Judged | None = None,
        own: Containment | None = None,
    ) -> Self:
        """From ranks; the seed repeats the draws of intervals."""
        way, sizes = RETRIEVERS.index(similarity), inputs.chunks.sizes
        n_equal = min([N_EQUAL, *(one.n_chunks for one in (*measured, *filter(None, [own])))])
        recalls = {
            name: [
                Recall.of(one.ranks[place], one.positions, size, one.n_chunks, n_equal, seed)
                for one, size in zip(measured, sizes, strict=False)
            ]
            for place, name in enumerate(RETRIEVERS)
        }
        tokens = [one.tokens for one in measured]
        shares = shares_of(measured, similarity, n_equal)
        length = containment.crossing(shares, tokens, KEPT, seed)
        read = [one for one in measured if one.truncated <= MOST_CUT]  # the shorter ones
        columns = [one.ranks[way] for one in read], [one.positions for one in read]
        ranks, positions = (np.reshape(c, (-1, measured[0].ranks.shape[1])) for c in columns)
        position = containment.position_effect(ranks, positions, sizes[: len(read)], seed)
        numbers = cls(inputs, measured, similarity, recalls, n_equal, length, position, judged)
        if judged:
            *of_sizes, uncut = judged.recalls
            gains = (Gain.of(recall, uncut, seed, len(of_sizes)) for recall in of_sizes)
            numbers = replace(numbers, gains=tuple(gains))
        if own is None:
            return numbers
        recall = Recall.of(own.ranks[way], own.positions, 1, own.n_chunks, n_equal, seed)
        (own_shares,), is_in = shares_of([own], similarity, n_equal), own.ranks[way] <= own.n_chunks
        contained = float(own_shares[is_in].mean()) if is_in.any() else np.nan
        by_sentences, near = containment.between(shares, tokens, own.tokens)
        cut, gain = float((~is_in).mean()), Gain.of(by_sentences, own_shares, seed)
        return replace(numbers, own_chunks=OwnNumbers(own, recall, contained, cut, gain, near))

    @property
    def own(self) -> list[Recall]:
        """By the similarity."""
        return self.recalls[self.similarity]

    @property
    def tokens(self) -> list[int]:
        """Tokens of a chunk of each size, the median."""
        return [round(one.tokens) for one in self.measured]

    @property
    def advised(self) -> int | None:
        """Tokens up to which chunks keep three in four sentences; None where none surely do."""
        length, (low, _) = self.length
        return round(min(length, self.measured[-1].tokens)) if low > 0 else None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sentences of a chunk of each size that counts."""
        return self.inputs.chunks.sizes[: len(self.measured)]

    @property
    def best(self) -> Gain:
        """The gain of the size whose chunks have the largest recall of judged searches."""
        return max(self.gains, key=lambda gain: gain.recall)


def shares_of(measured: Sequence[Containment], way: str, n_equal: int) -> Floats:
    """How likely each search finds its chunk first at equal competition: (n_sizes, n_searches)."""
    place = RETRIEVERS.index(way)
    return np.stack([expected(one.ranks[place], one.n_chunks, n_equal) for one in measured])


def n_shared(size: int, overlap: float) -> int:
    """Sentences that a chunk of so many repeats, for a share: at least one, and not all."""
    return min(max(1, round(overlap * size)), size - 1)


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
    own: Any = "",
) -> ChunkNumbers:
    """Cut a corpus into chunks of several sizes, and search each for its sentences.

    With titles or judged searches, whole texts are searched, too, as many as `sample_size` allows
    whole texts. texts: in memory, in the place of the corpus. own: the user's chunks, in memory or
    the name of a file, if any. Raises ClsvizError.
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
    on = experiment, workspace, progress
    measured = by_sizes(inputs, *on)
    of_judged = _judged(inputs, len(measured), similarity, *on) if judged else None
    of_own = contained(inputs, cut.own, *on) if cut.own else None
    with progress.at("analysis"):
        of_all = similarity, experiment.seed, of_judged, of_own
        numbers = ChunkNumbers.of(inputs, measured, *of_all)
    return _with_controls(numbers, settings, *on)


def _with_controls(
    numbers: ChunkNumbers,
    settings: ChunkTestSettings,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
) -> ChunkNumbers:
    """With overlap, if it is asked for, and shuffled sentences, if the position matters."""
    inputs, own, seed = numbers.inputs, numbers.own_chunks, experiment.seed
    cut, way = inputs.chunks, RETRIEVERS.index(numbers.similarity)
    on = experiment, workspace, progress
    if settings.overlap is not None:
        tokens = settings.chunk_tokens or (own.measured.tokens if own else numbers.advised or 0)
        place = max(1, nearest(numbers.tokens, tokens))
        size = numbers.sizes[place]
        one = contained(inputs, cut.recut(size, n_shared(size, settings.overlap)), *on)
        after, before = (
            (some.ranks[way] == 1).astype(float) for some in (one, numbers.measured[place])
        )
        gain = Gain.of(after, before, seed)
        numbers = replace(numbers, overlap=(place, one, gain))
    low, high = numbers.position[1]
    if low > 0 or high < 0:
        sizes = [size for size in numbers.sizes if size >= containment.LEAST_THIRDS]
        size = sizes[len(sizes) // 2]
        one = contained(inputs, cut.recut(size, seed=seed), *on)
        shuffled = containment.position_effect(one.ranks[[way]], one.positions[None], [size], seed)
        numbers = replace(numbers, shuffled=shuffled)
    return numbers


def key_of(inputs: ChunkInputs, cutting: Cutting, experiment: Experiment) -> tuple[object, ...]:
    """The key of the ranks in the store."""
    chunks = inputs.chunks.fingerprint, cutting.corpus.fingerprint
    model = inputs.weights.key(experiment.pooling), experiment.pooling
    return "chunks", VERSION, *chunks, *model, *prompts_of(experiment)


def by_sizes(
    inputs: ChunkInputs, experiment: Experiment, workspace: Workspace, progress: Progress
) -> list[Containment]:
    """The ranks of chunks of each size, up to those that the model reads in part too often.

    Raises Undefined where it reads hardly more than single sentences.
    """
    cut, n_done, measured = inputs.chunks, 0, list[Containment]()
    for cutting in cut.cut:
        part = progress.part(n_done, cut.n_chunks, "texts")
        one = contained(inputs, cutting, experiment, workspace, part)
        n_done += one.n_chunks
        if measured and one.truncated > MOST_TRUNCATED:
            break
        measured.append(one)
    if len(measured) < 2:
        reason = "The model reads over a quarter of the chunks of two sentences only in part."
        raise Undefined(reason, "Choose a model of a higher limit, or texts of shorter sentences.")
    return measured


def contained(
    inputs: ChunkInputs,
    cutting: Cutting,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
) -> Containment:
    """The ranks of chunks: what is stored is read, the rest is measured and stored."""
    cut, key = inputs.chunks, key_of(inputs, cutting, experiment)
    known = workspace.results.find(key, Containment)
    if known is not None:
        return known
    on = inputs.weights, experiment, workspace
    chunks = _index(cutting.sample, *on, progress)
    role: Kind = "text" if is_symmetric(experiment, inputs.weights) else "query"
    sentences = _index(cut.cut[0].sample, *on, progress, role)
    limit = limit_of(inputs.weights, experiment.text_prompt)
    with progress.at("analysis"):
        return workspace.results.put(key, contain(cut, cutting, sentences, chunks, limit))


def _judged(
    inputs: ChunkInputs,
    n_sizes: int,
    similarity: Similarity,
    experiment: Experiment,
    workspace: Workspace,
    progress: Progress,
) -> Judged:
    """Recalls of judged searches by the best chunk of each size, and by whole texts."""
    judged, sizes = inputs.judged, inputs.chunks.sizes[:n_sizes]
    assert judged is not None
    source = judged.fingerprint, inputs.weights.key(experiment.pooling), experiment.pooling
    key = "judged chunks", VERSION, *source, similarity, sizes, *prompts_of(experiment)
    known = workspace.results.find(key, Judged)
    if known is not None:
        return known
    (texts, queries), on = judged.samples, (inputs.weights, experiment, workspace)
    asking, qrels = _index(queries, *on, progress, "query"), Qrels.of(judged.relevant, len(texts))
    seconds, recalls = asking.seconds, list[Floats]()
    for size in (*sizes, None):
        sample, owners = _chunks_of(judged, size)
        one = _index(sample, *on, progress)
        seconds += one.seconds
        with progress.at("analysis"):
            ranked = ranking.rank_by_chunks(asking.by(similarity), one.by(similarity), owners)
            recalls.append(qrels.recalls(ranked))
    limit = limit_of(inputs.weights, experiment.text_prompt)
    unread = unread_share(one.n_tokens, one.truncated, limit)  # the last ones are whole texts
    new = Judged(np.array(recalls), float(one.truncated.mean()), unread, seconds)
    return workspace.results.put(key, new)


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


def contain(
    cut: Chunks, cutting: Cutting, sentences: Index, chunks: Index, limit: int = 0
) -> Containment:
    """The ranks of chunks for sentences that search; sentences: vectors of all."""
    qrels = Qrels.of(cutting.relevant, len(cutting.sample))
    words = [cut.sentences[n] for n in cut.queries]
    by_vectors = (
        ranking.relevant_ranks(sentences.by(way)[cut.queries], chunks.by(way), qrels)[0]
        for way in RETRIEVERS[:2]
    )
    ranks = [*by_vectors, ranking.relevant_ranks_by_words(words, cutting.chunks, qrels)]
    has_positions = len(cutting.positions) > 0
    positions = cutting.positions[cut.queries] if has_positions else np.zeros(len(cut.queries))
    return Containment(
        tokens=float(np.median(chunks.n_tokens)),
        n_chunks=len(cutting.sample),
        truncated=float(chunks.truncated.mean()),
        unread=unread_share(chunks.n_tokens, chunks.truncated, limit),
        ranks=np.stack(ranks),
        positions=positions.astype(np.float32),
        seconds=chunks.seconds,
        width=chunks.vectors.shape[1],
    )


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
