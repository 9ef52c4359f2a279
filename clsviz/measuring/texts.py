"""Texts made of the sentences of a sample, measured and kept like a sample of their own."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from clsviz.corpora import Sample
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring.encoders import Encoders
from clsviz.measuring.extraction import Extraction
from clsviz.measuring.found import Found
from clsviz.measuring.store import Store
from clsviz.progress import Progress
from clsviz.vectors import Vectors


def measure_texts(
    texts: Sequence[str], experiment: Experiment, found: Found, store: Store, encoders: Encoders, progress: Progress
) -> Vectors:
    """The vectors of texts by the model that `found` is by; those that the store has are not measured again.

    experiment: what was found with. In the store they are a corpus with the fingerprint of the texts. Raises
    ClsvizError, and CancelledError if cancelled.
    """
    fingerprint = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
    sample = Sample(replace(found.corpus, fingerprint=fingerprint), list(texts), "")
    nothing_yet = Found(found.weights, sample, measurements=Vectors.none(), seed=experiment.seed)
    extraction = Extraction(experiment, store, encoders, nothing_yet, kind=Kind.VECTORS)
    return extraction.run(progress).vectors
