"""The picture of the main page, to keep or to show elsewhere."""

from clsviz import figures, statistics, words
from clsviz.analysis import Shown
from clsviz.experiment import Experiment
from clsviz.measuring import Found


def picture(
    experiment: Experiment, found: Found, shown: Shown, shape: statistics.Shape | None = None
) -> figures.Figure:
    """Norm against length, one point per sentence up to `figures.MOST_POINTS`, with the line and the medians.

    shape: whose quantile curves are drawn instead of the medians, if given.
    """
    index = shown.index[: figures.MOST_POINTS]
    points = figures.Points(
        figures.labels_of([found.sentences[i] for i in index]),
        shown.lengths[: figures.MOST_POINTS],
        shown.norms[: figures.MOST_POINTS],
    )
    return figures.scatter(
        points,
        figures.Axes(words.axis_title(experiment.view), int(shown.lengths.max(initial=1)), unit=experiment.unit),
        figures.Palette(),
        fit=shown.fit,
        shape=shape,
        bins=None if shape else statistics.bins(shown.lengths, shown.norms),
    )
