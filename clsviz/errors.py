"""What can go wrong in a way that the user can fix: each message says what failed, with which value, and what to do.

ClsvizError             subject
├── SettingError        settings   a setting has a value that it cannot have
├── ModelError          model      a model cannot be found, fetched or used
│   └── AlterationError model      a model cannot read sentences that are changed in one of our ways
├── CorpusError         corpus     a corpus cannot be found or read, or holds no sentences
├── StoreError          store      a file or folder of ours cannot be read or written
├── SentenceError       sentences  a sentence of the user's own cannot be used
├── UndefinedFitError   sentences  the chosen sentences determine no regression line
│   ├── TooFewError     sentences  because they are too few; what to do is for those to say who know where to find more
│   └── UnsearchableError sentences  no search with known right texts can be made of the texts
├── UnexpectedError     program    a fault of ours; the log has its traceback
├── TooManyError        program    a visitor asks for more than this server allows one at a time
└── CancelledError      (none)     the user asked the work to stop
    └── OutOfTimeError  program    a run took as long as this server allows

They are caught in two places: the page shows the message beside its subject, and the command line prints it and exits
with status 2. Any other exception is a fault of ours and keeps its traceback.
"""

from enum import StrEnum
from typing import ClassVar


class Subject(StrEnum):
    """What an error is about, and so where the page shows it."""

    SETTINGS = "settings"
    MODEL = "model"
    CORPUS = "corpus"
    STORE = "store"
    SENTENCES = "sentences"
    PROGRAM = "program"


class ClsvizError(Exception):
    """A failure whose message is meant for the user."""

    subject: ClassVar[Subject] = Subject.PROGRAM


class SettingError(ClsvizError):
    """A setting has a value that it cannot have."""

    subject = Subject.SETTINGS


class ModelError(ClsvizError):
    """A model cannot be found, fetched or used."""

    subject = Subject.MODEL


class AlterationError(ModelError):
    """A model cannot read sentences that are changed in one of our ways."""


class CorpusError(ClsvizError):
    """A corpus cannot be found or read, or holds no sentences."""

    subject = Subject.CORPUS


class StoreError(ClsvizError):
    """A file or folder of ours cannot be read or written."""

    subject = Subject.STORE


class SentenceError(ClsvizError):
    """A sentence of the user's own cannot be used."""

    subject = Subject.SENTENCES


class UndefinedFitError(ClsvizError):
    """The chosen sentences determine no regression line; the message says why."""

    subject = Subject.SENTENCES


class TooFewError(UndefinedFitError):
    """The chosen sentences are too few. What to do depends on whether there are more: see `analysis.advised`."""


class UnsearchableError(UndefinedFitError):
    """No search with known right texts can be made of the texts, or too few; the message says why."""


class UnexpectedError(ClsvizError):
    """A fault of ours, whose traceback is in the log."""

    def __init__(self) -> None:
        super().__init__("Something unexpected went wrong; the server's log has the details. Try again.")


class TooManyError(ClsvizError):
    """A visitor asks for more than this server allows one at a time."""


class CancelledError(ClsvizError):
    """The user asked the work to stop."""


class OutOfTimeError(CancelledError):
    """A run took as long as this server allows."""


def name_too_long(what: str, name: object) -> StoreError:
    """The error for a store or a file whose name is longer than a name can be where it is to lie; what: which it is."""
    return StoreError(f"The name of the {what}, {str(name)[:60]}…, is too long. Choose a shorter one.")


def first_line(error: BaseException) -> str:
    """The first line of another library's exception, fit to stand in one of our messages; its type if it is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
