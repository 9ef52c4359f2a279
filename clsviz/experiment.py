"""The settings: field name = URL parameter = command-line flag = widget key = keyword."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, Self, TypedDict, get_args

from clsviz.errors import SettingError, quote

Segmentation = Literal["auto", "sentences", "lines", "paragraphs"]
Precision = Literal["exact", "fast"]
Pooling = Literal["cls", "mean", "pooler"]
Unit = Literal["tokens", "words", "characters"]

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "segmentation": get_args(Segmentation),
    "precision": get_args(Precision),
    "pooling": get_args(Pooling),
    "unit": get_args(Unit),
}
"""The settings with a fixed set of values; the first is the default."""

RANGES: Final[dict[str, tuple[int, int]]] = {
    "sample_size": (2, 100_000_000),
    "seed": (0, 2**32 - 1),
    "probe_size": (2, 20_000),
    "length_cutoff": (2, 100_000),
    "layer": (0, 999),
}
"""The lowest and the highest value of each numeric setting."""

LONGEST_NAME = 500
"""Characters of a setting that is a name: one that has neither choices nor a range."""


@dataclass(frozen=True)
class Experiment:
    """One question to one encoder. Every setting changes the result, or is refused.

    The settings down to `precision` decide what is measured; the others select from what was
    measured, and cost no model time.

    model: a name of the list, an id of the Hugging Face Hub, with or without a revision after an @,
        or a folder; “untrained:” in front replaces its weights by random ones.
    corpus: a name of the list, a dataset of the Hub, with or without a revision, or a file.
    configuration, split: parts of a dataset of the Hub; "" means its default.
    column: the column of a table that holds the text; "" means the likeliest.
    encoding: of a file, such as cp1254; "" means the likeliest.
    segmentation: sentences cuts texts into sentences; lines takes each line of a text file, or each
        row of a table, as it is; paragraphs joins the lines of a text file up to an empty one; auto
        takes what suits the texts.
    sample_size: sentences to draw, or “all”. seed: of the draw, and of random weights.
    precision: exact is float32; fast is bfloat16, whose error is reported.
    probe_size: sentences, from the start of the sample, whose vectors are measured where norms do
        not suffice.
    length_cutoff: only sentences of fewer tokens enter the regression.
    layer: after which the vector is taken; 0 is the embedding output, None the last.
    pooling: the vector: of [CLS], the mean over all tokens, or the pooler's output.
    unit: of lengths; the cutoff is always in tokens.

    Raises SettingError where a value cannot be used.
    """

    model: str = "minilm"
    corpus: str = "python-docs"
    configuration: str = ""
    split: str = ""
    column: str = ""
    encoding: str = ""
    segmentation: Segmentation = "auto"
    sample_size: int | Literal["all"] = 5000
    seed: int = 0
    precision: Precision = "exact"
    probe_size: int = 5000
    length_cutoff: int = 80
    layer: int | None = None
    pooling: Pooling = "cls"
    unit: Unit = "tokens"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if remedy := _remedy(field.name, value):
                raise SettingError(f"{field.name} is {quote(value)}.", remedy)

    def to_query(self) -> dict[str, str]:
        """The settings that differ from the defaults: `Experiment.parse(e.to_query()) == e`."""
        values = {field: getattr(self, field.name) for field in fields(self)}
        return {field.name: str(value) for field, value in values.items() if value != field.default}

    @classmethod
    def parse(cls, settings: Mapping[str, str]) -> Self:
        """The experiment whose settings are written as text; raises SettingError."""
        return cls(**{name: parse_setting(name, text) for name, text in settings.items()})


class Settings(TypedDict, total=False):
    """The settings besides model and corpus, as keywords; `Experiment` says what they mean."""

    configuration: str
    split: str
    column: str
    encoding: str
    segmentation: Segmentation
    sample_size: int | Literal["all"] | None
    seed: int
    precision: Precision
    probe_size: int
    length_cutoff: int
    layer: int | None
    pooling: Pooling
    unit: Unit


def parse_setting(name: str, text: str) -> Any:
    """The value of a setting written as text; raises SettingError where it has none.

    An empty value is the default, as in an address.
    """
    defaults = {field.name: field.default for field in fields(Experiment)}
    if name not in defaults:
        remedy = f"The settings are {', '.join(defaults)}."
        raise SettingError(f"There is no setting {quote(name)}.", remedy)
    text = text.strip()
    if not text:
        return defaults[name]
    if name not in RANGES or (name, text) == ("sample_size", "all"):
        return text
    try:
        return None if (name, text) == ("layer", "last") else int(text)
    except ValueError:
        raise SettingError(f"{name} is {quote(text)}.", "Write a whole number.") from None


def _remedy(name: str, value: object) -> str:
    """What to do about a value that a setting cannot have; "" where it can."""
    if name in CHOICES:
        return "" if value in CHOICES[name] else f"Choose {' or '.join(CHOICES[name])}."
    if name not in RANGES:
        if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
            return f"Choose a name of at most {LONGEST_NAME} printable characters."
        return "Choose a name." if not value and name in ("model", "corpus") else ""
    if (name, value) in (("layer", None), ("sample_size", "all")):
        return ""
    if isinstance(value, bool) or not isinstance(value, int):
        return "Choose a whole number."
    low, high = RANGES[name]
    return "" if low <= value <= high else f"Choose a number from {low:,} to {high:,}."
