"""Errors meant for the user: what failed, and what to do about it."""


class ClsvizError(Exception):
    """An error that the user can fix.

    reason: what failed, with the value at fault, as a sentence.
    remedy: what to do, as a sentence; may be empty.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return " ".join(filter(None, [self.reason, self.remedy]))


class SettingError(ClsvizError):
    """A setting is out of range, misspelt, or cannot be heeded."""


class CorpusError(ClsvizError):
    """A corpus cannot be found or read."""


class ModelError(ClsvizError):
    """A model cannot be found, loaded or run."""


class NoCls(ModelError):
    """A model has no [CLS] vector; its own pipeline may still give vectors."""


class HubError(ClsvizError):
    """The Hub does not answer: the name may well be right."""


class StoreError(ClsvizError):
    """Results cannot be stored."""


class Undefined(ClsvizError):
    """The sentences do not determine the statistic."""


class Constant(Undefined):
    """The sentences, or their vectors, do not differ."""


LONGEST_QUOTE = 80


def quote(text: object) -> str:
    """Text from outside as messages show it, in quotation marks."""
    return f"“{printable(text)}”"


def printable(text: object) -> str:
    """Text from outside on one line, without control characters, shortened."""
    line = " ".join(str(text).split())
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return f"{clean[: LONGEST_QUOTE - 1]}…" if len(clean) > LONGEST_QUOTE else clean
