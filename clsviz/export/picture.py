"""The picture of the main page, to keep or to show elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, figures, statistics, words
from clsviz.analysis import Shown
from clsviz.experiment import Experiment
from clsviz.measuring import Found
from clsviz.settings import DEFAULT_OVERLAYS, Overlay


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen in a picture beside the sentences and the line.

    own: the visitor's sentences. zoom: the ends of both axes, (4,), unless all is shown. selected: which of the
    sentences shown are, intp (n,).
    """

    own: figures.Points | None = None
    overlays: Sequence[str] = DEFAULT_OVERLAYS
    zoom: Sequence[float] = ()
    selected: NDArray[np.intp] | None = None


def picture(experiment: Experiment, found: Found, shown: Shown, seen: Seen | None = None) -> figures.Figure:
    """Norm against length, one point per sentence up to `figures.MOST_POINTS`, with the line and the quantile curves.

    Where there are too few sentences for the curves, the medians take their place. seen: what else, or instead of them.
    """
    seen = seen or Seen()
    quantiles = analysis.quantiles(shown) if Overlay.CURVES in seen.overlays else None
    has_medians = Overlay.MEDIANS in seen.overlays or (Overlay.CURVES in seen.overlays and not quantiles)
    index = shown.index[: figures.MOST_POINTS]
    points = figures.Points(
        figures.labels_of([found.sentences[i] for i in index]),
        shown.lengths[: figures.MOST_POINTS],
        shown.norms[: figures.MOST_POINTS],
    )
    return figures.scatter(
        points,
        figures.Axes(
            words.axis_title(experiment),
            int(shown.lengths.max(initial=1)),
            unit=experiment.unit,
            length_title=words.length_title(experiment.view),
            zoom=seen.zoom,
        ),
        figures.Palette(),
        fit=shown.fit,
        quantiles=quantiles,
        bins=statistics.bins(shown.lengths, shown.norms) if has_medians else None,
        slices=statistics.slices(shown.lengths, shown.norms) if Overlay.RANGES in seen.overlays else None,
        own=seen.own,
        selected=None if seen.selected is None else seen.selected[seen.selected < figures.MOST_POINTS],
    )
