"""Opening a corpus, the sample drawn from it, and what a table has in another column beside its sentences."""

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL, Segmentation, printable, shown
from clsviz.sources import files
from clsviz.sources.catalogue import Corpus, is_on_hub, not_downloaded
from clsviz.sources.hub_dataset import open_split
from clsviz.sources.hub_listing import NotKeptError
from clsviz.sources.local_files import discard, make_corpus, place_of
from clsviz.sources.near_duplicates import clusters_of
from clsviz.sources.whole_corpus import N_SHUFFLED, DamagedFileError, Files, Whole, head_of, shuffled, whole_dataset

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
        return clusters_of(self.sentences)

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


def find_corpus(selection: Selection, folder: Path, progress: Progress, size: int = 0) -> Corpus:
    """The corpus, without using the network; a local one that has to be built first is, and is kept in `folder`.

    size: of the sample that it is for: ALL of a dataset on the Hub is another corpus than its samples are of. Raises
    NotDownloadedError where the Hugging Face Hub would have to be asked, CorpusError where there is no such corpus or
    it cannot be read, and CancelledError as soon as `progress` is told to stop.
    """
    if is_on_hub(selection.corpus):
        if size == ALL:
            return whole_dataset(selection, folder, progress, online=False)[1]
        return open_split(selection, folder, progress, online=False)[1]
    return make_corpus(selection, folder, progress)[1]


def fetch_corpus(selection: Selection, folder: Path, progress: Progress) -> Corpus:
    """The corpus, as `find_corpus` gives it; what is not yet kept in `folder` is fetched from the Hugging Face Hub.

    Of a dataset there, that is not its sentences: only what its files say of themselves, and its first texts.
    """
    if is_on_hub(selection.corpus):
        return open_split(selection, folder, progress, online=True)[1]
    return make_corpus(selection, folder, progress)[1]


def values_beside(
    sample: Sample, selection: Selection, seed: int, field: str, folder: Path, progress: Progress
) -> list[str | None]:
    """What is in the column `field` of the table beside each of the n sentences; None where it is blank.

    selection, seed: by which the sample was drawn. A file is gone through once. Of a dataset on the Hub the column is
    fetched of the row groups that were drawn, and kept in `folder`. Raises CorpusError if the table has no such column,
    is another one by now, or cannot be reached.
    """
    if field not in sample.corpus.fields:
        raise CorpusError(f"{printable(sample.corpus.label)} has no other column “{shown(field)}” to colour by.")
    if is_on_hub(selection.corpus):
        return _on_hub(sample, selection, seed, field, folder, progress)
    return _in_file(sample, selection, field, folder, progress)


def _in_file(sample: Sample, selection: Selection, field: str, folder: Path, progress: Progress) -> list[str | None]:
    _refuse_another(make_corpus(selection, folder, progress)[1].fingerprint, sample)
    file, name = place_of(selection, folder)
    assert sample.rows is not None  # of a corpus with fields
    rows, places = np.unique(sample.rows, return_inverse=True)
    found = np.full(len(rows), None, object)
    n_before = 0
    for values in files.open_table(file, name, reading=selection.reading).values(field):
        progress.check()
        start, stop = np.searchsorted(rows, [n_before, n_before + len(values)])
        found[start:stop] = [values[row - n_before] for row in rows[start:stop].tolist()]
        n_before += len(values)
        if stop == len(rows):
            break
    return list(found[places].tolist())


def _on_hub(
    sample: Sample, selection: Selection, seed: int, field: str, folder: Path, progress: Progress
) -> list[str | None]:
    split, corpus = open_split(selection, folder, progress, online=True)
    _refuse_another(corpus.fingerprint, sample)
    cut = corpus.selection.segmentation is Segmentation.SENTENCES
    return split.values(field, len(sample.sentences), seed, corpus.selection.column, progress, cut=cut)


def _refuse_another(fingerprint: str, sample: Sample) -> None:
    """Raise CorpusError if the table is no longer that of the sample."""
    if fingerprint != sample.corpus.fingerprint:
        raise CorpusError(
            f"{printable(sample.corpus.label)} has changed since its sentences were read. Load the page again."
        )
