"""Notes on views that a model or a page does not have."""

from collections.abc import Sequence

from clsviz.experiment import Experiment
from clsviz.words.labels import cutoff_unit, is_imported


def about_cutoff(experiment: Experiment) -> str:
    """What the length cutoff does."""
    unit = cutoff_unit(experiment)
    text = f"Only sentences with fewer {unit} than this are shown and enter the regression."
    return text if is_imported(experiment) else f"{text} [CLS] and [SEP] are not counted."


ONLY_CLS_HERE = (
    "Norms of mean- and max-pooled vectors are on the page “Where length lives”. This page now shows the norm of [CLS]."
)


def no_layer(model: str, layer: int, n_layers: int) -> str:
    """That the model, called by its label, has no such layer."""
    return f"{model} has no layer {layer}. Showing its last, layer {n_layers}."


def no_pooler(model: str) -> str:
    """That the model, called by its label, has no pooler."""
    return f"{model} has no pooler. Showing the norm of [CLS] instead."


def cannot_be(names: Sequence[str]) -> str:
    """That settings, called as in a link, had values that they cannot have."""
    which = ", ".join(names)
    return f"The page was sent a value that {which} cannot have, and took the default instead."


def part_drawn(n_drawn: int, n: int, picture: str = "The picture") -> str:
    """Said where fewer points are drawn than there are sentences."""
    return f"{picture} shows {n_drawn:,} of {n:,} sentences; the numbers use all of them."


def density(n: int, n_seen: int, n_sampled: int, n_more: int, *, is_zoomed: bool) -> str:
    """What colours and points of a density of n sentences stand for.

    n_seen: of them in the part that is seen, of which n_sampled are points; n_more: points beside these, all selected.
    """
    here = f"the {n_seen:,} in this part" if is_zoomed else f"the {n:,}"
    if n_sampled < n_seen:
        points = f"the points are {n_sampled:,} of {here}, drawn at random"
    elif n_seen:
        points = f"the points are all {here.removeprefix('the ')}"
    else:
        return "No sentence lies in this part of the picture."
    more = f", and {n_more:,} more that {'is' if n_more == 1 else 'are'} selected" if n_more else ""
    return f"A cell’s colour is the number of sentences of that length and norm; {points}{more}."


def of_zoom(*, is_zoomed: bool) -> str:
    """What to do for another part of a density."""
    return "Double-click to see all." if is_zoomed else "Zoom in for finer cells and more points."
