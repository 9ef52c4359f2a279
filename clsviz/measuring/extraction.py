"""From an experiment to measurements in the store: find what is there, estimate the rest, measure it part by part."""

import contextlib
import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import filelock
import numpy as np

from clsviz import corpora, models
from clsviz.experiment import Experiment
from clsviz.measurements import MAX_LENGTH, Kind
from clsviz.measuring.encoders import Encoders
from clsviz.measuring.estimate import LOAD_SECONDS, RATE_OF_VECTORS, TYPICAL_CHARACTERS, Cost, Machine, tokens_of
from clsviz.measuring.found import Found, with_audit
from clsviz.measuring.store import Key, Store, part_stop
from clsviz.progress import Progress, interruptible
from clsviz.settings import Precision
from clsviz.vectors import KINDS

if TYPE_CHECKING:
    from clsviz.encoder import Encoder


AUDIT_SIZE = 256
"""Sentences of a sample in the fast precision, the first ones, that are measured in the exact one as well."""


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
    ) -> None:
        """Of what was `found` before nothing is read again. Vectors are measured of the beginning of the sample."""
        self.experiment = experiment.of_prefix if kind is Kind.VECTORS else experiment
        self.kind = kind
        self.found = found
        self.corpus = found.corpus if found else None
        """What is known of the corpus, which may be before anything else is."""
        self.sentences_per_second: float | None = None
        """Of what this extraction measured; None while all came from the store."""
        self._store = store
        self._encoders = encoders
        self._machine = machine or Machine()

    def look_up(self, progress: Progress) -> Cost:
        """Find what is on this machine, without building or fetching anything, and estimate what is missing.

        Only of a model or a dataset that the catalogue does not have the Hub is asked how large it is, and what it
        holds.
        """
        experiment, folder = self.experiment, self._store.corpora
        weights = self._weights_here()
        self._forget_unless_of(weights)
        megabytes = 0 if weights else models.download_megabytes(experiment.model, progress)
        seconds = corpora.build_seconds(experiment.corpus, folder)
        if weights and not seconds and self.found:
            return self._cost(self._publish(self._read_stored(self.found)))
        if not seconds:
            try:
                sample = self._draw(corpora.find_sample, progress)
            except corpora.NotDownloadedError:
                if not corpora.is_in_catalogue(experiment.corpus):
                    self.corpus = corpora.fetch_corpus(experiment.selection, folder, progress)
                megabytes += corpora.download_megabytes(experiment.corpus, experiment.sample_size)
            else:
                if weights:
                    return self._cost(self._find(weights, sample))
        seconds += self._measuring_seconds(weights, experiment.sample_size, TYPICAL_CHARACTERS)
        return Cost(seconds, megabytes)

    def _weights_here(self) -> models.Weights | None:
        try:
            return models.find(self.experiment.model)
        except models.NotDownloadedError:
            return None

    def run(self, progress: Progress) -> Found:
        """Complete the experiment, keeping what is measured part by part; raises CancelledError or what went wrong."""
        progress.begin("Looking for the model")
        weights = models.fetch(self.experiment.model, progress)
        self._forget_unless_of(weights)
        if self.found is None:
            with contextlib.suppress(corpora.NotDownloadedError):
                if not corpora.build_seconds(self.experiment.corpus, self._store.corpora):
                    self._find(weights, self._draw(corpora.find_sample, progress))
        if self.found is None:
            # The model loads while the corpus is built or fetched. Whatever the precision, the exact one is needed
            # first.
            self._load(weights, Precision.EXACT)
            self._find(weights, self._draw(corpora.fetch_sample, progress))
        found = self.found
        assert found is not None  # as it was looked for
        if found.audit is not None and found.audit.n_missing:
            # First of all, so that nothing is shown whose error is not known.
            audit = self._complete(found.audit, progress, functools.partial(with_audit, found))
            found = replace(found, audit=audit)
        return self._complete(found, progress, lambda found: found)

    def _forget_unless_of(self, weights: models.Weights | None) -> None:
        """Drop what was found with other weights: a folder may hold others than when they were looked for."""
        if self.found is not None and (weights is None or self.found.weights.fingerprint != weights.fingerprint):
            self.found = None

    def _load(self, weights: models.Weights, precision: Precision) -> None:
        """Begin to load an encoder, which is found loaded later on; what is wrong with it is then said."""
        work = functools.partial(self._encoders.get, weights, precision)
        pool = ThreadPoolExecutor(1, thread_name_prefix="load")
        pool.submit(work)
        pool.shutdown(wait=False)

    def _draw(self, draw: Callable[..., corpora.Sample], progress: Progress) -> corpora.Sample:
        experiment = self.experiment
        sample = draw(experiment.selection, experiment.sample_size, experiment.seed, self._store.corpora, progress)
        self.corpus = sample.corpus
        return sample

    def _find(self, weights: models.Weights, sample: corpora.Sample) -> Found:
        """What is stored of a sample."""
        found = Found(weights, sample, self.experiment.precision, KINDS[self.kind].none())
        if found.precision is not Precision.EXACT:
            head = replace(sample, sentences=sample.sentences[:AUDIT_SIZE])
            found = replace(found, audit=Found(weights, head))
        return self._publish(self._read_stored(found))

    def _cost(self, found: Found) -> Cost:
        n_characters = float(np.mean([*map(len, found.sentences)]))
        return Cost(self._measuring_seconds(found.weights, found.n_missing, n_characters))

    def _publish(self, found: Found) -> Found:
        self.found = found
        return found

    def _key(self, found: Found) -> Key:
        of = found.weights.fingerprint, found.corpus.fingerprint, self.experiment.seed
        return Key(*of, MAX_LENGTH, found.precision.numbers, self.kind)

    def _read_stored(self, found: Found) -> Found:
        """Add the parts that follow what is measured, up to the first that is missing or damaged."""
        parts = self._store.parts(self._key(found))
        read, damaged_parts = [found.measurements], found.damaged_parts
        position = len(found.measurements)
        while position < len(found.sentences) and position in parts:
            measurements = self._store.read(parts[position])
            if measurements is None:
                damaged_parts += 1
                break
            read.append(measurements)
            position += len(measurements)
        measurements = KINDS[self.kind].concatenate(read).head(len(found.sentences))
        audit = found.audit and self._read_stored(found.audit)
        return replace(found, measurements=measurements, damaged_parts=damaged_parts, audit=audit)

    def _complete(self, found: Found, progress: Progress, whole: Callable[[Found], Found]) -> Found:
        """Measure what is missing of `found`, which is `whole(found)` or a part of it."""
        if not (found := self._read_stored(found)).n_missing:
            self._publish(whole(found))
            return found
        progress.begin(f"Loading {found.weights.label}")
        encoder = interruptible(lambda: self._encoders.get(found.weights, found.precision), progress, daemon=False)
        while (found := self._read_stored(found)).n_missing:
            try:
                with self._store.writer(self._key(found)):
                    found = self._measure(self._read_stored(found), encoder, progress, whole)
            except filelock.Timeout:
                progress.begin("Another process measures the same; waiting for it", len(found.sentences))
                time.sleep(0.5)
        self._publish(whole(found))
        return found

    def _measure(self, found: Found, encoder: "Encoder", progress: Progress, whole: Callable[[Found], Found]) -> Found:
        """Measure part by part, up to the next part that is there or the end of the sample."""
        key = self._key(found)
        n_measured = len(found.measurements)
        end = min([len(found.sentences), *(start for start in self._store.parts(key) if start > n_measured)])
        starts = [n_measured]
        while starts[-1] < end:
            starts.append(min(part_stop(starts[-1], encoder.part_size(self.kind)), end))
        checks = found.precision is not self.experiment.precision
        stage = "Measuring a few exactly" if checks else "Measuring"
        stage = "Measuring vectors" if self.kind is Kind.VECTORS else stage
        progress.begin(stage, len(found.sentences), n_measured)
        parts = (found.sentences[start:stop] for start, stop in pairwise(starts))
        first = began = time.monotonic()
        for measured in encoder.stream(parts, lambda done: progress.advance(n_measured + done), self.kind):
            part = self._store.append(key, len(found.measurements), measured, time.monotonic() - began)
            if self.kind is Kind.VECTORS:  # from now on they are read when they are asked for
                measured = self._store.read(part) or measured
            began = time.monotonic()
            joined = KINDS[self.kind].concatenate([found.measurements, measured])
            found = replace(found, measurements=joined, slower_because=encoder.slower_because)
            self._publish(whole(found))
            if not checks:
                self.sentences_per_second = (len(found.measurements) - n_measured) / (began - first)
        return found

    def _measuring_seconds(self, weights: models.Weights | None, n_sentences: int, n_characters: float) -> float:
        """Seconds to load the model and measure: as measured here before, else from the size of the model."""
        if not n_sentences:
            return 0
        numbers = self.experiment.precision.numbers
        rate = self._store.rate(weights.fingerprint, numbers, self.kind) if weights else None
        if rate is None and weights and self.kind is Kind.VECTORS:
            norms_rate = self._store.rate(weights.fingerprint, numbers)
            rate = norms_rate and norms_rate * RATE_OF_VECTORS
        if rate is None:
            n_parameters = weights.n_parameters if weights else models.n_parameters(self.experiment.model)
            rate = self._machine.rate / (2 * n_parameters * tokens_of(n_characters))
            rate *= RATE_OF_VECTORS if self.kind is Kind.VECTORS else 1
        return LOAD_SECONDS + n_sentences / rate
