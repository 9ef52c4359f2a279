"""What is known of a corpus once it is opened."""

from dataclasses import dataclass

from clsviz.corpora.catalogue import label
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.settings import Reading


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
