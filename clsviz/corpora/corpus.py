"""What is known of a corpus once it is opened."""

from dataclasses import dataclass

from clsviz.corpora.catalogue import label
from clsviz.errors import CorpusError
from clsviz.experiment import Selection


@dataclass(frozen=True)
class Corpus:
    """A corpus that was opened.

    selection: the user's, with everything they left open decided. pinned: its name, with the commit if it has one.
    fingerprint: SHA-256 in hexadecimal of its sentences, or of what they are made from where not all are on this
    machine. n_sentences: in the whole corpus, or None if unknown. configurations, splits, columns: what could be chosen
    instead.
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


def not_downloaded(name: str) -> NotDownloadedError:
    """The error for a corpus with this name."""
    return NotDownloadedError(f"{label(name)} has to be read from the Hugging Face Hub first.")
