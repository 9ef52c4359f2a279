"""Where sentences come from: the corpus catalogue, files, datasets of the Hub, and the sample drawn from them.

Whatever is on this machine is turned into a file of sentences first, of which any sample can be drawn at once.
"""

import functools
import hashlib
import importlib.metadata
import io
import itertools
import json
import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clsviz import docstrings, hub, hub_datasets, hub_listings, segmentation, sentence_files, tables
from clsviz.errors import CorpusError
from clsviz.experiment import Segmentation, Selection, printable
from clsviz.files import new_file, sha256
from clsviz.progress import Progress

_TYPICAL = 5, 60
"""Megabytes read over the network for the smallest sample of a dataset, and bytes for every sentence of any."""
_SCHEMA = 1
"""Raise it when the sentences kept of the same file change."""
_UPLOAD = re.compile(r"upload-[0-9a-f]{32}")


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


@dataclass(frozen=True, eq=False)
class Sample:
    """Sentences of a corpus in random order; a larger sample begins with a smaller one. drawn: how, in words."""

    corpus: Corpus
    sentences: list[str]
    drawn: str


@dataclass(frozen=True)
class Source:
    """An entry of the corpus catalogue that is made of docstrings.

    files: lists the Python files whose docstrings are the corpus.
    version: changes whenever the corpus may have.
    build_seconds: about how long it takes to build, on a machine of two cores.
    """

    label: str
    description: str
    files: Callable[[], list[str]]
    version: Callable[[], str]
    build_seconds: float


@dataclass(frozen=True)
class Dataset:
    """An entry of the corpus catalogue that is on the Hugging Face Hub.

    megabytes, bytes_per_sentence: about how much is read over the network for the smallest sample, and for every
        sentence of any.
    """

    label: str
    description: str
    repo: str
    configuration: str
    split: str
    column: str
    megabytes: int
    bytes_per_sentence: int


def _standard_library() -> list[str]:
    return docstrings.python_files(sysconfig.get_path("stdlib"))


def _installed_packages() -> list[str]:
    roots = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    return _standard_library() + [path for root in roots for path in docstrings.python_files(root)]


@functools.cache  # hundreds of files to read, and what is installed stays so while a program runs
def _package_versions() -> str:
    return "\n".join(sorted({f"{package.name} {package.version}" for package in importlib.metadata.distributions()}))


CORPORA: dict[str, Source | Dataset] = {
    "python-docs": Source(
        "Python documentation",
        "English sentences from the docstrings of Python's standard library, as installed here.",
        _standard_library,
        lambda: sys.version,
        build_seconds=2,
    ),
    "package-docs": Source(
        "Package documentation",
        "English sentences from the docstrings of Python's standard library and of every package installed here.",
        _installed_packages,
        lambda: sys.version + _package_versions(),
        build_seconds=30,
    ),
    "bookcorpus": Dataset(
        "BookCorpus",
        "Sentences of unpublished novels: the corpus of the original experiment, and what BERT was trained on.",
        *("bookcorpus/bookcorpus", "plain_text", "train", "text"),
        megabytes=12,
        bytes_per_sentence=40,
    ),
    "wikitext": Dataset(
        "WikiText-103",
        "Sentences of good and featured articles of the English Wikipedia.",
        *("Salesforce/wikitext", "wikitext-103-raw-v1", "train", "text"),
        megabytes=20,
        bytes_per_sentence=60,
    ),
    "ag-news": Dataset(
        "AG News",
        "Sentences of news items.",
        *("fancyzhx/ag_news", "default", "train", "text"),
        megabytes=5,
        bytes_per_sentence=60,
    ),
    "imdb": Dataset(
        "IMDb reviews",
        "Sentences of film reviews.",
        *("stanfordnlp/imdb", "plain_text", "train", "text"),
        megabytes=21,
        bytes_per_sentence=10,
    ),
    "snli": Dataset(
        "SNLI premises",
        "Captions of photographs, as the premises of the SNLI corpus. Most occur three times.",
        *("stanfordnlp/snli", "plain_text", "train", "premise"),
        megabytes=3,
        bytes_per_sentence=20,
    ),
}
"""The corpus catalogue. The first two need no network."""


class NotDownloadedError(CorpusError):
    """The sentences are on the Hugging Face Hub, and not yet on this machine."""


def open_corpus(selection: Selection, folder: Path, progress: Progress, *, download: bool) -> Corpus:
    """The corpus, with what was left open decided; what had to be made or fetched for that is kept in `folder`.

    The network is used only with `download`, and only for what is not kept; where it would be needed without,
    NotDownloadedError is raised. Raises CorpusError where there is no such corpus or it cannot be read, and
    CancelledError as soon as `progress` is asked to stop.
    """
    if is_on_hub(selection.corpus):
        return _open_split(selection, folder, progress, download)[1]
    return _made(selection, folder, progress)[1]


def draw(selection: Selection, size: int, seed: int, folder: Path, progress: Progress, *, download: bool) -> Sample:
    """The first `size` sentences of a corpus, or all if there are fewer, in the order that `seed` draws.

    A larger sample of the same seed begins with the smaller one. Keeps, fetches and raises as `open_corpus` does.
    """
    if is_on_hub(selection.corpus):
        split, corpus = _open_split(selection, folder, progress, download)
        cut = corpus.selection.segmentation is Segmentation.SENTENCES
        found = split.draw(size, seed, corpus.selection.column, progress, cut=cut, download=download)
        if found is None:
            raise _not_downloaded(selection.corpus)
        files = f" in {found.n_files:,} of {len(split.files):,} files" if found.n_files < len(split.files) else ""
        source = " of the Hub's conversion" if split.is_conversion else ""
        source += ", which is of the beginning only," if split.split.startswith("partial-") else ""
        groups = f"{found.n_row_groups:,} of {found.n_row_groups_known:,} row groups{files}{source}"
        megabytes = f"{found.n_bytes / 1e6:,.1f} of {split.n_bytes / 1e6:,.1f} MB were read"
        drawn = f"from {groups} in random order, each round of them shuffled, seed {seed}; {megabytes}"
        return Sample(corpus, found.sentences, drawn)
    for _ in range(2):
        path, corpus = _made(selection, folder, progress)
        assert corpus.n_sentences is not None  # as they are all here
        # NumPy keeps the stream of RandomState the same in all its versions, which it does not of Generator: what the
        # store holds stays true after an upgrade.
        order = np.random.RandomState(seed).permutation(corpus.n_sentences)[:size]
        sentences = sentence_files.rows(path, order)
        if sentences is not None:
            return Sample(corpus, sentences, f"drawn at random from {corpus.n_sentences:,}, seed {seed}")
        path.unlink(missing_ok=True)  # damaged: it is made again
    raise CorpusError(f"{corpus.label} cannot be kept in {folder}. Choose another place for the store.")


def is_in_catalogue(name: str) -> bool:
    """Whether `name` is of the catalogue, with or without a revision."""
    base, at, _ = name.partition("@")
    return isinstance(CORPORA.get(base), Dataset) or (base in CORPORA and not at)


def is_built_in(name: str) -> bool:
    """Whether `name` is made of docstrings of this machine."""
    return isinstance(CORPORA.get(name), Source)


def is_on_hub(name: str) -> bool:
    """Whether `name` means a dataset of the Hugging Face Hub."""
    base = name.partition("@")[0]
    if base in CORPORA:
        return isinstance(CORPORA[base], Dataset)
    return not is_upload(name) and not is_file(name)


def is_file(name: str) -> bool:
    """Whether `name` means a local file rather than a dataset of the Hub."""
    if name in CORPORA or is_upload(name):
        return False
    is_path = name.startswith(("/", "./", "../", "~", "\\")) or name.lower().endswith(tables.SUFFIXES)
    return is_path or os.path.exists(name)


def is_upload(name: str) -> bool:
    """Whether `name` has the form of an uploaded file's name: content-addressed, so it leads to no other file."""
    return _UPLOAD.fullmatch(name) is not None


def label(name: str) -> str:
    """How to call the corpus `name` in a text, as far as its name tells."""
    base, _, revision = name.partition("@")
    if base in CORPORA:
        return CORPORA[base].label + (f" @ {hub.shortened(revision)}" if revision else "")
    if is_upload(name):
        return "Uploaded file"
    return Path(name).name if is_file(name) else name


def build_seconds(name: str, folder: Path) -> float:
    """About how long it takes to make a corpus of the catalogue; 0 where that was done or is quick."""
    source = CORPORA.get(name)
    if not isinstance(source, Source) or os.path.exists(_source_path(name, source, folder)):
        return 0
    return source.build_seconds


def download_megabytes(name: str, size: int) -> int:
    """About how much has to be read over the network for a sample; 0 for a corpus that is no dataset of the Hub."""
    if not is_on_hub(name):
        return 0
    source = CORPORA.get(name.partition("@")[0])
    least, each = (source.megabytes, source.bytes_per_sentence) if isinstance(source, Dataset) else _TYPICAL
    return least + size * each // 10**6


def keep_upload(content: io.BytesIO | io.BufferedReader, file_name: str, folder: Path) -> str:
    """Keep an uploaded file in `folder`, and return the name of the corpus that it is.

    Raises CorpusError where it holds no text or is of no known format.
    """
    content.seek(0)
    name = _upload_name(hashlib.file_digest(content, "sha256").hexdigest(), tables.suffix(file_name))
    with new_file(folder / name) as temporary:
        content.seek(0)
        with temporary.open("wb") as file:
            shutil.copyfileobj(content, file)
        table = tables.open_table(temporary, file_name)  # or it is not kept
        next(table.texts())
    with new_file(folder / f"{name}.json") as temporary:
        temporary.write_text(json.dumps({"file_name": file_name}))
    return name


def upload_label(name: str, folder: Path) -> str:
    """The name of the file that was uploaded as `name`; raises CorpusError where it is not kept in `folder`."""
    try:
        if not (folder / name).is_file():
            raise FileNotFoundError
        return str(json.loads((folder / f"{name}.json").read_bytes())["file_name"])
    except (OSError, ValueError, LookupError, TypeError):
        raise CorpusError(f"The uploaded corpus “{name}” is not kept here. Upload its file again.") from None


def _open_split(
    selection: Selection, folder: Path, progress: Progress, download: bool
) -> tuple[hub_datasets.Split, Corpus]:
    """A split of a dataset of the Hub, and what is known of it."""
    base, _, revision = selection.corpus.partition("@")
    entry = CORPORA.get(base)
    repo = entry.repo if isinstance(entry, Dataset) else base
    try:
        listing = hub_listings.open_listing(repo, revision, folder, progress, download=download)
    except CorpusError as error:
        raise CorpusError(f"{error}{hub.suggestion(base, CORPORA)}") from error
    if listing is None:
        raise _not_downloaded(selection.corpus)
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
    split = hub_datasets.Split(listing, wanted.configuration, wanted.split, folder)
    columns = split.columns(progress, download=download)
    if columns is None:
        raise _not_downloaded(selection.corpus)
    column = selection.column
    if not column:
        column = entry.column if isinstance(entry, Dataset) and entry.column in columns else next(iter(columns))
    if column not in columns:
        raise CorpusError(
            f"{repo} has no column “{printable(column)}” that holds text. Choose {hub_listings.listed(columns)}."
        )
    n_characters = None
    if selection.segmentation is Segmentation.AUTO:
        n_characters = split.mean_characters(column, progress, download=download)
        if n_characters is None:
            raise _not_downloaded(selection.corpus)
    cut = _is_cut(selection.segmentation, n_characters or 0)
    decided = Selection(selection.corpus, split.configuration, split.split, column, cut)
    version = segmentation.VERSION if cut is Segmentation.SENTENCES else ""
    corpus = Corpus(
        decided,
        label(selection.corpus),
        hashlib.sha256(json.dumps([split.fingerprint, column, version, hub_datasets.DRAWING]).encode()).hexdigest(),
        None,
        f"{base}@{listing.commit}",
        tuple(listing.splits),
        tuple(listing.splits[split.configuration]),
        tuple(columns),
    )
    return split, corpus


def _not_downloaded(name: str) -> NotDownloadedError:
    return NotDownloadedError(f"{label(name)} has to be read from the Hugging Face Hub first.")


def _made(selection: Selection, folder: Path, progress: Progress) -> tuple[Path, Corpus]:
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
        about = sentence_files.about(path)
        if about is None:
            sentences = docstrings.gather(source.files(), progress)
            if not sentences:
                raise CorpusError(f"No docstrings were found for “{name}”: this Python comes without its sources.")
            about = sentence_files.keep([sentences], path, columns=[], column="", cut=False)
    else:
        file = folder / name if is_upload(name) else Path(os.path.expanduser(name))
        made_label = upload_label(name, folder) if is_upload(name) else file.name
        path, about = _made_of_file(selection, file, made_label, folder, progress)
    cut = Segmentation.SENTENCES if about.cut else Segmentation.NONE
    decided = replace(selection, column=about.column, segmentation=cut)
    return path, Corpus(decided, made_label, about.fingerprint, about.n_sentences, name, columns=tuple(about.columns))


def _made_of_file(
    selection: Selection, file: Path, name: str, folder: Path, progress: Progress
) -> tuple[Path, sentence_files.About]:
    progress.begin(f"Reading {printable(name)}")
    tables.check(file, name)
    digest, suffix = _digest_of(file), tables.suffix(name)
    if is_upload(selection.corpus) and selection.corpus != _upload_name(digest, suffix):
        raise CorpusError(f"The file kept of the upload {printable(name)} is damaged. Upload it again.")
    wanted = (digest, suffix, selection.column, selection.segmentation.value)
    path = folder / f"file-{_digest(*wanted, segmentation.VERSION, str(_SCHEMA))}.parquet"
    about = sentence_files.about(path)
    if about is None:
        table = tables.open_table(file, name)
        batches = table.texts(selection.column)
        first = next(batches)
        cut = _is_cut(selection.segmentation, sum(map(len, first)) / len(first)) is Segmentation.SENTENCES

        def sentences() -> Iterator[list[str]]:
            for texts in itertools.chain([first], batches):
                progress.check()
                yield segmentation.sentences(texts, cut=cut)

        column = selection.column or next(iter(table.columns), "")
        about = sentence_files.keep(sentences(), path, columns=list(table.columns), column=column, cut=cut)
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
    return folder / f"{name}-{_digest(str(docstrings.SCHEMA), source.version())[:16]}.parquet"


def _digest_of(path: Path) -> str:
    """SHA-256 of a file; raises CorpusError where it cannot be read."""
    try:
        return sha256(path)
    except OSError as error:
        raise CorpusError(f"{printable(path.name)} cannot be read: {error.strerror}. Make it readable.") from None


def _upload_name(digest: str, suffix: str) -> str:
    return f"upload-{_digest(digest, suffix)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
