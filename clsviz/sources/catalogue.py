"""The corpus catalogue, what a corpus's name means, and what is known of a corpus once it is opened."""

import functools
import importlib.metadata
import os
import re
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.settings import Reading
from clsviz.sources import docstrings, files, hub

_TYPICAL_COST = 5, 60
"""What a dataset outside the catalogue takes to read: megabytes for the smallest sample, and bytes per sentence."""

_UPLOAD = re.compile(r"upload-[0-9a-f]{32}")


@dataclass(frozen=True)
class Shipped:
    """A corpus in the catalogue whose sentences come with clsviz, in `file`: the same on every machine.

    is_cut: whether they are sentences, and not whole texts.
    """

    label: str
    description: str
    file: Path
    is_cut: bool = True


@dataclass(frozen=True)
class Source:
    """A corpus in the catalogue that is made on this machine, from docstrings.

    files: lists the Python files whose docstrings are the corpus.
    version: changes whenever the corpus may have.
    build_seconds: about how long it takes to build on a machine with two cores.
    """

    label: str
    description: str
    files: Callable[[], list[str]]
    version: Callable[[], str]
    build_seconds: float
    is_cut: ClassVar[bool] = True


@dataclass(frozen=True)
class Dataset:
    """A corpus in the catalogue that is on the Hugging Face Hub.

    megabytes, bytes_per_sentence: about how much is read over the network for the smallest sample, and for each
        further sentence.
    """

    label: str
    description: str
    repo: str
    configuration: str
    split: str
    column: str
    megabytes: int
    bytes_per_sentence: int
    is_cut: ClassVar[bool] = False


def python_library() -> list[str]:
    """Paths of the files of Python's standard library."""
    return docstrings.python_files(sysconfig.get_path("stdlib"))


def _installed_packages() -> list[str]:
    roots = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    return python_library() + [path for root in roots for path in docstrings.python_files(root)]


@functools.cache  # hundreds of files to read, which do not change while a program runs
def _package_versions() -> str:
    return "\n".join(sorted({f"{package.name} {package.version}" for package in importlib.metadata.distributions()}))


CORPORA: dict[str, Shipped | Source | Dataset] = {
    "python-docs": Shipped(
        "Python 3.11 documentation",
        "English sentences from the docstrings of Python 3.11's standard library. They come with clsviz, so they are "
        "the same on every machine.",
        Path(__file__).parent / "data" / "python-docs.parquet",
    ),
    "python-api": Shipped(
        "Python 3.11 API",
        "What the docstrings of Python 3.11's standard library say after their summary lines, which are titles to "
        "search with. They come with clsviz, so they are the same on every machine.",
        Path(__file__).parent / "data" / "python-api.parquet",
        is_cut=False,
    ),
    "this-python-docs": Source(
        "Documentation of this Python",
        "English sentences from the docstrings of Python's standard library, as installed here.",
        python_library,
        lambda: sys.version,
        build_seconds=2,
    ),
    "package-docs": Source(
        "Documentation of this Python’s packages",
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
"""The first four need no network."""


def is_in_catalogue(name: str) -> bool:
    """Whether `name` is in the catalogue, with or without a revision."""
    base, at, _ = name.partition("@")
    return isinstance(CORPORA.get(base), Dataset) or (base in CORPORA and not at)


def is_built_in(name: str) -> bool:
    """Whether `name` is in the catalogue and needs no network."""
    return isinstance(CORPORA.get(name), Shipped | Source)


def is_of_this_machine(name: str) -> bool:
    """Whether the sentences of `name` depend on the Python installed on this machine."""
    return isinstance(CORPORA.get(name), Source)


def is_on_hub(name: str) -> bool:
    """Whether `name` means a dataset on the Hugging Face Hub."""
    base = name.partition("@")[0]
    if base in CORPORA:
        return isinstance(CORPORA[base], Dataset)
    return not is_upload(name) and not is_file(name)


def is_file(name: str) -> bool:
    """Whether `name` means a local file rather than a dataset on the Hub."""
    if name in CORPORA or is_upload(name):
        return False
    is_path = name.startswith(("/", "./", "../", "~", "\\")) or name.lower().endswith(files.SUFFIXES)
    return is_path or os.path.exists(name)


def is_upload(name: str) -> bool:
    """Whether `name` has the form of an upload's name, which is made from its content and so leads to no other file."""
    return _UPLOAD.fullmatch(name) is not None


def resembles_upload(name: str) -> bool:
    """Whether `name` means no file, and can only have been meant for an upload: its link may have been cut short."""
    return name.startswith(("upload-", "upload:")) and "/" not in name and not is_file(name)


def is_own(name: str) -> bool:
    """Whether `name` means a file of the user's own, on this machine or uploaded."""
    return is_file(name) or is_upload(name)


def label(name: str) -> str:
    """What to call the corpus `name` in a text, as far as its name tells."""
    base, _, revision = name.partition("@")
    if base in CORPORA:
        return CORPORA[base].label + (f" @ {hub.shortened(revision)}" if revision else "")
    if is_upload(name):
        return "Uploaded file"
    return Path(name).name if is_file(name) else name


def download_megabytes(name: str, size: int) -> int:
    """About how many megabytes a sample takes to read over the network; 0 unless the corpus is on the Hub."""
    if not is_on_hub(name):
        return 0
    source = CORPORA.get(name.partition("@")[0])
    least, each = (source.megabytes, source.bytes_per_sentence) if isinstance(source, Dataset) else _TYPICAL_COST
    return least + size * each // 10**6


@dataclass(frozen=True)
class Corpus:
    """A corpus that was opened.

    selection: the user's, with everything they left open decided. pinned: its name, with the commit if it has one.
    fingerprint: SHA-256 in hexadecimal of its sentences, or of what they are made from where not all are on this
    machine. n_sentences: in the whole corpus, or None if unknown. configurations, splits, columns: what could be chosen
    instead. width: at which the lines of a text file were wrapped, in characters, if they were joined to paragraphs.
    n_left_out: its lines that are in no paragraph. fields: other columns of the table that the sentences come from.
    n_bytes, n_about: of a dataset on the Hub, the size of its files, and about how many sentences they hold, judged by
    the largest.
    """

    selection: Selection
    label: str
    fingerprint: str
    n_sentences: int | None
    pinned: str
    configurations: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    width: int = 0
    n_left_out: int = 0
    fields: tuple[str, ...] = ()
    n_bytes: int = 0
    n_about: int = 0


class NotDownloadedError(CorpusError):
    """The sentences are on the Hugging Face Hub, and not yet on this machine."""


def refuse_reading(selection: Selection) -> None:
    """Raise CorpusError at a setting that only text files have."""
    if selection.reading is not Reading.AUTO:
        raise CorpusError(f"{label(selection.corpus)} is no text file. Leave out the setting reading.")


def not_downloaded(name: str) -> NotDownloadedError:
    """The error for a corpus with this name."""
    return NotDownloadedError(f"{label(name)} has to be read from the Hugging Face Hub first.")
