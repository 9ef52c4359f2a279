"""The settings of an experiment: what each may be, and how it is written in a link or a flag."""

from enum import StrEnum

from clsviz.errors import SettingError


class Pooling(StrEnum):
    """Which vector stands for the sentence."""

    CLS = "cls"
    MEAN = "mean"
    MAX = "max"
    POOLER = "pooler"


class Precision(StrEnum):
    """In which numbers the model computes."""

    EXACT = "exact"
    FAST = "fast"

    @property
    def numbers(self) -> str:
        """Type of the numbers in which matrices are multiplied; all else is computed in float32."""
        return {Precision.EXACT: "float32", Precision.FAST: "bfloat16"}[self]


class Unit(StrEnum):
    """In what the length of a sentence is counted."""

    TOKENS = "tokens"
    WORDS = "words"
    CHARACTERS = "characters"

    @property
    def singular(self) -> str:
        """One of it."""
        return self.removesuffix("s")


class Lengths(StrEnum):
    """Whose length a sentence is given: its own, or as a control that of a random other one."""

    TRUE = "true"
    SHUFFLED = "shuffled"


class Segmentation(StrEnum):
    """What of a corpus counts as a sentence."""

    AUTO = "auto"
    NONE = "none"
    SENTENCES = "sentences"


TEXT_PARAMETER = "text"
"""The URL parameter in which a visitor's own sentences travel, if they want them to: not part of the experiment."""


PAGE_PARAMETERS = ("models", "axes", "heat", "nearest", "sentence", "word")
"""The URL parameters of what single pages have: not part of the experiment."""


MODEL_PARAMETER, CORPUS_PARAMETER = "model_fingerprint", "corpus_fingerprint"
"""The URL parameters that say with what a link was made: not part of the experiment either."""


FINGERPRINT_DIGITS = 12
"""Of a fingerprint in a link."""


_LONGEST_NAME = 500


NAME_SETTINGS = {"model": 1, "corpus": 1, "configuration": 0, "split": 0, "column": 0}
"""Fewest characters of every setting that is a name."""


RANGES = {
    "sample_size": (1, 1_000_000),
    "seed": (0, 2**32 - 1),
    "probe_size": (1, 20_000),
    "length_cutoff": (2, 512),
    "layer": (0, 999),
}
"""Lowest and highest value of every numeric setting."""


CHOICES: dict[str, type[StrEnum]] = {
    "segmentation": Segmentation,
    "precision": Precision,
    "pooling": Pooling,
    "unit": Unit,
    "lengths": Lengths,
}
"""What the settings that are one of a few may be."""


def is_name(text: str) -> bool:
    """Whether a setting can hold `text` as a name, such as a column's."""
    return 1 <= len(text) <= _LONGEST_NAME and text.isprintable() and text == text.strip()


def check_name(name: str, value: str) -> str:
    if not NAME_SETTINGS[name] <= len(value) <= _LONGEST_NAME or not value.isprintable():
        limit = f"1 to {_LONGEST_NAME} printable characters"
        raise SettingError(f"{name} is “{shown(value)}”; it must be a name of {limit}.")
    return value


def check_number(name: str, value: int | None) -> int | None:
    low, high = RANGES[name]
    if value is not None and not low <= value <= high:
        raise SettingError(f"{name} is {shown(str(value))}; it must be a number from {low:,} to {high:,}.")
    return value


def printable(text: str) -> str:
    """`text` with a mark in the place of every character that would break a line or move a cursor."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def shown(text: str) -> str:
    """`text` as it may stand in a message: short, and without characters that would break the line."""
    text = printable(text)
    return text if len(text) <= 60 else text[:59] + "…"
