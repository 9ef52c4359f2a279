"""Texts cut into chunks of several sizes, and sentences that search for the chunk they are in."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import Undefined, quote
from clsviz.progress import Progress, silent
from clsviz.settings import Experiment
from clsviz.sources import copies, searches, sentences
from clsviz.sources.corpora import Corpus, caveats_on
from clsviz.sources.judgements import IDS
from clsviz.sources.near_duplicates import near_duplicates
from clsviz.sources.sampling import Sample

SIZES: Final = (1, 2, 3, 5, 8, 12, 20, 30)  # sentences of a chunk

LEAST_FULL: Final = 0.5
"""Share of the sentences that stand in a full chunk, at least, where a size is tried."""

LEAST_WORDS: Final = 6
"""Words of a sentence that searches: shorter ones are said in many texts."""

MOST_SEARCHES, FEWEST_SEARCHES = 500, 100

STEP: Final = 100  # texts that are cut at a time
LONGER: Final = "Give longer texts, such as a book, or choose python-api."

ENOUGH: Final = 5 / 6
"""Share of a sample that long texts have, at least, where shorter texts are left out."""

LEAST_SENTENCES: Final = (12, 8, 5, 2)
"""Sentences of a long text: the first number that gives enough of them, else the last."""


@dataclass(frozen=True, eq=False)
class Chunks:
    """Texts cut into chunks of several sizes, and the sentences that search for theirs.

    sizes: sentences of a chunk; the first is 1. cut: the chunks of each size, in order.
    owners: intp (n_sizes, n_sentences), the chunk that each sentence is in. positions: float64
    (n_sizes, n_sentences), the place of its middle in the chunk, from 0 to 1. clusters: intp
    (n_sentences,), of near-duplicates. queries: intp (n_searches,), the sentences that search, none
    of them near to another. caveats: sentences.
    """

    texts: Corpus
    sizes: tuple[int, ...]
    cut: tuple[Corpus, ...]
    owners: NDArray[np.intp]
    positions: NDArray[np.float64]
    clusters: NDArray[np.intp]
    queries: NDArray[np.intp]
    caveats: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Of the chunks and of what searches."""
        return copies.digest([corpus.fingerprint for corpus in self.cut], self.queries.tolist())

    @property
    def n_chunks(self) -> int:
        """Chunks of all sizes."""
        return sum(corpus.table.num_rows for corpus in self.cut)

    def sample(self, place: int) -> Sample:
        """All chunks of a size."""
        return Sample(self.cut[place], 0, np.arange(self.cut[place].table.num_rows))

    def relevant(self, place: int) -> list[NDArray[np.intp]]:
        """For each search, the chunks of a size with its sentence or a near-duplicate of it."""
        order = np.argsort(self.clusters, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(self.clusters[order])) + 1)
        owners = self.owners[place]
        return [np.unique(owners[members[cluster]]) for cluster in self.clusters[self.queries]]


def find(
    experiment: Experiment, root: Path, texts: Any = None, progress: Progress = silent
) -> Chunks:
    """The chunks of a corpus: a text file is one text, each row of a table is one.

    texts: in memory, in the place of the corpus. Of `sample_size` sentences, those of a text file
    are its first, and those of a table are of texts that the seed draws.
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
        where = f"of {len(chosen):,} of {len(rows):,} texts, none of under {least} sentences"
        where = "the first ones" if is_one_text else where
        caveats.append(f"{n:,} of {n_all:,} sentences are cut into chunks: {where}.")
    clusters = near_duplicates(list(chain.from_iterable(chosen)))
    queries = _queries(chosen, clusters, experiment.seed)
    which = f"different ones of at least {LEAST_WORDS} words"
    if len(queries) < FEWEST_SEARCHES:
        is_sample = n < n_all and n == experiment.sample_size
        reason = f"Only {len(queries):,} of {n if is_sample else n_all:,} sentences of "
        reason += f"{quote(corpus.label)} can search, and {FEWEST_SEARCHES} are needed: {which}, "
        reason += "in texts of several."
        raise Undefined(reason, "Raise sample_size." if is_sample else LONGER)
    which = f"drawn by the seed from {which}" if len(queries) == MOST_SEARCHES else which
    caveats.append(f"{len(queries):,} of {n:,} sentences search: {which}.")
    sizes, cut, owners, positions = [], [], [], []
    for size in SIZES:
        starts = [(document, at) for document in chosen for at in range(0, len(document), size)]
        chunks = [document[at : at + size] for document, at in starts]
        lengths = np.array(list(map(len, chunks)))
        if size > 1 and lengths[lengths == size].sum() < LEAST_FULL * n:
            break
        sizes.append(size)
        cut.append(searches.corpus_of(corpus, f"chunks of {size}", list(map(" ".join, chunks))))
        owners.append(np.repeat(np.arange(len(chunks)), lengths))
        within = np.concatenate([np.arange(length) for length in lengths])
        positions.append((within + 0.5) / np.repeat(lengths, lengths))
    arrays = np.stack(owners), np.stack(positions), clusters, queries
    return Chunks(corpus, tuple(sizes), tuple(cut), *arrays, tuple(caveats))


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


def _queries(
    documents: Sequence[list[str]], clusters: NDArray[np.intp], seed: int
) -> NDArray[np.intp]:
    """The first sentences of clusters drawn by the seed, of at least six words, in order."""
    texts = list(chain.from_iterable(documents))
    firsts = np.unique(clusters, return_index=True)[1]
    long = [place for place in firsts if sentences.n_words(texts[place]) >= LEAST_WORDS]
    order = np.random.RandomState(seed).permutation(len(long))[:MOST_SEARCHES]
    return np.sort(np.array(long, np.intp)[order])
