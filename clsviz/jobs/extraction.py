"""From an experiment to measurements in the store, part by part."""

import contextlib
import functools
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import filelock

from clsviz.errors import ModelError, StoreError
from clsviz.experiment import Experiment
from clsviz.jobs.drawn import RedrawnError, encoder_of, identified
from clsviz.jobs.imports import check_asked
from clsviz.jobs.measurement import Found, LookUp, go_together, with_audit
from clsviz.jobs.share import Run, Share, Worker, measure_parts
from clsviz.jobs.worker_process import Encoders
from clsviz.measurements import Kind
from clsviz.progress import Progress, interruptible
from clsviz.settings import RANGES, Alteration, Precision
from clsviz.sources import catalogue, local_files, models, sampling
from clsviz.sources.sampling import Sample
from clsviz.store.parts import borders
from clsviz.store.store import Store
from clsviz.vectors import KINDS, Vectors

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder


class Extraction(LookUp):
    """The measurement of one experiment."""

    def run(self, progress: Progress) -> Found:
        """Complete the experiment, storing it part by part; raises ClsvizError, and CancelledError if cancelled.

        What is stored of an untrained model is left where its weights turn out to be others, and measured again.
        """
        try:
            return self._run(progress)
        except RedrawnError:
            self.found = None
            return self._run(progress)

    def _run(self, progress: Progress) -> Found:
        found = self._prepare(progress)
        if found.sample.whole is not None:
            return self._complete_whole(found, progress)
        return self._complete(found, progress, lambda found: found)

    def fetch(self, progress: Progress) -> Found:
        """Model and sentences, with what is stored; raises as `run` does, and measures nothing."""
        return self._find(self._fetch_weights(progress), self._draw(sampling.fetch_sample, progress))

    def worker(self, progress: Progress, share: Share | None = None) -> Worker:
        """One of several that measure the same together, each in a process of its own; raises as `run` does.

        What shows the error of the fast precision is measured by whichever comes first.
        """
        return self._worker(self._prepare(progress), progress, share)

    def _fetch_weights(self, progress: Progress) -> models.Weights:
        progress.begin("Looking for the model")
        weights = identified(models.fetch(self.experiment.model, progress), self._store)
        check_asked(weights, self.experiment)
        if weights.untrained and not weights.drawn:  # what is stored of them depends on it
            self._loaded(weights, Precision.EXACT, progress)
            weights = identified(weights, self._store)
        return weights

    def _prepare(self, progress: Progress) -> Found:
        """What is stored, once model and sentences are here and the error of the fast precision can be told."""
        weights = self._fetch_weights(progress)
        self._forget_unless_of(weights)
        if self.found is None:
            with contextlib.suppress(catalogue.NotDownloadedError):
                if not local_files.build_seconds(self.experiment.corpus, self._store.corpora):
                    self._find(weights, self._draw(sampling.find_sample, progress))
        if self.found is None:
            # The model loads while the corpus is built or fetched. Whatever the precision, the exact one comes first.
            self._load(weights, Precision.EXACT)
            self._find(weights, self._draw(sampling.fetch_sample, progress))
        found = self.found
        assert found is not None  # it was just looked for
        if found.audit is not None and found.audit.n_missing_of_sample:
            # Before anything else, so that nothing is shown before its error is known.
            audit = self._complete(found.audit, progress, functools.partial(with_audit, found))
            found = replace(found, audit=audit)
        for one in filter(None, (found, found.audit)):
            self._store.push(self.key_of(one))
        return found

    def _load(self, weights: models.Weights, precision: Precision) -> None:
        """Start loading an encoder in the background; whoever needs it later waits for it, and gets its error."""
        work = functools.partial(self._encoders.get, weights, precision)
        pool = ThreadPoolExecutor(1, thread_name_prefix="load")
        pool.submit(work)
        pool.shutdown(wait=False)

    def _worker(self, found: Found, progress: Progress, share: Share | None = None) -> Worker:
        encoder = self._loaded(found.weights, found.precision, progress)
        return Worker(found.sample, self.key_of(found), encoder, self._store, progress, share)

    def _loaded(self, weights: models.Weights, precision: Precision, progress: Progress) -> "AnyEncoder":
        progress.begin(f"Loading {weights.label}")
        get = functools.partial(encoder_of, weights, self._encoders, self._store, precision)
        return interruptible(get, progress, daemon=False)

    def _complete_whole(self, found: Found, progress: Progress) -> Found:
        """Measure what is missing of a whole corpus, and count it."""
        found = self._publish(self._count(self._read_stored(found), progress))
        while found.census is None:
            n_measured, seconds, n_missing = 0, 0.0, found.n_missing
            for measured in self._worker(found, progress).run():
                n_measured, seconds = n_measured + len(measured.measurements), seconds + measured.seconds
                self.sentences_per_second = n_measured / seconds
                if found.n_missing_of_sample:
                    found = self._read_stored(found)
                n_left = max(0, n_missing - n_measured - found.n_missing_of_sample)
                found = self._publish(replace(found, n_left=n_left))
            found = self._publish(self._count(self._read_stored(found), progress))
        return found

    def _complete(self, found: Found, progress: Progress, whole: Callable[[Found], Found]) -> Found:
        """Measure what `found` lacks; `whole(found)` is what to publish, of which `found` may be a part."""
        if not (found := self._read_stored(found)).n_missing_of_sample:
            self._publish(whole(found))
            return found
        encoder = self._encoder(found, progress)
        while (found := self._read_stored(found)).n_missing_of_sample:
            try:
                with self._store.writer(self.key_of(found)):
                    found = self._measure(self._read_stored(found), encoder, progress, whole)
            except filelock.Timeout:
                progress.begin("Another process is measuring the same; waiting for it", len(found.sentences))
                time.sleep(0.5)
        self._publish(whole(found))
        return found

    def _encoder(self, found: Found, progress: Progress) -> "AnyEncoder":
        encoder = self._loaded(found.weights, found.precision, progress)
        return encoder if self._alteration is None else encoder.altered(self._alteration, self.experiment.seed)

    def _measure(
        self, found: Found, encoder: "AnyEncoder", progress: Progress, whole: Callable[[Found], Found]
    ) -> Found:
        """Measure part by part, up to the next part that is already stored or the end of the sample."""
        key = self.key_of(found)
        n_measured = len(found.measurements)
        end = min([len(found.sentences), *(start for start in self._store.parts(key) if start > n_measured)])
        checks = found.precision is not self.experiment.precision
        stage = "Measuring a few exactly" if checks else "Measuring"
        stage = "Measuring vectors" if self.kind is Kind.VECTORS else stage

        progress.begin(stage, len(found.sentences), n_measured)
        runs = (Run(start, found.sentences[start:stop]) for start, stop in borders(n_measured, end, self.kind))
        parts = measure_parts(runs, encoder, self._store, key, lambda done: progress.advance(n_measured + done))
        total_seconds = 0.0
        for measured, seconds, _ in parts:
            if not go_together(found.measurements, measured):
                folder = self._store.root / key.folder_name
                raise StoreError(f"{folder} holds what another model measured. Delete this folder.")
            total_seconds += seconds
            joined = KINDS[self.kind].concatenate([found.measurements, measured])
            found = replace(found, measurements=joined, slow_path_reason=encoder.slow_path_reason)
            self._publish(whole(found))
            if not checks:
                self.sentences_per_second = (len(found.measurements) - n_measured) / total_seconds
            if found.n_missing_of_sample:
                progress.rest()
        return found


_ALTERING = 1
"""Raise it when an alteration changes sentences in another way; what was measured before is then ignored."""


def measure_texts(
    texts: Sequence[str],
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    fingerprint: str = "",
) -> Vectors:
    """The vectors of texts by the model that `found` is by; those that the store has are not measured again.

    experiment: what was found with. fingerprint: of what the texts are the beginning of, which they are a corpus of in
    the store; by default their own. Raises ClsvizError, and CancelledError if cancelled.
    """
    fingerprint = fingerprint or hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    sample = Sample(replace(found.corpus, fingerprint=fingerprint), list(texts), "")
    return _measure(sample, None, experiment, found, store, encoders, progress)


def measure_altered(
    n: int,
    alteration: Alteration,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    draw: int = 0,
) -> Vectors:
    """The vectors of the first n sentences of what was found, altered before the same model reads them.

    As `measure_texts`; in the store they are a corpus with a fingerprint made of the sample’s and the alteration, so
    that more sentences are measured in addition to those that are there. draw: of an alteration drawn at random, its
    number. Raises AlterationError where the model cannot read them.
    """
    drawn = replace(experiment, seed=(experiment.seed + draw) % (RANGES["seed"][1] + 1))
    return _measure(_altered(found, n, alteration, draw), alteration, drawn, found, store, encoders, progress)


def _altered(found: Found, n: int, alteration: Alteration, draw: int = 0) -> Sample:
    """The first n sentences of what was found, as a corpus of altered ones in the store."""
    text = f"{found.corpus.fingerprint}\n{alteration}\n{_ALTERING}" + (f"\n{draw}" if draw else "")
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return Sample(replace(found.corpus, fingerprint=fingerprint), found.sentences[:n], "")


def measure_untrained(
    seed: int,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
    alteration: Alteration | None = None,
) -> Vectors:
    """The vectors of the sentences that were found, by the same architecture with random weights of that seed.

    Otherwise as `measure_altered`; in the store they are those of the model “untrained:…”.
    """
    n = len(found.measurements)
    sample = _altered(found, n, alteration) if alteration else found.sample.head(n)
    name = str(replace(models.Name.parse(found.weights.pinned), untrained=True, seed=seed))
    weights = identified(models.fetch(name, progress), store)
    with contextlib.suppress(RedrawnError):  # what is stored of other weights is left where it is
        encoder_of(weights, encoders, store)
    nothing_yet = Found(identified(weights, store), sample, measurements=Vectors.none(), seed=found.seed)
    untrained = replace(experiment.for_vectors, model=name)
    extraction = Extraction(untrained, store, encoders, nothing_yet, kind=Kind.VECTORS, alteration=alteration)
    return extraction.run(progress).vectors


def _measure(
    sample: Sample,
    alteration: Alteration | None,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
) -> Vectors:
    if identified(models.fetch(experiment.model, progress), store).fingerprint != found.weights.fingerprint:
        raise ModelError(f"The files of {found.weights.label} were changed meanwhile. Reload the page.")
    nothing_yet = Found(found.weights, sample, measurements=Vectors.none(), seed=experiment.seed)
    extraction = Extraction(experiment, store, encoders, nothing_yet, kind=Kind.VECTORS, alteration=alteration)
    return extraction.run(progress).vectors
