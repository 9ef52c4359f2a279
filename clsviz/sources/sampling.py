"""Opening a corpus, the sample drawn from it, and what a table has in another column beside its sentences."""

import contextlib
import hashlib
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from numpy.typing import NDArray

from clsviz.atomic import mark_used
from clsviz.errors import CorpusError, StoreError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import ALL, Segmentation, printable, shown
from clsviz.sources import hub, segmentation, tables
from clsviz.sources.catalogue import Corpus, is_on_hub, label, not_downloaded
from clsviz.sources.files import short_values
from clsviz.sources.hub_dataset import Split, open_split
from clsviz.sources.hub_listing import NotKeptError, forget_listing
from clsviz.sources.local_files import (
    About,
    DamagedFileError,
    Numbered,
    discard,
    make_corpus,
    n_batches_before,
    place_of,
    read_about,
    read_column,
    write_sentences,
)
from clsviz.sources.near_duplicates import clusters_of
from clsviz.sources.uploads import short_digest

N_SHUFFLED = 1_000_000
"""So many sentences come first in random order, as the largest sample has them; the others follow as the corpus does.

Sentences that lie together are read together: in random order, each run would have to read the whole file.
"""


def shuffled(n: int, seed: int) -> NDArray[np.intp]:
    """The numbers of the sentences that come in random order, of a corpus of n: intp (at most N_SHUFFLED,).

    All versions of NumPy keep the stream of RandomState, though not that of Generator: what the store holds stays true
    after an upgrade.
    """
    drawn = np.random.RandomState(seed).permutation(n)
    return drawn if n <= N_SHUFFLED else drawn[:N_SHUFFLED].copy()  # not a view, or all of it would stay in memory


def sample_order(n: int, seed: int) -> NDArray[np.intp]:
    """The numbers of all n sentences, from 0, in the order in which a sample takes them: intp (n,)."""
    drawn = shuffled(n, seed)
    is_drawn = np.zeros(n, np.bool_)
    is_drawn[drawn] = True
    return np.concatenate([drawn, np.flatnonzero(~is_drawn)])


@dataclass(frozen=True)
class Files:
    """Files of sentences as `write_sentences` keeps them, one after the other, with how many each has."""

    paths: Sequence[tuple[Path, int]]

    @property
    def n_sentences(self) -> int:
        """How many they have together."""
        return sum(n for _, n in self.paths)

    def taken(self, numbers: NDArray[np.intp], corpus: Corpus) -> tuple[list[str], NDArray[np.int64] | None]:
        """The sentences with these numbers, intp (n,), in this order, and the row of a table that each is from.

        The rows are int64 (n,), or None where the corpus has no other columns. Raises DamagedFileError.
        """
        rows = np.array(self.column(numbers, "row"), np.int64) if corpus.fields else None
        return self.column(numbers, "sentence"), rows

    def column(self, numbers: NDArray[np.intp], name: str) -> list[Any]:
        """Sentences, or their rows, with these numbers; raises DamagedFileError."""
        found, first = np.empty(len(numbers), object), 0
        for path, n in self.paths:
            here = np.flatnonzero((numbers >= first) & (numbers < first + n))
            if len(here):
                found[here] = read_column(path, numbers[here] - first, name)
            first += n
        return list(found.tolist())


class Whole:
    """The sentences of a corpus by their positions, from 0: the first N_SHUFFLED are those of the largest sample."""

    def __init__(self, files: Files, seed: int) -> None:
        """files: where they are kept. seed: of the draw."""
        self._files, self._n, self._seed = files, files.n_sentences, seed

    def __len__(self) -> int:
        return self._n

    def read(self, start: int, stop: int) -> list[str]:
        """The sentences at positions from `start` to `stop`; raises CorpusError where they can no longer be read."""
        first = self._first[start:stop] if start < N_SHUFFLED else []
        if stop <= N_SHUFFLED:
            return first
        rank = np.arange(max(start, N_SHUFFLED), min(stop, self._n)) - N_SHUFFLED  # among those that were not shuffled
        return first + self._files.column(rank + np.searchsorted(self._n_before, rank, side="right"), "sentence")

    @cached_property
    def _n_before(self) -> NDArray[np.intp]:
        """How many sentences that were not shuffled come before each that was, in the order of the corpus."""
        numbers = np.sort(self._order)
        return numbers - np.arange(len(numbers))

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return shuffled(self._n, self._seed)

    @cached_property
    def _first(self) -> list[str]:
        """The shuffled sentences: they lie all over the file, which is read once for all of them."""
        return self._files.column(self._order, "sentence")


def head_of(files: Files, corpus: Corpus, seed: int, n: int) -> tuple[list[str], NDArray[np.int64] | None]:
    """The first n sentences in the order of the seed, and the row of the table that each is from, if it has others.

    They are kept beside the files, and read from there the next time. Raises DamagedFileError.
    """
    first, _ = files.paths[0]
    digest = short_digest(corpus.fingerprint, str(seed), str(n))[:16]
    path = first.with_name(f"{first.stem}-head-{digest}.parquet")
    about = read_about(path)
    if about is not None and about.n_sentences == n:
        with contextlib.suppress(DamagedFileError):
            head = Files([(path, n)]).taken(np.arange(n), corpus)
            mark_used(path)
            return head
    sentences, rows = files.taken(shuffled(files.n_sentences, seed)[:n], corpus)
    with contextlib.suppress(StoreError):  # it is taken from the files again then
        batch = sentences if rows is None else Numbered(sentences, rows.tolist())
        write_sentences([batch], path, lambda: About(fields=corpus.fields))
    return sentences, rows


_SCHEMA = 1
"""Increase it when something else is kept of the same file."""

_LOOK_SECONDS = 1.0
"""How often to look whether other processes are done."""


def whole_dataset(selection: Selection, folder: Path, progress: Progress, *, online: bool) -> tuple[Files, Corpus]:
    """Where all sentences of a split are kept, in the order of its files, and what is known of it.

    Of each of its files a file of sentences is kept. Any number of processes on any machines make these together, one
    each at a time. The fingerprint is another than that of samples, whose order is another. Raises NotDownloadedError
    where some of it is missing, unless `online`, CorpusError and CancelledError.
    """
    split, corpus = open_split(selection, folder, progress, online=online)
    try:
        found = _kept_files(split, corpus, folder, progress)
    except NotKeptError:
        raise not_downloaded(selection.corpus) from None
    except hub.NoRevisionError:
        base, _, revision = selection.corpus.partition("@")
        if hub.COMMIT.fullmatch(revision):
            raise
        forget_listing(folder, split.repo, revision)
        raise CorpusError(
            f"{label(base)} was changed on the Hugging Face Hub while it was being fetched, and what was begun is no "
            "longer there. Run the same again to fetch it as it is now."
        ) from None
    for path in found:
        mark_used(path)
    files = Files([(path, about.n_sentences) for path, about in found.items()])
    if not files.n_sentences:
        column = printable(corpus.selection.column)
        raise CorpusError(f"{split.repo} holds no text in “{column}”. Choose another column.")
    content = json.dumps([_SCHEMA, [about.fingerprint for about in found.values()]])
    fingerprint = hashlib.sha256(content.encode()).hexdigest()
    # Where in which row group a sentence is from is not kept, so no other column is found beside it.
    return files, replace(corpus, fingerprint=fingerprint, n_sentences=files.n_sentences, fields=())


def _kept_files(split: Split, corpus: Corpus, folder: Path, progress: Progress) -> dict[Path, About]:
    """The files of sentences, in order, those that are missing made now, unless other processes make them."""
    column, cut = corpus.selection.column, corpus.selection.segmentation is Segmentation.SENTENCES
    content = json.dumps([_SCHEMA, column, segmentation.VERSION if cut else ""])
    name = f"whole-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    names = [f"{split.folder_name}/{name}/{number:06}.parquet" for number in range(len(split.files))]
    paths = [folder / name for name in names]
    is_first_look, is_idle = True, False
    while True:
        abouts = {path: read_about(path, name) for path, name in zip(paths, names, strict=True)}
        found = {path: about for path, about in abouts.items() if about is not None}
        missing = [number for number, path in enumerate(paths) if path not in found]
        if not missing:
            return found
        if is_first_look:
            split.reader.check_room(missing)
        elif is_idle:
            waiting = "Other processes are fetching the rest; waiting for them"
            progress.begin(waiting, len(paths), len(found), unit="files")
            time.sleep(_LOOK_SECONDS)
        is_first_look, is_idle = False, True
        for number in missing:
            with _claimed(paths[number]) as is_ours:
                path, name = paths[number], names[number]
                if is_ours and read_about(path, name) is None:
                    n_before = n_batches_before(path, name)  # what was cut before a cancellation is not cut again
                    texts = itertools.islice(split.reader.all_texts(number, column, progress), n_before, None)
                    sentences = (segmentation.sentences(some, cut=cut) for some in texts)
                    about = partial(About, column=column, cut=cut)
                    write_sentences(sentences, path, about, name=name, n_before=n_before)
                    is_idle = False


@contextlib.contextmanager
def _claimed(path: Path) -> Iterator[bool]:
    """Whether this process may make a file. Where the file system has no locks, several may make the same."""
    lock = filelock.FileLock(path.with_suffix(".lock"), timeout=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except filelock.Timeout:
        yield False
        return
    except (OSError, NotImplementedError):
        yield True  # and whether the place can be written shows when it is
        return
    try:
        yield True
    finally:
        lock.release()


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

    def learn_clusters(self, clusters: NDArray[np.intp]) -> None:
        """Take them as they were once computed."""
        vars(self)["clusters"] = clusters


def find_sample(
    selection: Selection, size: int, seed: int, folder: Path, progress: Progress, *, online: bool = False
) -> Sample:
    """The first `size` sentences of a corpus, or all if there are fewer, in the order that `seed` draws.

    A larger sample with the same seed begins with the smaller one. Keeps and raises as `find_corpus` does. online:
    whether what is not yet kept in `folder` is fetched from the Hugging Face Hub.
    """
    is_remote = is_on_hub(selection.corpus)
    if is_remote and size != ALL:
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
        return Sample(corpus, found.sentences, drawn, np.array(found.row_groups, np.int64))
    for _ in range(2):
        if is_remote:
            files, corpus = whole_dataset(selection, folder, progress, online=online)
        else:
            path, corpus = make_corpus(selection, folder, progress)
            assert corpus.n_sentences is not None  # since all of them are here
            files = Files([(path, corpus.n_sentences)])
        n = files.n_sentences
        try:
            if size == ALL and n > N_SHUFFLED:
                drawn = f"all of the corpus, the first {N_SHUFFLED:,} in random order, seed {seed}"
                sentences, rows = head_of(files, corpus, seed, HEAD)
                return Sample(corpus, sentences, drawn, rows=rows, whole=Whole(files, seed))
            sentences, rows = files.taken(shuffled(n, seed)[:size], corpus)
            return Sample(corpus, sentences, f"drawn at random from {n:,}, seed {seed}", rows=rows)
        except DamagedFileError as damaged:
            discard(damaged.path, folder)  # and made again
    raise CorpusError(f"{corpus.label} cannot be kept in {folder}. Choose another place for the store.")


def find_corpus(
    selection: Selection, folder: Path, progress: Progress, size: int = 0, *, online: bool = False
) -> Corpus:
    """The corpus; a local one that has to be built first is, and is kept in `folder`.

    size: of the sample that it is for: ALL of a dataset on the Hub is another corpus than its samples are of. online:
    whether what is not yet kept of a dataset is fetched: not its sentences, but what its files say of themselves, and
    its first texts. Raises NotDownloadedError where the Hugging Face Hub would have to be asked, CorpusError where
    there is no such corpus or it cannot be read, and CancelledError as soon as `progress` is told to stop.
    """
    if not is_on_hub(selection.corpus):
        return make_corpus(selection, folder, progress)[1]
    return (whole_dataset if size == ALL else open_split)(selection, folder, progress, online=online)[1]


def values_beside(
    sample: Sample, selection: Selection, seed: int, field: str, folder: Path, progress: Progress
) -> list[str | None]:
    """What is in the column `field` of the table beside each of the n sentences; None where it is blank.

    selection, seed: by which the sample was drawn. A file is gone through once. Of a dataset on the Hub the column is
    fetched of the row groups that were drawn, and kept in `folder`. Raises CorpusError if the table has no such column,
    is another one by now, or cannot be reached.
    """
    name = printable(sample.corpus.label)
    if field not in sample.corpus.fields:
        raise CorpusError(f"{name} has no other column “{shown(field)}” to colour by.")
    if is_on_hub(selection.corpus):
        split, corpus = open_split(selection, folder, progress, online=True)
    else:
        split, corpus = None, make_corpus(selection, folder, progress)[1]
    if corpus.fingerprint != sample.corpus.fingerprint:
        raise CorpusError(f"{name} has changed since its sentences were read. Load the page again.")
    if split is not None:
        cut = corpus.selection.segmentation is Segmentation.SENTENCES
        return split.values(field, len(sample.sentences), seed, corpus.selection.column, progress, cut=cut)
    file, file_name = place_of(selection, folder)
    assert sample.rows is not None  # of a corpus with fields
    rows, places = np.unique(sample.rows, return_inverse=True)
    found = np.full(len(rows), None, object)
    n_before = 0
    for cells in tables.open_table(file, file_name, reading=selection.reading).cells(field):
        progress.check()
        values = short_values(cells)
        start, stop = np.searchsorted(rows, [n_before, n_before + len(values)])
        found[start:stop] = [values[row - n_before] for row in rows[start:stop].tolist()]
        n_before += len(values)
        if stop == len(rows):
            break
    return list(found[places].tolist())
