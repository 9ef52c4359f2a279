"""What is known of an experiment: what is on this machine, and what the rest would take."""

import contextlib
import os
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clsviz.experiment import Experiment
from clsviz.jobs.drawn import identified
from clsviz.jobs.estimate import LOAD_SECONDS, RATE_OF_VECTORS, TYPICAL_CHARACTERS, Cost, Machine, operations_of
from clsviz.jobs.imports import check_asked, check_found, max_length
from clsviz.jobs.worker_process import Encoders
from clsviz.measurements import Kind, Measurements, kind_of
from clsviz.progress import Progress
from clsviz.settings import ALL, RANGES, Alteration, Precision
from clsviz.sources import catalogue, local_files, models, sampling
from clsviz.store.outline import read_outline
from clsviz.store.parts import Key, Part, Shape, missing, n_between
from clsviz.store.store import Store
from clsviz.vectors import KINDS, Vectors

if TYPE_CHECKING:
    from clsviz.store.census import Counted


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


def kind_of_norms(experiment: Experiment) -> Kind:
    """What is measured for the norm that the experiment asks for; of imported vectors there is one kind."""
    return Kind.NORMS if models.Imported.parse(experiment.model) else kind_of(experiment.pooling)


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


def counted(found: Found, store: Store, key: Key, progress: Progress) -> Found:
    """What was found of the sample, with the census of all sentences, or how many are left to be measured.

    The same where the sample is not of a whole corpus. Raises StoreError, and CancelledError if cancelled.
    """
    if found.sample.whole is None:
        return found
    n = found.sample.n_sentences
    n_missing = n_between(missing(store.parts(key).values(), n))
    damaged: list[Part] = []
    from clsviz.store.census import take_census  # SciPy loads only now

    census = None if n_missing else take_census(store, key, n, progress, damaged.append)
    if damaged:  # and deleted, so that they are missing now
        return counted(replace(found, damaged_parts=found.damaged_parts + len(damaged)), store, key, progress)
    n_left = n_missing - (len(found.sentences) - len(found.measurements))
    return replace(found, census=census, n_left=max(n_left, 0))


def is_counted(found: Found, store: Store, key: Key) -> bool:
    """Whether `counted` takes but a moment: nothing is to be counted, or what was is kept."""
    if found.sample.whole is None:
        return True
    from clsviz.store.census import is_kept

    return is_kept(store, key, found.sample.n_sentences)


AUDIT_SIZE = 256
"""How many sentences of a fast sample, from its start, are also measured in the exact precision."""


class LookUp:
    """What is there of one experiment; `found` may be read by any thread at any time."""

    def __init__(
        self,
        experiment: Experiment,
        store: Store,
        encoders: Encoders,
        found: Found | None = None,
        machine: Machine | None = None,
        kind: Kind = Kind.NORMS,
        *,
        outlines: bool = False,
        alteration: Alteration | None = None,
    ) -> None:
        """found: what an earlier extraction of the same found, which is not read again.

        Vectors are measured for the start of the sample only. outlines: whether to look up is to find vectors of which
        all but they themselves came with clsviz, where they are not measured here. alteration: how the sentences are
        changed before the model reads them.
        """
        self.experiment = experiment.for_vectors if kind is Kind.VECTORS else experiment
        self.kind = kind
        self.found = found
        self.corpus = found.corpus if found else None
        """What is known about the corpus, which may be known before anything else."""
        self.weights = found.weights if found else None
        """The model's, as far as they were looked for and are here."""
        self.sentences_per_second: float | None = None
        """The rate of this extraction; None while everything came from the store."""
        self._store = store
        self._encoders = encoders
        self._machine = machine or Machine()
        self._outlines = outlines and kind is Kind.VECTORS
        self._alteration = alteration

    def look_up(self, progress: Progress) -> Cost:
        """Find what is on this machine, without building or fetching anything, and estimate the rest.

        The Hub is asked only about models and datasets that are not in the catalogue, and about those of which all is
        wanted: how large they are, and what they hold.
        """
        experiment, folder = self.experiment, self._store.corpora
        n_sentences = min(experiment.sample_size, RANGES["sample_size"][1])
        self.weights = weights = self._weights_here()
        self._forget_unless_of(weights)
        megabytes = 0 if weights else models.download_megabytes(experiment.model, progress)
        seconds = local_files.build_seconds(experiment.corpus, folder)
        if weights and not seconds and self.found:
            return self._cost(self._publish(self._count(self._read_stored(self.found), progress)))
        if not seconds:
            try:
                sample = self._draw(sampling.find_sample, progress)
            except catalogue.NotDownloadedError:
                is_whole = experiment.sample_size == ALL
                if is_whole or not catalogue.is_in_catalogue(experiment.corpus):
                    self.corpus = sampling.fetch_corpus(experiment.selection, folder, progress)
                if is_whole and self.corpus:
                    n_sentences = self.corpus.n_about
                    megabytes += self.corpus.n_bytes // 10**6
                else:
                    megabytes += catalogue.download_megabytes(experiment.corpus, n_sentences)
            else:
                n_sentences = sample.n_sentences
                if weights:
                    found = self._stored(weights, sample)
                    if not is_counted(found, self._store, self.key_of(found)):
                        self._publish(found)  # to be seen meanwhile
                    return self._cost(self._outlined(self._publish(self._count(found, progress))))
        seconds += self._measuring_seconds(weights, n_sentences, TYPICAL_CHARACTERS)
        return Cost(seconds, megabytes)

    def find_stored(self, progress: Progress) -> Found | None:
        """Find what is stored; None if there is nothing. Nothing is measured, built or fetched, and nobody is asked."""
        weights, folder = self._weights_here(), self._store.corpora
        if weights is None or local_files.build_seconds(self.experiment.corpus, folder):
            return None
        try:
            corpus = sampling.find_corpus(self.experiment.selection, folder, progress, self.experiment.sample_size)
            nothing = Found(
                weights, sampling.Sample(corpus, [], ""), self.experiment.precision, seed=self.experiment.seed
            )
            key = self.key_of(nothing)
            has_outline = self._outlines and self._store.shipped and read_outline(self._store.shipped, key) is not None
            if not has_outline and not self._store.parts(key):
                return None  # the sample need not be drawn
            return self._outlined(
                self._count(self._find(weights, self._draw(sampling.find_sample, progress)), progress)
            )
        except catalogue.NotDownloadedError:
            return None

    def key_of(self, found: Found) -> Key:
        """Where the store has what was found."""
        of = found.weights.fingerprint, found.corpus.fingerprint, self.experiment.seed
        return Key(*of, max_length(found.weights), found.precision.numbers, self.kind)

    @property
    def measured_rate(self) -> float | None:
        """Sentences a second at which this model was last measured here, in this precision; None if it was not."""
        return self._measured_rate(self.weights, self.kind)

    def _measured_rate(self, weights: models.Weights | None, kind: Kind) -> float | None:
        numbers = self.experiment.precision.numbers
        return self._store.rate(weights.fingerprint, numbers, kind) if weights else None

    def seconds(self, found: Found, n_sentences: int) -> float:
        """About how long it takes to measure so many sentences like those that were found."""
        n_characters = float(np.mean([*map(len, found.sentences)]))
        return self._measuring_seconds(found.weights, n_sentences, n_characters)

    def _weights_here(self) -> models.Weights | None:
        try:
            weights = identified(models.find(self.experiment.model), self._store)
        except models.NotDownloadedError:
            return None
        check_asked(weights, self.experiment)
        return weights

    def _forget_unless_of(self, weights: models.Weights | None) -> None:
        """Drop what was found with other weights: those in a local folder may have changed since."""
        if self.found is not None and (weights is None or self.found.weights.fingerprint != weights.fingerprint):
            self.found = None

    def _draw(self, draw: Callable[..., sampling.Sample], progress: Progress) -> sampling.Sample:
        experiment = self.experiment
        sample = draw(experiment.selection, experiment.sample_size, experiment.seed, self._store.corpora, progress)
        self.corpus = sample.corpus
        return sample

    def _find(self, weights: models.Weights, sample: sampling.Sample) -> Found:
        """The same as `_stored`, published."""
        return self._publish(self._stored(weights, sample))

    def _stored(self, weights: models.Weights, sample: sampling.Sample) -> Found:
        """What the store has of a sample."""
        experiment = self.experiment
        nothing = KINDS[self.kind].none()
        found = Found(
            weights, sample, experiment.precision, nothing, seed=experiment.seed, n_asked=experiment.sample_size
        )
        if found.precision is not Precision.EXACT:
            found = replace(found, audit=Found(weights, sample.head(AUDIT_SIZE), seed=found.seed))
        found = self._read_stored(found)
        check_found(weights, found.n_missing, self.kind)
        return found

    def _outlined(self, found: Found) -> Found:
        """The same, or its outline if that came with clsviz and the vectors are not all here."""
        if not (self._outlines and self._store.shipped and found.n_missing):
            return found
        outline = read_outline(self._store.shipped, self.key_of(found))
        if outline is None or len(outline) < len(found.sentences):
            return found
        n = len(found.sentences)
        return self._publish(replace(found, measurements=outline.head(n), n_shipped=n))

    def _count(self, found: Found, progress: Progress) -> Found:
        """Add what is known of all sentences of a whole corpus, or how many are left to measure."""
        return counted(found, self._store, self.key_of(found), progress)

    def _publish(self, found: Found) -> Found:
        self.found = found
        return found

    def _cost(self, found: Found) -> Cost:
        return Cost(self.seconds(found, found.n_missing))

    def _read_stored(self, found: Found) -> Found:
        """Add the stored parts that follow what is there, up to the first that is missing or damaged."""
        parts = self._store.parts(self.key_of(found))
        read, damaged_parts, n_shipped = [found.measurements], found.damaged_parts, found.n_shipped
        position = len(found.measurements)
        while position < len(found.sentences) and position in parts:
            part = parts[position]
            measurements = self._store.read(part)
            if measurements and not go_together(read[-1], measurements):
                self._store.drop(part)
                measurements = None
            if measurements is None:
                damaged_parts += 1
                break
            read.append(measurements)
            if self._store.is_shipped(part):
                n_shipped += min(part.stop, len(found.sentences)) - position  # a part may reach beyond the sample
            position = part.stop
        measurements = KINDS[self.kind].concatenate(read).head(len(found.sentences))
        audit = found.audit and self._read_stored(found.audit)
        return replace(found, measurements=measurements, damaged_parts=damaged_parts, audit=audit, n_shipped=n_shipped)

    def _measuring_seconds(self, weights: models.Weights | None, n_sentences: int, n_characters: float) -> float:
        """Seconds to measure, and to load the model if it is not in memory.

        From the rate that was measured here before, or else from the model's size.
        """
        if not n_sentences:
            return 0
        rate = self._measured_rate(weights, self.kind)
        if rate is None and self.kind is not Kind.NORMS:
            norms_rate = self._measured_rate(weights, Kind.NORMS)
            rate = norms_rate and norms_rate * RATE_OF_VECTORS
        if rate is None:
            n_parameters = weights.n_parameters if weights else models.n_parameters(self.experiment.model)
            rate = self._machine.rate / operations_of(n_parameters, n_characters)
            rate *= 1 if self.kind is Kind.NORMS else RATE_OF_VECTORS
        is_loaded = weights is not None and self._encoders.has(weights, self.experiment.precision)
        return (0 if is_loaded else LOAD_SECONDS) + n_sentences / rate


def go_together(some: Measurements, others: Measurements) -> bool:
    """Whether one model can have measured both."""
    return not (len(some) and len(others)) or Shape.of(some) == Shape.of(others)
