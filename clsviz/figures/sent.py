"""Figures as the browser gets them that draws them: JSON, without what it adds itself."""

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
import plotly.io.json
import plotly.offline
from numpy.typing import NDArray

from clsviz.figures.cloud import Picture
from clsviz.figures.density import labels
from clsviz.figures.overlays import rings
from clsviz.figures.style import Palette

if TYPE_CHECKING:
    from clsviz.statistics import Fit


def plotly_script() -> str:
    """What draws figures in a browser."""
    script: str = plotly.offline.get_plotlyjs()
    return script


def plain_json(figure: go.Figure) -> str:
    """A figure without its template: the browser has that of the theme."""
    return _json(figure.to_dict())


def _json(plain: dict[str, Any]) -> str:
    plain["layout"].pop("template", None)
    text: str = plotly.io.json.to_json_plotly(plain)
    return text


def sent(figure: Picture, numbers: NDArray[np.intp], fit: "Fit | None" = None, *, has_labels: bool = True) -> str:
    """A figure made by `scatter`, as JSON; the browser works out the distances from the line, and what is in cells.

    numbers: those of the points in the sample, intp (n,), ascending. fit: the line that the points lie off; None if
    there is none. has_labels: whether the labels of the points are in it.
    """
    plain = figure.without_labels()
    cloud = plain["data"][figure.cloud] if figure.has_cloud else {}
    cloud.pop("customdata", None)
    is_drawn = np.zeros(numbers[-1] + 1 if len(numbers) else 0, dtype=bool)
    is_drawn[numbers] = True
    plain["sent"] = {
        "cloud": figure.cloud if figure.has_cloud else -1,
        "is_drawn": base64.b64encode(np.packbits(is_drawn, bitorder="little").tobytes()).decode(),
        "line": fit and {"intercept": fit.intercept, "slope": fit.slope},
        "labels": figure.labels.tolist() if has_labels else None,
        "ring": rings(Palette()).to_plotly_json(),
        "zoom": {"of": figure.axes.zoom_of, "whole": [0, figure.axes.longest + 1]},
    }
    if figure.density is not None:
        of_lengths, of_norms = labels(figure.density, figure.axes.unit)
        counts = figure.density.counts.T.tolist()
        plain["sent"]["density"] = {"counts": counts, "lengths": of_lengths, "norms": of_norms}
    return _json(plain)
