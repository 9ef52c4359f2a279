"""What a view shows of what was measured: filters and selects, and never touches the model."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis
from clsviz.errors import SettingError, UndefinedFitError
from clsviz.experiment import Experiment, Pooling
from clsviz.measurements import Measurements


@dataclass(frozen=True, eq=False)
class View:
    """The sentences shown, and the line through them.

    index: intp (n,), which of the measured sentences are shown. lengths: int32 (n,). norms: float32 (n,).
    fit: the regression, or None where there is none, and then `problem` says why.
    n_truncated: sentences under the cutoff that are left out, as the model saw only a part of them.
    """

    index: NDArray[np.intp]
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]
    fit: analysis.Fit | None
    problem: str
    n_truncated: int


def view(measurements: Measurements, experiment: Experiment) -> View:
    """Apply the experiment's length cutoff, layer and pooling; raises SettingError where the model has no such norm."""
    if experiment.pooling is Pooling.POOLER and not measurements.has_pooler:
        raise SettingError("pooling is pooler, but this model has no pooler. Choose cls.")
    if (experiment.layer or 0) > measurements.n_layers:
        raise SettingError(f"layer is {experiment.layer}, but this model has layers 0 to {measurements.n_layers}.")
    short = measurements.n_tokens < experiment.length_cutoff
    index = np.flatnonzero(short & ~measurements.truncated)
    lengths = measurements.n_tokens[index]
    norms = measurements.norms(experiment.pooling, experiment.layer)[index]
    n_truncated = int(np.count_nonzero(short)) - len(index)
    fit, problem = None, ""
    try:
        fit = analysis.fit(lengths, norms)
    except UndefinedFitError as error:
        problem = str(error)
        if n_truncated:
            problem += f" Left out: {n_truncated:,}, of which the model reads only the beginning."
    return View(index, lengths, norms, fit, problem, n_truncated)
