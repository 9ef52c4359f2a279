"""Run one experiment to its end."""

import os
from pathlib import Path

from clsviz import analysis, models
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Encoders, Extraction, Found, Store
from clsviz.progress import Progress


def open_store(folder: str | os.PathLike[str] | None) -> Store:
    """The store in `folder`; by default where CLSVIZ_STORE says, else in the user's cache."""
    return Store(None if folder is None else Path(folder).expanduser())


def extract(
    experiment: Experiment, kind: Kind, store: Store, progress: Progress, encoders: Encoders | None = None
) -> tuple[Extraction, Found]:
    """Measure what the store lacks, and return all of it; raises ClsvizError.

    A layer that the model does not have is reported before any work is done.
    """
    weights = models.fetch(experiment.model, progress=progress)
    if weights.n_layers is not None:
        analysis.check_layer(experiment.view, weights.n_layers)
    extraction = Extraction(experiment, store, encoders or Encoders.of(store), kind=kind)
    return extraction, extraction.run(progress)
