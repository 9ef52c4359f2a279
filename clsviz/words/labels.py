"""What each thing is called, once."""

from clsviz import models
from clsviz.experiment import Experiment
from clsviz.settings import Pooling


def vector_name(experiment: Experiment) -> str:
    """Which vector the norm is of, to stand after “the norm of”."""
    if experiment.pooling is Pooling.POOLER:
        return "its pooler output"
    vector = {Pooling.MEAN: "its mean vector", Pooling.MAX: "its maximum vector"}.get(experiment.pooling, "its [CLS]")
    if experiment.layer is None:
        return vector
    return f"{vector} after layer {experiment.layer}" if experiment.layer else f"{vector} at the embedding layer"


def question(experiment: Experiment) -> str:
    """What the page asks."""
    model = models.label(experiment.model)
    return f"Does {model} encode the length of a sentence in the norm of {vector_name(experiment)}?"


def axis_title(experiment: Experiment) -> str:
    """Title of the axis of norms; for the last layer, the original's."""
    if experiment.pooling is Pooling.POOLER:
        return "Norm of the pooler output"
    vector = {Pooling.MEAN: "mean vector", Pooling.MAX: "maximum vector"}.get(experiment.pooling, "[CLS] embedding")
    return f"Norm of the {vector}" + ("" if experiment.layer is None else f", layer {experiment.layer}")
