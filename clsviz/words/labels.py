"""What each thing is called, written once. Adding a pooling is a row in POOLINGS."""

from collections.abc import Iterable
from dataclasses import dataclass

from clsviz.experiment import Experiment, View
from clsviz.settings import Lengths, Overlay, Pooling, Unit
from clsviz.sources import models


@dataclass(frozen=True)
class PoolingLabels:
    """What the vector of a pooling is called.

    short: on a control, or beside a row of a picture. noun: in a sentence, after “its”. on_axis: after “Norm of the”.
    described: in full, in a sentence. line: in the legend of a chart over layers; "" if it has no line there.
    """

    short: str
    noun: str
    on_axis: str
    described: str
    line: str = ""


POOLINGS = {
    Pooling.CLS: PoolingLabels("[CLS]", "[CLS]", "[CLS] embedding", "[CLS]", "whole vector"),
    Pooling.MEAN: PoolingLabels(
        "Mean", "mean-pooled vector", "mean-pooled vector", "the mean of all token vectors", "mean-pooled"
    ),
    Pooling.MAX: PoolingLabels("Max", "max-pooled vector", "max-pooled vector", "the maximum over all token vectors"),
    Pooling.POOLER: PoolingLabels(
        "Pooler output", "pooler output", "pooler output", "the pooler output", "pooler output"
    ),
}

OVERLAYS = {Overlay.CURVES: "Curves", Overlay.MEDIANS: "Medians", Overlay.RANGES: "Lengths at a norm"}
"""What is drawn over the sentences."""


def is_imported(of: Experiment | View) -> bool:
    """Whether an experiment is about vectors that were imported; of a view alone this is not known, and taken as no."""
    return isinstance(of, Experiment) and models.Imported.parse(of.model) is not None


def cutoff_unit(experiment: Experiment) -> Unit:
    """What the length cutoff is in: tokens, or where their number was not imported, words."""
    name = models.Imported.parse(experiment.model)
    return Unit.WORDS if name and name.in_words else Unit.TOKENS


def about_cutoff(experiment: Experiment) -> str:
    """What the length cutoff does."""
    unit = cutoff_unit(experiment)
    text = f"Only sentences with fewer {unit} than this are shown and enter the regression."
    return text if is_imported(experiment) else f"{text} [CLS] and [SEP] are not counted."


def cutoff_units(names: Iterable[str]) -> str:
    """The same for several models."""
    return " or ".join(dict.fromkeys(cutoff_unit(Experiment(model=name)) for name in names))


def vector_name(of: Experiment | View, article: str = "its") -> str:
    """Which vector the norm is of, to stand after “the norm of”; article: “its” or “the”."""
    if is_imported(of):
        return f"{article} vector"
    view = of.view if isinstance(of, Experiment) else of
    noun = POOLINGS[view.pooling].noun
    vector = noun if article == "the" and view.pooling is Pooling.CLS else f"{article} {noun}"
    if view.pooling is Pooling.POOLER or view.layer is None:
        return vector
    return f"{vector} after layer {view.layer}" if view.layer else f"{vector} at the embedding layer"


def question(experiment: Experiment) -> str:
    """What the main page asks."""
    model = models.label(experiment.model)
    if is_imported(experiment):
        return f"Do the vectors {model} encode the length of a sentence in their norm?"
    return f"Does {model} encode the length of a sentence in the norm of {vector_name(experiment)}?"


def pooled(pooling: Pooling) -> str:
    """The vector of a pooling, to stand after “the”, or at the end of its line."""
    return "[CLS] vector" if pooling is Pooling.CLS else POOLINGS[pooling].noun


def question_of_layers(experiment: Experiment) -> str:
    """What the page “Where length lives” asks."""
    model = models.label(experiment.model)
    if is_imported(experiment):
        return f"Can the length of a sentence be read from the vectors {model}?"
    of_vector = "" if experiment.pooling is Pooling.CLS else f" into its {pooled(experiment.pooling)}"
    return f"Where does {model} write the length of a sentence{of_vector}?"


def question_of_sentence(experiment: Experiment) -> str:
    """What the page “Try a sentence” asks."""
    return f"What does {models.label(experiment.model)} make of a sentence?"


def question_of_models(experiment: Experiment) -> str:
    """What the page “Compare models” asks."""
    if is_imported(experiment):
        return "Which vectors encode the length of a sentence in their norm?"
    return "Which model finds the right text, and which gives length away?"


def question_of_parts(experiment: Experiment) -> str:
    """What the page “Inside the model” asks."""
    return f"What is inside {models.label(experiment.model)}?"


def length_title(view: View) -> str:
    """Title of the axis of lengths, which says when they are not the sentences' own."""
    return f"{'Shuffled' if view.lengths is Lengths.SHUFFLED else 'Sentence'} length (in {view.unit})"


def axis_title(of: Experiment | View) -> str:
    """Title of the axis of norms; for the last layer, that of the original experiment."""
    if is_imported(of):
        return "Norm of the vector"
    view = of.view if isinstance(of, Experiment) else of
    title = f"Norm of the {POOLINGS[view.pooling].on_axis}"
    return title if view.pooling is Pooling.POOLER or view.layer is None else f"{title}, layer {view.layer}"
