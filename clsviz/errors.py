"""What can go wrong in a way the user can mend: the message says what failed, with which value, and what to do.

ClsvizError
├── SettingError      a setting is outside what it may be
├── ModelError        a model cannot be found, fetched or used
├── CorpusError       a corpus cannot be found or read, or holds no sentences
├── StoreError        the store cannot be read or written
├── UndefinedFitError the chosen sentences determine no regression line
└── CancelledError    the user asked the work to stop

They are caught in two places: the page shows the message where the cause is, the command line prints it and exits
with status 2. Any other exception is a fault of ours and keeps its traceback.
"""


class ClsvizError(Exception):
    """A failure whose message is meant for the user."""


class SettingError(ClsvizError):
    """A setting is outside what it may be."""


class ModelError(ClsvizError):
    """A model cannot be found, fetched or used."""


class CorpusError(ClsvizError):
    """A corpus cannot be found or read, or holds no sentences."""


class StoreError(ClsvizError):
    """The store cannot be read or written."""


class UndefinedFitError(ClsvizError):
    """The chosen sentences determine no regression line; the message says why."""


class CancelledError(ClsvizError):
    """The user asked the work to stop."""


def first_line(error: BaseException) -> str:
    """What another library's exception says, as it may stand in a message of ours; its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
