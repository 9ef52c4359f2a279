"""All sentences of a corpus, read a run at a time: more of them than memory may hold.

Of a dataset on the Hub a file of sentences is kept for each of its files. Any number of processes on any machines make
these files together, one file each at a time.
"""

import contextlib
import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from numpy.typing import NDArray

from clsviz.atomic import mark_used
from clsviz.errors import CorpusError, StoreError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation, printable
from clsviz.sources import hub, segmentation, sentence_files
from clsviz.sources.catalogue import Corpus, label, not_downloaded
from clsviz.sources.hub_dataset import Split, open_split
from clsviz.sources.hub_listing import NotKeptError, forget_listing
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


class DamagedFileError(CorpusError):
    """The file of sentences at `path` is damaged, or no longer there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed or deleted while it was being read. Run the same command again.")
        self.path = path


@dataclass(frozen=True)
class Files:
    """Files of sentences as `kept` keeps them, one after the other, with how many each has."""

    paths: Sequence[tuple[Path, int]]

    @property
    def n_sentences(self) -> int:
        """How many they have together."""
        return sum(n for _, n in self.paths)

    def rows(self, numbers: NDArray[np.intp]) -> list[str]:
        """The sentences with these numbers, intp (n,), in this order; raises DamagedFileError."""
        rows: list[str] = self._taken(numbers, sentence_files.rows).tolist()
        return rows

    def rows_of_table(self, numbers: NDArray[np.intp]) -> NDArray[np.int64]:
        """Which row of the table each of these sentences comes from, int64 (n,); raises DamagedFileError."""
        return self._taken(numbers, sentence_files.rows_of_table).astype(np.int64)

    def taken(self, numbers: NDArray[np.intp], corpus: Corpus) -> tuple[list[str], NDArray[np.int64] | None]:
        """`rows`, and `rows_of_table` if the corpus has other columns; raises DamagedFileError."""
        return self.rows(numbers), self.rows_of_table(numbers) if corpus.fields else None

    def _taken(self, numbers: NDArray[np.intp], take: Callable[[Path, NDArray[np.intp]], Any]) -> NDArray[np.object_]:
        found = np.empty(len(numbers), object)
        first = 0
        for path, n in self.paths:
            here = np.flatnonzero((numbers >= first) & (numbers < first + n))
            if len(here):
                taken = take(path, numbers[here] - first)
                if taken is None:
                    raise DamagedFileError(path)
                found[here] = taken
            first += n
        return found

    def beside(self, name: str) -> Path:
        """Where something of that name is kept that was made of them."""
        path, _ = self.paths[0]
        return path.with_name(f"{path.stem}-{name}.parquet")


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
        return first + self._files.rows(self._numbers(max(start, N_SHUFFLED), min(stop, self._n)))

    def _numbers(self, start: int, stop: int) -> NDArray[np.intp]:
        """Which sentences of the corpus are at these positions, all behind the shuffled ones: intp (stop - start,)."""
        rank = np.arange(start, stop) - N_SHUFFLED  # among those that were not shuffled
        return rank + np.searchsorted(self._n_before, rank, side="right")

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
        return self._files.rows(self._order)


def head_of(files: Files, corpus: Corpus, seed: int, n: int) -> tuple[list[str], NDArray[np.int64] | None]:
    """The first n sentences in the order of the seed, and the row of the table that each is from, if it has others.

    They are kept beside the files, and read from there the next time. Raises DamagedFileError.
    """
    path = files.beside(f"head-{short_digest(corpus.fingerprint, str(seed), str(n))[:16]}")
    about = sentence_files.about(path)
    if about is not None and about.n_sentences == n:
        with contextlib.suppress(DamagedFileError):
            head = Files([(path, n)]).taken(np.arange(n), corpus)
            mark_used(path)
            return head
    sentences, rows = files.taken(shuffled(files.n_sentences, seed)[:n], corpus)
    with contextlib.suppress(StoreError):  # it is taken from the files again then
        batch = sentences if rows is None else sentence_files.Numbered(sentences, rows.tolist())
        sentence_files.keep([batch], path, columns=[], column="", cut=False, fields=corpus.fields)
    return sentences, rows


_SCHEMA = 1
"""Increase it when something else is kept of the same file."""

_LOOK_SECONDS = 1.0
"""How often to look whether other processes are done."""


def whole_dataset(selection: Selection, folder: Path, progress: Progress, *, online: bool) -> tuple[Files, Corpus]:
    """Where all sentences of a split are kept, in the order of its files, and what is known of it.

    Its fingerprint is another than that of its samples, whose order is another. Raises NotDownloadedError where some of
    it is missing, unless `online`, CorpusError and CancelledError.
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


def _kept_files(split: Split, corpus: Corpus, folder: Path, progress: Progress) -> dict[Path, sentence_files.About]:
    """The files of sentences, in order, those that are missing made now, unless other processes make them."""
    cut = corpus.selection.segmentation is Segmentation.SENTENCES
    content = json.dumps([_SCHEMA, corpus.selection.column, segmentation.VERSION if cut else ""])
    name = f"whole-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    paths = [folder / split.folder_name / name / f"{number:06}.parquet" for number in range(len(split.files))]
    found = _found(paths)
    if len(found) < len(paths):
        split.check_room(_missing(paths, found))
    while missing := _missing(paths, found):
        is_idle = True
        for number in missing:
            with _claimed(paths[number]) as is_ours:
                if is_ours and sentence_files.about(paths[number]) is None:
                    _keep(split, number, corpus.selection.column, paths[number], progress, cut=cut)
                    is_idle = False
        found = _found(paths)
        if is_idle and len(found) < len(paths):
            waiting = "Other processes are fetching the rest; waiting for them"
            progress.begin(waiting, len(paths), len(found), unit="files")
            time.sleep(_LOOK_SECONDS)
    return found


def _found(paths: Sequence[Path]) -> dict[Path, sentence_files.About]:
    """What is known of those files that are there."""
    abouts = {path: sentence_files.about(path) for path in paths}
    return {path: about for path, about in abouts.items() if about is not None}


def _missing(paths: Sequence[Path], found: Mapping[Path, sentence_files.About]) -> list[int]:
    return [number for number, path in enumerate(paths) if path not in found]


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


def _keep(split: Split, number: int, column: str, path: Path, progress: Progress, *, cut: bool) -> None:
    """Fetch a file, and keep its sentences; those read before a cancellation are not cut a second time."""
    unfinished = path.with_suffix(".unfinished")
    n_before = sentence_files.n_batches_before(unfinished)
    texts = itertools.islice(split.all_texts(number, column, progress), n_before, None)
    sentences = (segmentation.sentences(some, cut=cut) for some in texts)
    sentence_files.keep(sentences, path, columns=[], column=column, cut=cut, unfinished=unfinished, n_before=n_before)
