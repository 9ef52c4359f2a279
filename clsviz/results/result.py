"""An answer, the same for every page, command and call, and sentences that several have."""

import base64
import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clsviz.errors import SettingError, quote
from clsviz.numbers import DASH, FORMS, counted
from clsviz.settings import Experiment
from clsviz.sources.corpora import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample
from clsviz.statistics.intervals import LARGER, Interval
from clsviz.store import SHIPPED
from clsviz.store.results import path_of

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

WRITERS: Final = (".csv", ".parquet")  # endings of files for the table
PICTURES: Final = (".png", ".svg", ".pdf", ".html")  # endings of files for the picture

POOLINGS: Final = {
    "cls": "[CLS]",
    "mean": "mean-pooled vector",
    "pooler": "pooler output",
    "pipeline": "vector of its own pipeline",
}
"""Vectors as sentences name them."""

ELSEWHERE: Final = "The numbers that come with clsviz were measured on another machine."


@dataclass(frozen=True)
class Fact:
    """A number of a result.

    key: its name in JSON. value: None or NaN where it is undefined. interval: of 95%.
    form: a key of FORMS. is_quiet: True if it is in JSON, and not on the line of numbers.
    """

    key: str
    label: str
    value: float | None
    interval: Interval | None = None
    form: str = "number"
    is_quiet: bool = False

    def __str__(self) -> str:
        words = [self.label, self.number]
        return " ".join(words[::-1] if self.form == "count" else words)

    @property
    def number(self) -> str:
        """The value in words, with its interval."""
        return f"{self.words} ({self.ends})" if self.ends else self.words

    @property
    def words(self) -> str:
        """The value in words."""
        if self.value is None or math.isnan(self.value):
            return DASH
        return FORMS[self.form](self.value)

    @property
    def ends(self) -> str:
        """The interval in words, or ""."""
        ends = [FORMS[self.form](end) for end in self.interval or () if math.isfinite(end)]
        words = " to ".join(ends) if len(ends) == 2 and self.words != DASH else ""
        return re.sub(r"( [a-z]+)( to .*\1)$", r"\2", words)  # a unit once: 3 to 4 points


@dataclass(frozen=True, eq=False)
class Result:
    """An answer.

    kind: of picture, a key of `figures.DRAW`. verdict: the answer, in at most 20 words.
    facts: the numbers behind it. details: other entries of JSON. picture: other data drawn.
    advice: what to do, or "". caveats: limits of the answer, a sentence each.
    table: a row for each point of the picture. about: how it was measured, by name.
    command: of the terminal, which repeats it. is_complete: False while sentences are missing.
    weights, corpus: of the model, and of the texts whose reading is told; None where there is none.
    n_drawn: sentences or texts of the corpus that were measured. answered: the numbers in words.
    """

    kind: str
    question: str
    verdict: str
    table: "pd.DataFrame"
    facts: tuple[Fact, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    picture: Mapping[str, Any] = field(default_factory=dict)
    advice: str = ""
    caveats: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    is_complete: bool = True
    weights: Weights | None = None
    corpus: Corpus | None = None
    n_drawn: int = 0
    answered: Any = None

    @property
    def loud_facts(self) -> list[Fact]:
        """The facts that stand next to the answer."""
        return [fact for fact in self.facts if not fact.is_quiet]

    @property
    def numbers(self) -> str:
        """The facts on one line."""
        return " · ".join(map(str, self.loud_facts))

    @property
    def lines(self) -> tuple[str, ...]:
        """The answer, a line each, without the question."""
        return tuple(filter(None, [self.verdict, self.advice, self.numbers, *self.caveats]))

    def fact(self, key: str) -> float | None:
        """The value of a fact; None where it is undefined, or there is none of this key."""
        return {fact.key: fact.value for fact in self.facts}.get(key)

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """For a terminal."""
        return "\n".join([self.question, *self.lines])

    def json(self) -> dict[str, Any]:
        """For a program: how it was measured, the answer, each fact by its key; null for NaN."""
        values = {
            **self.about,
            "question": self.question,
            "verdict": self.verdict,
            "advice": self.advice,
            "caveats": self.caveats,
            **{fact.key: fact.value for fact in self.facts},
            **{f"{fact.key}_interval": fact.interval for fact in self.facts if fact.interval},
            **self.details,
        }
        return {name: _finite(value) for name, value in values.items()}

    def write(self, path: Path) -> None:
        """Write the table as .csv or .parquet; raises SettingError or StoreError."""
        from clsviz.files import replacing

        check_ending(path, WRITERS)
        with replacing(path) as file:
            if path.suffix == ".csv":
                self.table.to_csv(file, index=False, lineterminator="\n")
            else:
                self.table.to_parquet(file, index=False)

    def plot(self) -> "go.Figure":
        """The picture, interactive."""
        from clsviz import figures

        return figures.DRAW[self.kind](self)

    def save_plot(self, path: Path) -> None:
        """Write the picture as .png, .svg, .pdf or .html; raises SettingError or StoreError."""
        from clsviz.figures import image

        image.save(self.plot(), path)

    def _repr_html_(self) -> str:
        """For a notebook: the answer and its picture."""
        from clsviz.figures import image

        picture = base64.b64encode(image.render(self.plot())).decode()
        lines = "".join(f"<p>{html.escape(line)}</p>" for line in self.lines)
        return (
            f"<h3>{html.escape(self.question)}</h3>{lines}"
            f'<img alt="{html.escape(self.verdict)}" src="data:image/png;base64,{picture}">'
        )


def vector_of(model: Weights | None, experiment: Experiment) -> dict[str, Any]:
    """What was measured, as JSON has it: of a resolved experiment."""
    if model is None:
        return {"vector": "own vectors"}
    own, is_own = model.pipeline, experiment.pooling == "pipeline"
    steps = " + ".join(own.steps).replace("Pooling", f"Pooling ({own.pooling})")
    names = ("pooling", "query_prompt", "text_prompt")
    return {
        "vector": steps if is_own else POOLINGS[experiment.pooling],
        **{name: getattr(experiment, name) for name in names},
    }


def origin(key: str | tuple[object, ...]) -> list[str]:
    """A caveat where what has this key, of slices or of a result, comes with clsviz."""
    path = SHIPPED / key if isinstance(key, str) else path_of(SHIPPED, key)
    return [ELSEWHERE] * path.exists()


def left_out(
    experiment: Experiment,
    sample: Sample,
    n_long: int,
    n_truncated: int,
    n_models: int = 1,
    unit: str = "tokens",
) -> list[str]:
    """Caveats on sentences over the cutoff, on truncated ones, and on a corpus that is too small.

    n_truncated: of the others, those that not all of the models read as a whole. unit: of the
    cutoff.
    """
    n, size = len(sample), experiment.sample_size
    reader, by = ("the model", "") if n_models == 1 else ("a model", " by a model")
    long = f"{experiment.length_cutoff:,} {unit} or more{by}"
    cases = {
        f"Left out: {counted(n_long)} of {long}.": n_long,
        f"Left out: {counted(n_truncated)} longer than {reader} reads.": n_truncated,
        f"The corpus has {counted(n)}: the sample is all of them.": size != "all" and n < size,
    }
    return [caveat for caveat, holds in cases.items() if holds]


def remedy_of(
    remedy: str, experiment: Experiment, sample: Sample, n_long: int, n_read: int | None = None
) -> str:
    """A remedy of statistics, which do not know where more sentences, or other lengths, may be.

    n_long: sentences that a higher cutoff lets in. n_read: of the sample, None for all.
    """
    if remedy != LARGER:
        return remedy
    n, size, corpus = len(sample), experiment.sample_size, sample.corpus
    is_all = size == "all" or n < size
    if not corpus.reading.revision:  # of the Hub, no more is read than the sample
        is_all = is_all or n == corpus.table.num_rows
    remedies = ["raise the length cutoff"] * (n_long > 0)
    if n_read is None or n_read == n:
        remedies.append(f"take a larger {'corpus' if is_all else 'sample'}")
    else:
        remedies.append("raise probe_size")
    return f"{', or '.join(remedies)}.".capitalize()


def check_ending(path: Path, endings: Sequence[str]) -> None:
    """Raise SettingError, before any work, where a file cannot be written as its name says."""
    if path.suffix not in endings:
        reason = f"{quote(path.name)} does not end in a known format."
        raise SettingError(reason, f"End it in {' or '.join(endings)}.")
    if not path.parent.is_dir():
        raise SettingError(f"There is no folder {quote(path.parent)}.", "Create it first.")


def first(*cases: tuple[bool, str]) -> str:
    """The text of the first case that holds; the last always should."""
    return next(text for holds, text in cases if holds)


def _finite(value: Any) -> Any:
    """The value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
