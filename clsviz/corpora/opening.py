"""A corpus as it was opened, with everything that was left open decided."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from clsviz import hub
from clsviz.atomic import sha256
from clsviz.corpora import datasets, docstrings, formats, kept, segmentation
from clsviz.corpora.catalogue import CORPORA, Dataset, Source, is_built_in, is_on_hub, is_upload, label
from clsviz.corpora.uploads import short_digest, upload_label, upload_name
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation, printable

_SCHEMA = 1
"""Raise it when the sentences kept of the same file change."""


@dataclass(frozen=True)
class Corpus:
    """A corpus as it was opened.

    selection: with everything that it left open decided. pinned: its name with the commit, where it has one.
    fingerprint: SHA-256 in hexadecimal of its sentences, or of what they are made of where not all are here.
    n_sentences: of the whole corpus, or None where that is not known.
    configurations, splits, columns: what could be chosen instead.
    """

    selection: Selection
    label: str
    fingerprint: str
    n_sentences: int | None
    pinned: str
    configurations: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class NotDownloadedError(CorpusError):
    """The sentences are on the Hugging Face Hub, and not yet on this machine."""


def open_corpus(selection: Selection, folder: Path, progress: Progress, *, download: bool) -> Corpus:
    """The corpus, with what was left open decided; what had to be made or fetched for that is kept in `folder`.

    The network is used only with `download`, and only for what is not kept; where it would be needed without,
    NotDownloadedError is raised. Raises CorpusError where there is no such corpus or it cannot be read, and
    CancelledError as soon as `progress` is asked to stop.
    """
    if is_on_hub(selection.corpus):
        return open_split(selection, folder, progress, download)[1]
    return make_corpus(selection, folder, progress)[1]


def build_seconds(name: str, folder: Path) -> float:
    """About how long it takes to make a corpus of the catalogue; 0 where that was done or is quick."""
    source = CORPORA.get(name)
    if not isinstance(source, Source) or os.path.exists(_source_path(name, source, folder)):
        return 0
    return source.build_seconds


def open_split(selection: Selection, folder: Path, progress: Progress, download: bool) -> tuple[datasets.Split, Corpus]:
    """A split of a dataset of the Hub, and what is known of it."""
    base, _, revision = selection.corpus.partition("@")
    entry = CORPORA.get(base)
    repo = entry.repo if isinstance(entry, Dataset) else base
    try:
        listing = datasets.open_listing(repo, revision, folder, progress, download=download)
    except CorpusError as error:
        raise CorpusError(f"{error}{hub.suggestion(base, CORPORA)}") from error
    if listing is None:
        raise not_downloaded(selection.corpus)
    wanted = selection
    if isinstance(entry, Dataset):  # what the catalogue says, as far as the dataset has it
        configuration = selection.configuration or (
            entry.configuration if entry.configuration in listing.splits else ""
        )
        splits = listing.splits.get(configuration or listing.default, {})
        wanted = replace(
            selection,
            configuration=configuration,
            split=selection.split or (entry.split if entry.split in splits else ""),
        )
    split = datasets.Split(listing, wanted.configuration, wanted.split, folder)
    columns = split.columns(progress, download=download)
    if columns is None:
        raise not_downloaded(selection.corpus)
    column = selection.column
    if not column:
        column = entry.column if isinstance(entry, Dataset) and entry.column in columns else next(iter(columns))
    if column not in columns:
        raise CorpusError(
            f"{repo} has no column “{printable(column)}” that holds text. Choose {datasets.listed(columns)}."
        )
    n_characters = None
    if selection.segmentation is Segmentation.AUTO:
        n_characters = split.mean_characters(column, progress, download=download)
        if n_characters is None:
            raise not_downloaded(selection.corpus)
    cut = _is_cut(selection.segmentation, n_characters or 0)
    decided = Selection(selection.corpus, split.configuration, split.split, column, cut)
    version = segmentation.VERSION if cut is Segmentation.SENTENCES else ""
    corpus = Corpus(
        decided,
        label(selection.corpus),
        hashlib.sha256(json.dumps([split.fingerprint, column, version, datasets.DRAWING]).encode()).hexdigest(),
        None,
        f"{base}@{listing.commit}",
        tuple(listing.splits),
        tuple(listing.splits[split.configuration]),
        tuple(columns),
    )
    return split, corpus


def not_downloaded(name: str) -> NotDownloadedError:
    return NotDownloadedError(f"{label(name)} has to be read from the Hugging Face Hub first.")


def make_corpus(selection: Selection, folder: Path, progress: Progress) -> tuple[Path, Corpus]:
    """The file of a corpus's sentences, made if need be, and what is known of it."""
    name = selection.corpus
    source = CORPORA.get(name)
    if is_built_in(name.partition("@")[0]) and "@" in name:
        raise CorpusError(f"{label(name)} is of this machine and has no revisions. Leave out what follows the @.")
    for setting in ("configuration", "split", "column") if source else ("configuration", "split"):
        if value := getattr(selection, setting):
            raise CorpusError(f"{label(name)} has no {setting} “{printable(value)}”. Leave that setting out.")
    if isinstance(source, Source):
        path, made_label = _source_path(name, source, folder), source.label
        about = kept.about(path)
        if about is None:
            sentences = docstrings.gather(source.files(), progress)
            if not sentences:
                raise CorpusError(f"No docstrings were found for “{name}”: this Python comes without its sources.")
            about = kept.keep([sentences], path, columns=[], column="", cut=False)
    else:
        file = folder / name if is_upload(name) else Path(os.path.expanduser(name))
        made_label = upload_label(name, folder) if is_upload(name) else file.name
        path, about = _made_of_file(selection, file, made_label, folder, progress)
    cut = Segmentation.SENTENCES if about.cut else Segmentation.NONE
    decided = replace(selection, column=about.column, segmentation=cut)
    return path, Corpus(decided, made_label, about.fingerprint, about.n_sentences, name, columns=tuple(about.columns))


def _made_of_file(
    selection: Selection, file: Path, name: str, folder: Path, progress: Progress
) -> tuple[Path, kept.About]:
    progress.begin(f"Reading {printable(name)}")
    formats.check(file, name)
    digest, suffix = _digest_of(file), formats.suffix(name)
    if is_upload(selection.corpus) and selection.corpus != upload_name(digest, suffix):
        raise CorpusError(f"The file kept of the upload {printable(name)} is damaged. Upload it again.")
    wanted = (digest, suffix, selection.column, selection.segmentation.value)
    path = folder / f"file-{short_digest(*wanted, segmentation.VERSION, str(_SCHEMA))}.parquet"
    about = kept.about(path)
    if about is None:
        table = formats.open_table(file, name)
        batches = table.texts(selection.column)
        first = next(batches)
        cut = _is_cut(selection.segmentation, sum(map(len, first)) / len(first)) is Segmentation.SENTENCES

        def sentences() -> Iterator[list[str]]:
            for texts in itertools.chain([first], batches):
                progress.check()
                yield segmentation.sentences(texts, cut=cut)

        column = selection.column or next(iter(table.columns), "")
        about = kept.keep(sentences(), path, columns=list(table.columns), column=column, cut=cut)
    if not about.n_sentences:
        raise CorpusError(
            f"{printable(name)} holds no sentence of up to {segmentation.MAX_CHARACTERS:,} characters. Choose to cut "
            "its texts into sentences, or another file."
        )
    return path, about


def _is_cut(asked: Segmentation, mean_characters: float) -> Segmentation:
    """What of texts of this mean length counts as a sentence."""
    if asked is not Segmentation.AUTO:
        return asked
    return Segmentation.SENTENCES if mean_characters > segmentation.LONG_TEXT else Segmentation.NONE


def _source_path(name: str, source: Source, folder: Path) -> Path:
    return folder / f"{name}-{short_digest(str(docstrings.SCHEMA), source.version())[:16]}.parquet"


def _digest_of(path: Path) -> str:
    """SHA-256 of a file; raises CorpusError where it cannot be read."""
    try:
        return sha256(path)
    except OSError as error:
        raise CorpusError(f"{printable(path.name)} cannot be read: {error.strerror}. Make it readable.") from None
