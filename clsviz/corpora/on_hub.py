"""Corpora that are datasets on the Hugging Face Hub."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from clsviz import hub
from clsviz.corpora import datasets, segmentation
from clsviz.corpora.catalogue import CORPORA, Dataset, label, resembles_upload
from clsviz.corpora.corpus import Corpus, not_downloaded, refuse_reading
from clsviz.corpora.uploads import not_here
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Segmentation, printable

_SENTENCE_BYTES = 100
"""About how long a sentence of running text is."""


def open_split(selection: Selection, source: "datasets.Offline", progress: Progress) -> "tuple[datasets.Split, Corpus]":
    """The split that the user selected, or the dataset's default, and what is known of it.

    Raises NotDownloadedError where `source` does not have it, CorpusError and CancelledError.
    """
    if resembles_upload(selection.corpus):
        raise not_here(selection.corpus)
    try:
        return _opened(selection, source, progress)
    except datasets.NotKeptError:
        raise not_downloaded(selection.corpus) from None


def _opened(selection: Selection, source: "datasets.Offline", progress: Progress) -> "tuple[datasets.Split, Corpus]":
    refuse_reading(selection)
    base, _, revision = selection.corpus.partition("@")
    entry = CORPORA.get(base)
    repo = entry.repo if isinstance(entry, Dataset) else base
    try:
        listing = source.listing(repo, revision, progress)
    except CorpusError as error:
        raise CorpusError(f"{error}{hub.suggestion(base, CORPORA)}") from error
    if isinstance(entry, Dataset):
        selection = _with_defaults(selection, entry, listing)
    split = source.split(listing, selection.configuration, selection.split)
    columns = split.columns(progress)
    column = selection.column or _default_column(columns, entry.column if isinstance(entry, Dataset) else "")
    if column not in columns:
        raise CorpusError(
            f"{repo} has no column “{printable(column)}” that holds text. Choose {datasets.listed(columns)}."
        )
    cut, n_about = selection.segmentation, split.n_texts_about(progress)
    if cut is Segmentation.AUTO:
        cut = segmentation.chosen_for(split.mean_characters(column, progress))
    if cut is Segmentation.SENTENCES:
        n_about = round(n_about * max(1.0, columns[column] / _SENTENCE_BYTES))
    version = segmentation.VERSION if cut is Segmentation.SENTENCES else ""
    corpus = Corpus(
        Selection(selection.corpus, split.configuration, split.split, column, cut),
        label(selection.corpus),
        hashlib.sha256(json.dumps([split.fingerprint, column, version, datasets.DRAWING]).encode()).hexdigest(),
        None,
        f"{base}@{listing.commit}",
        tuple(listing.splits),
        tuple(listing.splits[split.configuration]),
        tuple(columns),
        fields=tuple(field for field in split.fields(progress) if field != column),
        n_bytes=split.n_bytes,
        n_about=n_about,
    )
    return split, corpus


def _with_defaults(selection: Selection, entry: Dataset, listing: "datasets.Listing") -> Selection:
    """The selection with what the catalogue says for what the user left open, as far as the dataset has it."""
    configuration = selection.configuration
    if not configuration and entry.configuration in listing.splits:
        configuration = entry.configuration
    split = selection.split
    if not split and entry.split in listing.splits.get(configuration or listing.default, {}):
        split = entry.split
    return replace(selection, configuration=configuration, split=split)


def _default_column(columns: Iterable[str], catalogued: str) -> str:
    """The catalogue's column if the dataset has it, else the likeliest, which comes first."""
    return catalogued if catalogued in columns else next(iter(columns))
