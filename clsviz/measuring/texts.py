"""Texts that are no sample, and samples whose sentences are altered: measured and kept like a sample of their own."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from clsviz.errors import ModelError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring.extraction import Extraction
from clsviz.measuring.found import Found
from clsviz.measuring.store import Store
from clsviz.measuring.worker_process import Encoders
from clsviz.progress import Progress
from clsviz.settings import Alteration
from clsviz.sources import models
from clsviz.sources.sampling import Sample
from clsviz.vectors import Vectors

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
) -> Vectors:
    """The vectors of the first n sentences of what was found, altered before the same model reads them.

    As `measure_texts`; in the store they are a corpus with a fingerprint made of the sample’s and the alteration, so
    that more sentences are measured in addition to those that are there. Raises AlterationError where the model cannot
    read them.
    """
    fingerprint = hashlib.sha256(f"{found.corpus.fingerprint}\n{alteration}\n{_ALTERING}".encode()).hexdigest()
    sample = Sample(replace(found.corpus, fingerprint=fingerprint), found.sentences[:n], "")
    return _measure(sample, alteration, experiment, found, store, encoders, progress)


def _measure(
    sample: Sample,
    alteration: Alteration | None,
    experiment: Experiment,
    found: Found,
    store: Store,
    encoders: Encoders,
    progress: Progress,
) -> Vectors:
    if models.fetch(experiment.model, progress).fingerprint != found.weights.fingerprint:
        raise ModelError(f"The files of {found.weights.label} were changed meanwhile. Reload the page.")
    nothing_yet = Found(found.weights, sample, measurements=Vectors.none(), seed=experiment.seed)
    extraction = Extraction(experiment, store, encoders, nothing_yet, kind=Kind.VECTORS, alteration=alteration)
    return extraction.run(progress).vectors
