"""The picture of the main page, to keep or to show elsewhere."""

from clsviz import analysis, figures, statistics, words
from clsviz.analysis import Shown
from clsviz.experiment import Experiment
from clsviz.measuring import Found


def picture(experiment: Experiment, found: Found, shown: Shown) -> figures.Figure:
    """Norm against length, one point per sentence up to `figures.MOST_POINTS`, with the line and what lies over it.

    That is the quantile curves, or where there are too few sentences for them, the medians.
    """
    quantiles = analysis.quantiles(shown)
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
        quantiles=quantiles,
        bins=None if quantiles else statistics.bins(shown.lengths, shown.norms),
    )
