"""The sample drawn from a corpus."""

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clsviz import corpora
from clsviz.corpora.catalogue import is_on_hub
from clsviz.corpora.corpus import Corpus, not_downloaded
from clsviz.corpora.head import head_of
from clsviz.corpora.hub_dataset import open_split
from clsviz.corpora.hub_listing import NotKeptError
from clsviz.corpora.local import discard, make_corpus
from clsviz.corpora.order import N_SHUFFLED, shuffled
from clsviz.corpora.whole import DamagedFileError, Files, Whole
from clsviz.corpora.whole_dataset import whole_dataset
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL, Segmentation

HEAD = 100_000
"""So many sentences of a whole corpus are in memory, where it has more than can be drawn: as many as are shown."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Sentences of a corpus in random order; a larger sample begins with the smaller one. drawn: how, in words.

    row_groups: of a dataset on the Hub, int64 (n,): equal for sentences of one row group; None where not known.
    rows: of a table of one's own, int64 (n,): the row that each sentence comes from.
    whole: all sentences of the corpus, where they are asked for and too many to be drawn; `sentences` are the first.
    """

    corpus: Corpus
    sentences: list[str]
    drawn: str
    row_groups: NDArray[np.int64] | None = None
    rows: NDArray[np.int64] | None = None
    whole: Whole | None = None

    def head(self, n: int) -> "Sample":
        """The first n sentences."""
        row_groups, rows = (None if of is None else of[:n] for of in (self.row_groups, self.rows))
        return replace(self, sentences=self.sentences[:n], row_groups=row_groups, rows=rows, whole=None)

    @property
    def n_sentences(self) -> int:
        """How many sentences there are to be measured, of which `sentences` may be the first only."""
        return len(self.sentences if self.whole is None else self.whole)

    def read(self, start: int, stop: int) -> list[str]:
        """The sentences at positions from `start` to `stop`; raises CorpusError where they can no longer be read."""
        return self.sentences[start:stop] if self.whole is None else self.whole.read(start, stop)

    @cached_property
    def clusters(self) -> NDArray[np.intp]:
        """The cluster of sentences that are the same or nearly, of each: intp (n,), as `clusters_of` numbers them."""
        clusters: NDArray[np.intp] = corpora.clusters_of(self.sentences)  # through the face: SciPy loads only now
        return clusters

    @property
    def knows_clusters(self) -> bool:
        """Whether the clusters are already computed: with 100,000 sentences that takes seconds."""
        return "clusters" in vars(self)


def find_sample(selection: Selection, size: int, seed: int, folder: Path, progress: Progress) -> Sample:
    """The first `size` sentences of a corpus, or all if there are fewer, in the order that `seed` draws.

    A larger sample with the same seed begins with the smaller one. Uses no network; keeps and raises as `find_corpus`
    does.
    """
    if is_on_hub(selection.corpus):
        return _of_dataset(selection, size, seed, folder, progress, online=False)
    return _local(selection, size, seed, folder, progress)


def fetch_sample(selection: Selection, size: int, seed: int, folder: Path, progress: Progress) -> Sample:
    """The same sample as `find_sample`; what is not yet kept in `folder` is fetched from the Hugging Face Hub."""
    if is_on_hub(selection.corpus):
        return _of_dataset(selection, size, seed, folder, progress, online=True)
    return _local(selection, size, seed, folder, progress)


def _of_dataset(
    selection: Selection, size: int, seed: int, folder: Path, progress: Progress, *, online: bool
) -> Sample:
    if size == ALL:
        for _ in range(2):
            files, corpus = whole_dataset(selection, folder, progress, online=online)
            try:
                return _drawn(files, corpus, ALL, seed)
            except DamagedFileError as damaged:
                damaged.path.unlink(missing_ok=True)  # and fetched again
        raise _not_kept(corpus, folder)
    split, corpus = open_split(selection, folder, progress, online=online)
    cut = corpus.selection.segmentation is Segmentation.SENTENCES
    try:
        found = split.draw(size, seed, corpus.selection.column, progress, cut=cut)
    except NotKeptError:
        raise not_downloaded(selection.corpus) from None
    of_files = f" in {found.n_files:,} of {len(split.files):,} files" if found.n_files < len(split.files) else ""
    conversion = " of the Hub's conversion" if split.is_conversion else ""
    conversion += ", which is of the beginning only," if split.split.startswith("partial-") else ""
    groups = f"{found.n_row_groups:,} of {found.n_row_groups_known:,} row groups{of_files}{conversion}"
    megabytes = f"{found.n_bytes / 1e6:,.1f} of {split.n_bytes / 1e6:,.1f} MB were read"
    drawn = f"from {groups} in random order, each round of them shuffled, seed {seed}; {megabytes}"
    row_groups = None if found.row_groups is None else np.array(found.row_groups, np.int64)
    return Sample(corpus, found.sentences, drawn, row_groups)


def _local(selection: Selection, size: int, seed: int, folder: Path, progress: Progress) -> Sample:
    for _ in range(2):
        path, corpus = make_corpus(selection, folder, progress)
        assert corpus.n_sentences is not None  # since all of them are here
        with contextlib.suppress(DamagedFileError):
            return _drawn(Files([(path, corpus.n_sentences)]), corpus, size, seed)
        discard(path, folder)
    raise _not_kept(corpus, folder)


def _drawn(files: Files, corpus: Corpus, size: int, seed: int) -> Sample:
    """The sample of a corpus of which all sentences are here; raises DamagedFileError."""
    n = files.n_sentences
    if size == ALL and n > N_SHUFFLED:
        drawn = f"all of the corpus, the first {N_SHUFFLED:,} in random order, seed {seed}"
        sentences, rows = head_of(files, corpus, seed, HEAD)
        return Sample(corpus, sentences, drawn, rows=rows, whole=Whole(files, seed))
    sentences, rows = files.taken(shuffled(n, seed)[:size], corpus)
    return Sample(corpus, sentences, f"drawn at random from {n:,}, seed {seed}", rows=rows)


def _not_kept(corpus: Corpus, folder: Path) -> CorpusError:
    return CorpusError(f"{corpus.label} cannot be kept in {folder}. Choose another place for the store.")
