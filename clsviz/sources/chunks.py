"""Texts cut into chunks of several sizes, and sentences that search for the chunk they are in."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz import limits
from clsviz.errors import SettingError, Undefined, quote
from clsviz.numbers import counted
from clsviz.progress import Progress, silent
from clsviz.settings import Experiment
from clsviz.sources import copies, corpora, searches, sentences
from clsviz.sources.corpora import Corpus, caveats_on
from clsviz.sources.judgements import IDS
from clsviz.sources.near_duplicates import near_duplicates
from clsviz.sources.sampling import Sample

SIZES: Final = (1, 2, 3, 5, 8, 12, 20, 30)  # sentences of a chunk

LEAST_FULL: Final = 0.5
"""Share of the sentences that stand in a full chunk, at least, where a size is tried."""

LEAST_WORDS: Final = 6
"""Words of a sentence that searches: shorter ones are said in many texts."""

MOST_SEARCHES, FEWEST_SEARCHES, FEWEST_CHUNKS = 500, 100, 10

STEP: Final = 100  # texts that are cut at a time
LONGER: Final = "Give longer texts, such as a book, or choose python-api."

ENOUGH: Final = 5 / 6
"""Share of a sample that long texts have, at least, where shorter texts are left out."""

LEAST_SENTENCES: Final = (12, 8, 5, 2)
"""Sentences of a long text: the first number that gives enough of them, else the last."""

PIECES: Final = (4, 12)
"""Letters in a row by which chunks and texts compare: a quarter of a sentence, within these."""


@dataclass(frozen=True, eq=False)
class Cutting:
    """Texts cut in one way.

    relevant: for each search, the chunks with its sentence or a near-duplicate, if any. owners:
    intp (n_sentences,), the last chunk that each sentence is in, and positions: float64, the place
    of its middle in it, from 0 to 1; () of the user's chunks.
    """

    corpus: Corpus
    relevant: Sequence[NDArray[np.intp]]
    owners: NDArray[np.intp]
    positions: NDArray[np.float64]

    @property
    def sample(self) -> Sample:
        """All of its chunks."""
        return Sample(self.corpus, 0, np.arange(self.corpus.table.num_rows))

    @property
    def chunks(self) -> list[str]:
        """The texts of its chunks."""
        texts: list[str] = self.corpus.table["sentence"].to_pylist()
        return texts


@dataclass(frozen=True, eq=False)
class Chunks:
    """Texts cut into chunks of several sizes, and the sentences that search for theirs.

    sentences: of the texts, in order. documents, clusters: intp (n_sentences,), the text of each,
    and of near-duplicates. queries: intp (n_searches,), the sentences that search, none of them
    near to another. sizes: sentences of a chunk; the first is 1. cut: the chunks of each size. own:
    the user's chunks, or None. caveats: sentences.
    """

    texts: Corpus
    sentences: Sequence[str]
    documents: NDArray[np.intp]
    clusters: NDArray[np.intp]
    queries: NDArray[np.intp]
    sizes: tuple[int, ...] = ()
    cut: tuple[Cutting, ...] = ()
    own: Cutting | None = None
    caveats: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of the chunks and of what searches."""
        return copies.digest([one.corpus.fingerprint for one in self.cut], self.queries.tolist())

    @property
    def n_chunks(self) -> int:
        """Chunks of all sizes."""
        return sum(one.corpus.table.num_rows for one in self.cut)

    def recut(self, size: int, overlap: int = 0, seed: int | None = None) -> Cutting:
        """Chunks of so many sentences that share some with the one before.

        seed: of the order of the sentences in each text, or None for their own.
        """
        spans = _members(self.documents)
        if seed is not None:
            spans = list(map(np.random.RandomState(seed).permutation, spans))
        windows = [
            span[at : at + size]
            for span in spans
            for at in range(0, max(len(span) - overlap, 1), size - overlap)
        ]
        lengths, members = list(map(len, windows)), np.concatenate(windows)
        numbers = np.repeat(np.arange(len(windows)), lengths)
        within = np.concatenate(list(map(np.arange, lengths)))
        owners, positions = np.empty(len(self.sentences), np.intp), np.empty(len(self.sentences))
        owners[members], positions[members] = numbers, (within + 0.5) / np.repeat(lengths, lengths)
        holding = defaultdict[int, list[int]](list)
        for cluster, number in zip(self.clusters[members], numbers.tolist(), strict=True):
            holding[cluster].append(number)
        relevant = [np.unique(holding[cluster]) for cluster in self.clusters[self.queries]]
        texts = [" ".join(self.sentences[n] for n in window) for window in windows]
        corpus = searches.corpus_of(self.texts, f"chunks of {size}", texts)
        return Cutting(corpus, relevant, owners, positions)


def find(
    experiment: Experiment,
    root: Path,
    texts: Any = None,
    progress: Progress = silent,
    own: Any = "",
) -> Chunks:
    """The chunks of a corpus: a text file is one text, each row of a table is one.

    texts: in memory, in the place of the corpus. own: the user's chunks of it, as
    `name_of` takes them. Of `sample_size` sentences, those of a text file are its first, and those
    of a table are of texts that the seed draws.
    Raises Undefined where fewer than 100 sentences can search, and as `searches.whole_texts`.
    """
    corpus = searches.whole_texts(experiment, root, IDS, texts, progress)
    rows = corpus.table["sentence"].to_pylist()
    is_one_text = bool(corpus.reading.encoding) and not corpus.reading.column
    documents: list[list[str]] = []
    for start in range(0, len(rows), STEP):
        some = rows[start : start + STEP]
        documents += [sentences.cut(text, corpus.reading.language) for text in some]
        progress(len(documents), len(rows), "texts")  # ends the job that nobody wants any more
    if is_one_text:
        documents = [list(chain.from_iterable(documents))]
    if max(map(len, documents)) == 1:
        reason = f"Each text of {quote(corpus.label)} is one sentence: nothing can be cut."
        raise Undefined(reason, LONGER)
    caveats = [*corpus.reading.caveats, *caveats_on(corpus.reading.language, experiment)]
    if is_one_text and corpus.reading.segmentation == "lines":
        caveats.append("The lines are taken as one text, in their order.")
    n_all = sum(map(len, documents))
    chosen, least = _choose(documents, experiment)
    n = sum(map(len, chosen))
    if n < n_all:
        where = f"from {len(chosen):,} of {len(rows):,} texts, each of at least {least} sentences"
        where = "the first ones" if is_one_text else where
        caveats.append(f"{n:,} of {n_all:,} sentences are cut into chunks: {where}.")
    words = list(chain.from_iterable(chosen))
    clusters = near_duplicates(words)
    queries = _queries(words, clusters, experiment.seed)
    which = f"different ones of at least {LEAST_WORDS} words"
    cutting = None
    if name_of(own):
        cutting, queries, of_own = _own(own, words, clusters, queries, rows, root, progress)
        caveats += of_own
    queries = np.sort(queries[:MOST_SEARCHES])
    if len(queries) < FEWEST_SEARCHES:
        is_sample = n < n_all and n == experiment.sample_size
        reason = f"Only {len(queries):,} of {n if is_sample else n_all:,} sentences of "
        reason += f"{quote(corpus.label)} can search, and {FEWEST_SEARCHES} are needed: {which}, "
        reason += "in texts of several."
        raise Undefined(reason, "Raise sample_size." if is_sample else LONGER)
    which = f"drawn by the seed from {which}" if len(queries) == MOST_SEARCHES else which
    caveats.append(f"{len(queries):,} of {n:,} sentences search: {which}.")
    documents_of = np.repeat(np.arange(len(chosen)), list(map(len, chosen)))
    made = Chunks(corpus, words, documents_of, clusters, queries)
    lengths = np.bincount(documents_of)
    full = {size: (lengths // size * size).sum() for size in SIZES}
    sizes = tuple(takewhile(lambda size: size == 1 or full[size] >= LEAST_FULL * n, SIZES))
    cut = tuple(map(made.recut, sizes))
    return replace(made, sizes=sizes, cut=cut, own=cutting, caveats=tuple(caveats))


def name_of(own: Any) -> str:
    """The name of the user's chunks: that of a file, or “memory”; "" where there are none."""
    return str(own or "") if isinstance(own, str | Path | None) else "memory"


def _choose(documents: Sequence[list[str]], experiment: Experiment) -> tuple[list[list[str]], int]:
    """Long texts, drawn by the seed until there are `sample_size` sentences, in their order.

    Also the least sentences of a long text.
    """
    lengths = np.array(list(map(len, documents)), int)
    room = int(lengths.sum()) if experiment.sample_size == "all" else experiment.sample_size
    is_enough = (n for n in LEAST_SENTENCES if lengths[lengths >= n].sum() >= ENOUGH * room)
    least = next(is_enough, LEAST_SENTENCES[-1])
    chosen: list[int] = []
    for place in np.random.RandomState(experiment.seed).permutation(len(documents)):
        if lengths[place] >= least and room > 0:
            chosen.append(place)
            room -= lengths[place]
    last = chosen[-1] if chosen else 0
    cut = [documents[n][: room if n == last and room < 0 else None] for n in sorted(chosen)]
    return cut, least


def _queries(words: Sequence[str], clusters: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """The first sentences of clusters of at least six words, in an order by the seed."""
    firsts = np.unique(clusters, return_index=True)[1]
    long = [place for place in firsts if sentences.n_words(words[place]) >= LEAST_WORDS]
    return np.array(long, np.intp)[np.random.RandomState(seed).permutation(len(long))]


def _own(
    own: Any,
    words: Sequence[str],
    clusters: NDArray[np.intp],
    candidates: NDArray[np.intp],
    texts: Sequence[str],
    root: Path,
    progress: Progress,
) -> tuple[Cutting, NDArray[np.intp], list[str]]:
    """The user's chunks, the sentences that search, and caveats.

    Candidates search of which the chunks hold some. texts: of the corpus, also those not drawn.
    Raises SettingError where they are in no file, or too many, and Undefined where they are few.
    """
    name, is_name = name_of(own), isinstance(own, str | Path)
    if is_name and not corpora.is_file(name):
        reason = f"Your chunks are {quote(name)}, not a file."
        raise SettingError(reason, "Name a .parquet, .jsonl or .csv.")
    view = Experiment(corpus=name, sample_size="all")
    corpus = searches.whole_texts(view, root, IDS, None if is_name else own, progress)
    chunks = list(map(_letters, corpus.table["sentence"].to_pylist()))
    most = min(searches.MOST_TEXTS, limits.number("sample_size"))
    if len(chunks) > most:
        raise SettingError(f"There are {len(chunks):,} chunks.", f"Give at most {most:,.0f}.")
    if len(chunks) < FEWEST_CHUNKS:
        reason = f"You give only {counted(len(chunks), 'chunk')}, and {FEWEST_CHUNKS} are needed."
        raise Undefined(reason, "Cut longer texts, or into shorter chunks.")
    letters, joined = list(map(_letters, words)), "\n".join(chunks)
    size = int(np.clip(np.median(list(map(len, letters))) / 4, *PIECES))
    n_common = np.array(_n_common([letters[n] for n in candidates], joined, size))
    queries = np.sort(candidates[n_common > 1][:MOST_SEARCHES])
    if len(queries) < FEWEST_SEARCHES <= len(candidates):
        reason = f"Your chunks hold only {len(queries)} of the sentences that could search, and "
        raise Undefined(f"{reason}{FEWEST_SEARCHES} are needed.", "Give the chunks of these texts.")
    n_foreign = _n_common(chunks, _letters(" ".join(texts)), size).count(0)
    starts = np.cumsum([0, *(len(chunk) + 1 for chunk in chunks)])
    near, relevant = _members(clusters), []
    for cluster in clusters[queries]:
        places = [at for n in near[cluster] for at in _occurrences(letters[n], joined)]
        relevant.append(np.unique(np.searchsorted(starts, places, "right") - 1))
        progress(len(relevant), len(queries), "sentences")
    n_without = int((n_common < 2).sum())
    counts = {
        f"Sentences of which your chunks hold hardly a piece, left out: {n_without:,}.": n_without,
        f"Your chunks that hold nothing of the texts: {n_foreign:,}.": n_foreign,
    }
    caveats = (*corpus.reading.caveats, *(caveat for caveat, n in counts.items() if n))
    none = np.empty(0)
    return Cutting(corpus, relevant, none.astype(np.intp), none), queries, list(caveats)


def _members(numbers: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The places of each number from 0."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def _letters(text: str) -> str:
    """A text to look for in another: letters and digits alone, without case."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())


def _n_common(texts: Sequence[str], other: str, size: int) -> list[int]:
    """How many of five pieces of each text, of so many letters, another text has.

    Pieces that several texts have count only where a text has hardly others.
    """
    pieces = [
        [text[int(at) : int(at) + size] for at in np.linspace(0, max(len(text) - size, 0), 5)]
        for text in texts
    ]
    n_of = Counter(chain.from_iterable(map(set, pieces)))
    rare = ([piece for piece in some if n_of[piece] == 1] for some in pieces)
    pieces = [some if len(some) > 1 else every for some, every in zip(rare, pieces, strict=True)]
    windows = (other[at : at + size] for at in range(len(other) - size + 1))
    different = set(chain.from_iterable(pieces))
    common = different.intersection(windows)
    common |= {piece for piece in different if 0 < len(piece) < size and piece in other}
    return [sum(piece in common for piece in some) for some in pieces]


def _occurrences(text: str, other: str) -> Iterator[int]:
    """The places in another text where a text, which is not empty, begins."""
    at = other.find(text) if text else -1
    while at >= 0:
        yield at
        at = other.find(text, at + 1)
