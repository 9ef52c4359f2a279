"""Norm vs length for vectors from any model or API."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Final

import numpy as np

from clsviz.errors import SettingError, quote
from clsviz.experiment import Experiment
from clsviz.jobs import own_vectors
from clsviz.jobs.measure import Measured
from clsviz.jobs.own_vectors import OwnVectors
from clsviz.measurements import Norms
from clsviz.results import norms
from clsviz.results.provenance import command
from clsviz.results.result import Result
from clsviz.sources.models import Weights
from clsviz.sources.sampling import sample_of
from clsviz.store.results import Results

SETTINGS: Final = ("sample_size", "seed", "length_cutoff", "unit")
"""Settings that own vectors have; the cutoff is in words."""

CAVEAT: Final = "Lengths are in words, since own vectors come without tokens."


def measure(path: Path, experiment: Experiment, store: Results) -> Result:
    """The line of the norms of own vectors on the lengths of their texts.

    Raises CorpusError where the file cannot be used, SettingError where a setting cannot be heeded.
    """
    for field in fields(Experiment):
        value = getattr(experiment, field.name)
        if field.name not in SETTINGS and value != field.default:
            reason = f"{field.name} is {quote(value)}, which own vectors do not have."
            raise SettingError(reason, f"Leave {field.name} out.")
    own = own_vectors.read(path)
    view = replace(experiment, unit="words") if experiment.unit == "tokens" else experiment
    result = norms.norms(_measured(own, path, view), view, store)
    labels = {"x": f"Text length ({view.unit})", "y": f"Norm of the vectors in {own.name}"}
    is_in_words = view.unit == "words"
    return replace(
        result,
        question=f"Do the norms of the vectors in {quote(own.name)} follow the texts’ lengths?",
        details={},
        picture={**result.picture, "labels": labels},
        caveats=(CAVEAT, *result.caveats) if is_in_words else result.caveats,
        about={**result.about, "model": own.name, "corpus": own.name},
        command=command("measure", experiment, {"vectors": str(path)}),
    )


def _measured(own: OwnVectors, path: Path, experiment: Experiment) -> Measured:
    """Own vectors as if a model of no layers had measured them."""
    sample = sample_of(own.corpus, experiment)
    lengths, n = own.n_words[sample.order], len(sample)
    sizes = np.linalg.norm(own.vectors[sample.order], axis=1)[:, None]
    none = np.empty((n, 0), np.float32)
    unknown = np.full((n, 1), np.nan, np.float32)
    measured = Norms(lengths, np.zeros(n, np.bool_), sizes, none, unknown)
    weights = Weights(own.name, own.name, path, own.fingerprint)
    return Measured(f"own-{own.fingerprint}", weights, sample, measured, 0, 0.0, is_complete=True)
