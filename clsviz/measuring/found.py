"""What is known of an experiment's sample so far."""

import contextlib
import os
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz.experiment import Experiment
from clsviz.measurements import Kind, Measurements
from clsviz.settings import Precision
from clsviz.sources import catalogue, models, sampling
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    from clsviz.measuring.census import Counted


@dataclass(frozen=True, eq=False)
class Found:
    """What is known of an experiment's sample so far; replaced by a new value whenever a part arrives.

    sample: the sentences. measurements: of the first of them; `Vectors` if these were asked for.
    damaged_parts: how many parts of the store were dropped because they were damaged.
    audit: for the fast precision, the start of the sample measured exactly; complete before anything else is measured.
    slow_path_reason: why the fastest path could not be taken, or "".
    seed: of the draw.
    n_shipped: how many of the measurements came with clsviz and were not made here.
    n_left: of a whole corpus, how many sentences are not measured yet besides those of the sample.
    census: what is known of all its sentences, once all are measured.
    n_asked: how many sentences the sample was to have; 0 where that is not known.
    """

    weights: models.Weights
    sample: sampling.Sample
    precision: Precision = Precision.EXACT
    measurements: Measurements = field(default_factory=Measurements.none)
    damaged_parts: int = 0
    audit: "Found | None" = None
    slow_path_reason: str = ""
    seed: int = 0
    n_shipped: int = 0
    n_left: int = 0
    census: "Counted | None" = None
    n_asked: int = 0

    @property
    def key(self) -> Hashable:
        """Equal for two values that hold the same measurements of the same sentences."""
        n_audited = len(self.audit.measurements) if self.audit else 0
        n = len(self.measurements), len(self.sentences), n_audited, self.n_shipped, self.n_measured
        return self.weights.fingerprint, self.corpus.fingerprint, self.seed, self.precision, type(self.measurements), n

    @property
    def corpus(self) -> catalogue.Corpus:
        """Where the sentences come from."""
        return self.sample.corpus

    @property
    def vectors(self) -> Vectors:
        """The measurements, if vectors were asked for."""
        assert isinstance(self.measurements, Vectors)
        return self.measurements

    @property
    def sentences(self) -> list[str]:
        """The whole sample."""
        return self.sample.sentences

    @property
    def is_of_all(self) -> bool:
        """Whether the sample is all that the corpus has."""
        n = len(self.sentences)
        if self.sample.whole is not None or n < self.n_asked:
            return True
        return self.corpus is not None and self.corpus.n_sentences is not None and n >= self.corpus.n_sentences

    @property
    def is_outline(self) -> bool:
        """Whether vectors were asked for, and all but they themselves came with clsviz."""
        return isinstance(self.measurements, Vectors) and self.measurements.is_outline

    @property
    def n_measured(self) -> int:
        """How many sentences the answer is of: those measured of the sample, or all of the corpus."""
        return len(self.measurements) if self.census is None else self.census.n

    @property
    def n_missing(self) -> int:
        """How many sentences are not measured yet."""
        return self.n_missing_of_sample + self.n_left

    @property
    def n_missing_of_sample(self) -> int:
        """How many of `sentences` are not measured yet, or not exactly where the fast precision needs it."""
        return len(self.sentences) - len(self.measurements) + (self.audit.n_missing if self.audit else 0)


def measurement_key(experiment: Experiment, kind: Kind) -> Hashable:
    """What is to be measured: equal for two experiments whose measurements of this kind are the same."""
    return kind, (experiment.for_vectors if kind is Kind.VECTORS else experiment).measurement_key


def state_of_files(experiment: Experiment) -> tuple[tuple[str, int, int], ...]:
    """Sizes and times of the local files that the experiment names: when they change, its job does too."""
    base = models.Name.parse(experiment.model).base
    paths = [*Path(os.path.expanduser(base)).glob("*")] if models.is_folder(base) else []
    if catalogue.is_file(experiment.corpus):
        paths.append(Path(os.path.expanduser(experiment.corpus)))
    states = []
    for path in sorted(paths):
        with contextlib.suppress(OSError, ValueError):
            status = path.stat()
            states.append((str(path), status.st_size, status.st_mtime_ns))
    return tuple(states)


def with_audit(found: Found, audit: Found) -> Found:
    """The same with this audit."""
    return replace(found, audit=audit)
