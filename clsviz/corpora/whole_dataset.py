"""All sentences of a dataset on the Hub: a file of sentences is kept for each of its files.

Any number of processes on any machines make these files together, one file each at a time.
"""

import contextlib
import hashlib
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import filelock

from clsviz import hub
from clsviz.atomic import mark_used
from clsviz.corpora import kept, segmentation
from clsviz.corpora.catalogue import label
from clsviz.corpora.corpus import Corpus, not_downloaded
from clsviz.corpora.hub_dataset import Split, open_split
from clsviz.corpora.hub_listing import NotKeptError, forget_listing
from clsviz.corpora.whole import Files
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation, printable

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


def _kept_files(split: Split, corpus: Corpus, folder: Path, progress: Progress) -> dict[Path, kept.About]:
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
                if is_ours and kept.about(paths[number]) is None:
                    _keep(split, number, corpus.selection.column, paths[number], progress, cut=cut)
                    is_idle = False
        found = _found(paths)
        if is_idle and len(found) < len(paths):
            waiting = "Other processes are fetching the rest; waiting for them"
            progress.begin(waiting, len(paths), len(found), unit="files")
            time.sleep(_LOOK_SECONDS)
    return found


def _found(paths: Sequence[Path]) -> dict[Path, kept.About]:
    """What is known of those files that are there."""
    abouts = {path: kept.about(path) for path in paths}
    return {path: about for path, about in abouts.items() if about is not None}


def _missing(paths: Sequence[Path], found: Mapping[Path, kept.About]) -> list[int]:
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
    n_before = kept.n_batches_before(unfinished)
    texts = itertools.islice(split.all_texts(number, column, progress), n_before, None)
    sentences = (segmentation.sentences(some, cut=cut) for some in texts)
    kept.keep(sentences, path, columns=[], column=column, cut=cut, unfinished=unfinished, n_before=n_before)
