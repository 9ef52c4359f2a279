"""What each thing is called, once."""

from clsviz import models
from clsviz.experiment import Experiment, View
from clsviz.settings import Pooling


def vector_name(view: View) -> str:
    """Which vector the norm is of, to stand after “the norm of”."""
    if view.pooling is Pooling.POOLER:
        return "its pooler output"
    vector = {Pooling.MEAN: "its mean vector", Pooling.MAX: "its maximum vector"}.get(view.pooling, "its [CLS]")
    if view.layer is None:
        return vector
    return f"{vector} after layer {view.layer}" if view.layer else f"{vector} at the embedding layer"


def question(experiment: Experiment) -> str:
    """What the page asks."""
    model = models.label(experiment.model)
    return f"Does {model} encode the length of a sentence in the norm of {vector_name(experiment.view)}?"


def axis_title(view: View) -> str:
    """Title of the axis of norms; for the last layer, the original's."""
    if view.pooling is Pooling.POOLER:
        return "Norm of the pooler output"
    vector = {Pooling.MEAN: "mean vector", Pooling.MAX: "maximum vector"}.get(view.pooling, "[CLS] embedding")
    return f"Norm of the {vector}" + ("" if view.layer is None else f", layer {view.layer}")
