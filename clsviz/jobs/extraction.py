"""The measurement of one experiment: what is on this machine, what the rest would take, and measuring it."""

import contextlib
import functools
import os
import threading
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clsviz.errors import ClsvizError, StoreError
from clsviz.experiment import Experiment
from clsviz.jobs.drawn import RedrawnError, drawn, encoder_of, identified
from clsviz.jobs.estimate import (
    GPU_RATE,
    LOAD_SECONDS,
    N_TRIED,
    RATE_OF_VECTORS,
    TRIAL_SECONDS,
    TYPICAL_CHARACTERS,
    Cost,
    Machine,
    Plan,
    operations_of,
    tokens_of,
)
from clsviz.jobs.imports import check_asked, check_found, max_length
from clsviz.jobs.share import Share, Worker
from clsviz.jobs.worker_process import Encoders
from clsviz.measurements import KINDS, POOLED, Kind, Measurements, Vectors, kind_of
from clsviz.progress import Progress, interruptible
from clsviz.settings import ALL, RANGES, Alteration, Precision
from clsviz.sources import catalogue, local_files, models, sampling
from clsviz.store.parts import Key, Shape, missing, n_between, read_outline
from clsviz.store.store import Store

if TYPE_CHECKING:
    from clsviz.store.census import Counted

AUDIT_SIZE = 256
"""How many sentences of a fast sample, from its start, are also measured in the exact precision."""


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

    @property
    def is_complete(self) -> bool:
        """True if all is measured, and where that is a whole corpus, counted."""
        return not self.n_missing and (self.sample.whole is None or self.census is not None)


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


class Extraction:
    """The measurement of one experiment; `found` may be read by any thread at any time."""

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
        self.weights = weights = self._weights_here()
        self._forget_unless_of(weights)
        megabytes = 0 if weights else models.download_megabytes(experiment.model, progress)
        seconds = local_files.build_seconds(experiment.corpus, folder)
        n_sentences = min(experiment.sample_size, RANGES["sample_size"][1])
        if not seconds:
            try:
                sample = self.found.sample if self.found else self._draw(progress)
            except catalogue.NotDownloadedError:
                is_whole = experiment.sample_size == ALL
                if is_whole or not catalogue.is_in_catalogue(experiment.corpus):
                    self.corpus = sampling.find_corpus(experiment.selection, folder, progress, online=True)
                if is_whole and self.corpus:
                    n_sentences = self.corpus.n_about
                    megabytes += self.corpus.n_bytes // 10**6
                else:
                    megabytes += catalogue.download_megabytes(experiment.corpus, n_sentences)
            else:
                if weights:
                    found = self._find(weights, sample, progress)
                    return Cost(self.seconds(found, found.n_missing, has_trial=True))
                n_sentences = sample.n_sentences
        return Cost(seconds + self._measuring_seconds(weights, n_sentences, TYPICAL_CHARACTERS), megabytes)

    def find_stored(self, progress: Progress) -> Found | None:
        """Find what is stored; None if there is nothing. Nothing is measured, built or fetched, and nobody is asked."""
        experiment, folder, weights = self.experiment, self._store.corpora, self._weights_here()
        if weights is None or local_files.build_seconds(experiment.corpus, folder):
            return None
        try:
            corpus = sampling.find_corpus(experiment.selection, folder, progress, experiment.sample_size)
            key = self._key(weights, corpus, experiment.precision)
            if not self._store.parts(key) and self._outline(key) is None:
                return None  # the sample need not be drawn
            return self._find(weights, self._draw(progress), progress)
        except catalogue.NotDownloadedError:
            return None

    def fetch(self, progress: Progress) -> Found:
        """Model and sentences, with what is stored; raises as `run` does, and measures nothing."""
        weights = self._fetch_weights(progress)
        self.found = found = self._stored(weights, self._draw(progress, online=True))
        return found

    def run(self, progress: Progress) -> Found:
        """Complete the experiment, storing it part by part; raises ClsvizError, and CancelledError if cancelled.

        What is stored of an untrained model is left where its weights turn out to be others, and measured again.
        """
        try:
            return self._complete(self._prepare(progress), progress)
        except RedrawnError:
            self.found = None
            return self._complete(self._prepare(progress), progress)

    def worker(self, progress: Progress, share: Share | None = None) -> Worker:
        """One of several that measure the same together, each in a process of its own; raises as `run` does.

        What shows the error of the fast precision is measured by whichever comes first.
        """
        return self._worker(self._prepare(progress), progress, share)

    def key_of(self, found: Found) -> Key:
        """Where the store has what was found."""
        return self._key(found.weights, found.corpus, found.precision)

    @property
    def measured_rate(self) -> float | None:
        """Sentences a second at which this model was last measured here, in this precision; None if it was not."""
        return self._measured_rate(self.weights, self.kind)

    def seconds(self, found: Found, n_sentences: int, *, has_trial: bool = False) -> float:
        """About how long it takes to measure so many sentences like those that were found.

        has_trial: whether to measure a few of them first, if the model is in memory: how fast it is depends on their
        lengths, and on what else the machine does.
        """
        n_characters = float(np.mean([*map(len, found.sentences)]))
        seconds = self._measuring_seconds(found.weights, n_sentences, n_characters)
        if not has_trial or n_sentences < 10 * N_TRIED or not self._encoders.has(found.weights, found.precision):
            return seconds
        n = max(8, int(N_TRIED * min(1.0, TYPICAL_CHARACTERS / max(n_characters, 1.0))))  # long ones take longer
        some = found.sentences[:: -(-len(found.sentences) // n)]

        def measure() -> float:
            encoder = encoder_of(found.weights, self._encoders, self._store, found.precision)
            return encoder.seconds_for(some, self.kind)

        try:
            of_some = interruptible(measure, Progress(), daemon=False, most_seconds=TRIAL_SECONDS)
            return of_some * n_sentences / len(some)
        except (TimeoutError, ClsvizError):  # whoever measures all gets the error
            return seconds

    def _weights_here(self) -> models.Weights | None:
        try:
            weights = identified(models.find(self.experiment.model), self._store)
        except models.NotDownloadedError:
            return None
        check_asked(weights, self.experiment)
        return weights

    def _fetch_weights(self, progress: Progress) -> models.Weights:
        progress.begin("Looking for the model")
        weights = models.fetch(self.experiment.model, progress)
        check_asked(weights, self.experiment)
        find = functools.partial(drawn, weights, self._encoders, self._store)
        return interruptible(find, progress, daemon=False) if weights.untrained else weights

    def _forget_unless_of(self, weights: models.Weights | None) -> None:
        """Drop what was found with other weights: those in a local folder may have changed since."""
        if self.found is not None and (weights is None or self.found.weights.fingerprint != weights.fingerprint):
            self.found = None

    def _draw(self, progress: Progress, *, online: bool = False) -> sampling.Sample:
        asked = self.experiment.selection, self.experiment.sample_size, self.experiment.seed
        sample = sampling.find_sample(*asked, self._store.corpora, progress, online=online)
        self.corpus = sample.corpus
        return sample

    def _key(self, weights: models.Weights, corpus: catalogue.Corpus, precision: Precision) -> Key:
        of = weights.fingerprint, corpus.fingerprint, self.experiment.seed
        return Key(*of, max_length(weights), precision.numbers, self.kind)

    def _outline(self, key: Key) -> Vectors | None:
        """What came with clsviz in the place of these vectors."""
        return read_outline(self._store.shipped, key) if self._outlines and self._store.shipped else None

    def _find(self, weights: models.Weights, sample: sampling.Sample, progress: Progress) -> Found:
        """What is known of a sample without measuring, published: what is stored, the census of all, or an outline."""
        found = self._read_stored(self.found) if self.found else self._stored(weights, sample)
        if sample.whole is not None:
            from clsviz.store.census import is_kept  # SciPy loads only now

            if not is_kept(self._store, self.key_of(found), sample.n_sentences):
                self.found = found  # to be seen while all are counted
        found, n = self._count(found, progress), len(found.sentences)
        outline = self._outline(self.key_of(found)) if found.n_missing else None
        if outline is not None and len(outline) >= n:
            found = replace(found, measurements=outline.head(n), n_shipped=n)
        self.found = found
        return found

    def _stored(self, weights: models.Weights, sample: sampling.Sample) -> Found:
        """What the store has of a sample; raises ModelError where imported vectors are not all there."""
        of = self.experiment
        found = Found(weights, sample, of.precision, KINDS[self.kind].none(), seed=of.seed, n_asked=of.sample_size)
        if of.precision is not Precision.EXACT:
            found = replace(found, audit=Found(weights, sample.head(AUDIT_SIZE), seed=of.seed))
        found = self._read_stored(found)
        check_found(weights, found.n_missing, self.kind)
        return found

    def _read_stored(self, found: Found) -> Found:
        """Add the stored parts that follow what is there, up to the first that is missing or damaged."""
        parts = self._store.parts(self.key_of(found))
        read, damaged_parts, n_shipped = [found.measurements], found.damaged_parts, found.n_shipped
        position = len(found.measurements)
        while position < len(found.sentences) and position in parts:
            part = parts[position]
            measurements = self._store.read(part)
            if measurements and not _are_of_one_model(read[-1], measurements):
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

    def _count(self, found: Found, progress: Progress) -> Found:
        """Add what is known of all sentences of a whole corpus, or how many are left to measure."""
        if found.sample.whole is None:
            return found
        from clsviz.store.census import take_census  # SciPy loads only now

        key, n = self.key_of(found), found.sample.n_sentences
        n_missing = n_between(missing(self._store.parts(key).values(), n))
        census = None if n_missing else take_census(self._store, key, n, progress)
        if census is None and not n_missing:  # a part was found damaged, and deleted
            found = replace(found, damaged_parts=found.damaged_parts + 1)
            n_missing = n_between(missing(self._store.parts(key).values(), n))
        return replace(found, census=census, n_left=max(0, n_missing - found.n_missing_of_sample))

    def _prepare(self, progress: Progress) -> Found:
        """What is stored, once model and sentences are here and the error of the fast precision can be told."""
        weights = self._fetch_weights(progress)
        self._forget_unless_of(weights)
        found = self.found
        if found is None and not local_files.build_seconds(self.experiment.corpus, self._store.corpora):
            with contextlib.suppress(catalogue.NotDownloadedError):
                self.found = found = self._stored(weights, self._draw(progress))
        if found is None:
            # The model loads while the corpus is built or fetched. Whatever the precision, the exact one comes first.
            # Whoever needs it later waits for it, and gets its error.
            def load() -> None:
                with contextlib.suppress(Exception):
                    self._encoders.get(weights)

            threading.Thread(target=load, name="load").start()  # no daemon: Python must not end while torch loads
            self.found = found = self._stored(weights, self._draw(progress, online=True))
        if found.audit is not None and found.audit.n_missing:
            # Before anything else, so that nothing is shown before its error is known.
            found = replace(found, audit=self._complete(found.audit, progress, found))
        for one in filter(None, (found, found.audit)):
            self._store.push(self.key_of(one))
        return found

    def _complete(self, found: Found, progress: Progress, fast: Found | None = None) -> Found:
        """Measure what is missing, and publish what is known after every part; fast: what `found` is the audit of."""

        def published(found: Found) -> Found:
            self.found = found if fast is None else replace(fast, audit=found)
            return found

        found = published(self._count(self._read_stored(found), progress))
        n_measured, seconds = 0, 0.0
        while not found.is_complete:
            worker = self._worker(found, progress)
            for measured in worker.run():
                if not _are_of_one_model(found.measurements, measured.measurements):
                    folder = self._store.root / self.key_of(found).folder_name
                    raise StoreError(f"{folder} holds what another model measured. Delete this folder.")
                n_measured, seconds = n_measured + len(measured.measurements), seconds + measured.seconds
                if fast is None:
                    self.sentences_per_second = n_measured / seconds
                if found.n_missing_of_sample:
                    found = self._read_stored(found)
                n_left = max(0, worker.n_missing - found.n_missing_of_sample)
                found = published(replace(found, n_left=n_left, slow_path_reason=worker.encoder.slow_path_reason))
            found = published(self._count(self._read_stored(found), progress))
        return found

    def _worker(self, found: Found, progress: Progress, share: Share | None = None) -> Worker:
        """What measures the parts that are missing, once the model is loaded."""
        progress.begin(f"Loading {found.weights.label}")
        get = functools.partial(encoder_of, found.weights, self._encoders, self._store, found.precision)
        encoder = interruptible(get, progress, daemon=False)
        if self._alteration is not None:
            encoder = encoder.altered(self._alteration, self.experiment.seed)
        stage = "Measuring" if found.precision is self.experiment.precision else "Measuring a few exactly"
        stage = {Kind.VECTORS: "Measuring vectors", Kind.MEANS: "Measuring means"}.get(self.kind, stage)
        return Worker(found.sample, self.key_of(found), encoder, self._store, progress, share, stage)

    def _measured_rate(self, weights: models.Weights | None, kind: Kind) -> float | None:
        numbers = self.experiment.precision.numbers
        return self._store.rate(weights.fingerprint, numbers, kind) if weights else None

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


def _are_of_one_model(some: Measurements, others: Measurements) -> bool:
    """Whether one model can have measured both."""
    return not (len(some) and len(others)) or Shape.of(some) == Shape.of(others)


_LAYERS, _WIDTH = 12, 768
"""Those of BERT base, for a model whose files do not tell."""


def plan(extraction: Extraction, machine: Machine, progress: Progress) -> Plan:
    """What an extraction of norms would take, which is looked up but not run; raises as `look_up` does.

    The machine's speed is measured for two seconds if it is needed.
    """
    cost = extraction.look_up(progress)
    if extraction.measured_rate is None:
        machine.measure()
    return planned(extraction, cost, machine)


def planned(extraction: Extraction, cost: Cost, machine: Machine) -> Plan:
    """The same of one that was looked up, at what that said it would cost; takes a moment."""
    found, experiment = extraction.found, extraction.experiment
    weights = extraction.weights
    corpus = extraction.corpus
    is_counted = found is not None or experiment.sample_size != ALL or (corpus and corpus.n_sentences) is not None
    in_corpus = (corpus and (corpus.n_sentences or corpus.n_about)) or RANGES["sample_size"][1]
    n_sentences = found.sample.n_sentences if found else min(experiment.sample_size, in_corpus)
    n_missing = found.n_missing_of_sample + found.n_left if found else n_sentences
    n_characters = float(np.mean([*map(len, found.sentences)])) if found and found.sentences else TYPICAL_CHARACTERS
    n_parameters = weights.n_parameters if weights else models.n_parameters(experiment.model)
    of_a_sentence = max(operations_of(n_parameters, n_characters), 1.0)
    rate = extraction.measured_rate
    layers = (weights and weights.n_layers) or _LAYERS
    width = (weights and weights.width) or _WIDTH
    return Plan(
        n_sentences=n_sentences,
        n_missing=n_missing,
        n_tokens=round(n_missing * tokens_of(n_characters)),
        rate=rate or machine.rate / of_a_sentence,
        is_measured=rate is not None,
        gpu_seconds=n_missing * of_a_sentence / GPU_RATE,
        norms_bytes=n_sentences * (4 + 1 + 4 * (layers + 2)),
        vectors_bytes=n_sentences * 2 * (len(POOLED) * (layers + 1) + 1) * width,
        megabytes=cost.megabytes,
        is_counted=is_counted,
    )
