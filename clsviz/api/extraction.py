"""Run one experiment to its end."""

import os
from pathlib import Path

from clsviz import analysis, models
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Encoders, Extraction, Found, Store, is_url
from clsviz.progress import Progress


def open_store(place: str | os.PathLike[str] | None) -> Store:
    """The store in a folder or behind a URL; by default where CLSVIZ_STORE says, else in the user's cache."""
    return Store(place if place is None or is_url(place) else Path(place).expanduser())


def extract(
    experiment: Experiment, kind: Kind, store: Store, progress: Progress, encoders: Encoders | None = None
) -> tuple[Extraction, Found]:
    """Measure what the store lacks, and return all of it; raises ClsvizError.

    A layer that the model does not have is reported before any work is done.
    """
    weights = models.fetch(experiment.model, progress=progress)
    if weights.n_layers is not None:
        analysis.check_layer(experiment.view, weights.n_layers)
    extraction = Extraction(experiment, store, encoders or Encoders(), kind=kind)
    return extraction, extraction.run(progress)
