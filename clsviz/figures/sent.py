"""The main picture as a browser gets it that draws it into a chart that is there: JSON, with the labels apart."""

import base64
import functools
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import plotly.graph_objects as go
import plotly.io.json
from numpy.typing import NDArray

from clsviz.figures.cloud import MARGIN, Picture
from clsviz.figures.density import Density, labels
from clsviz.figures.style import Labels

if TYPE_CHECKING:
    from clsviz.statistics import Fit


class Blank(go.Figure):  # type: ignore[misc]  # plotly has no types
    """A chart that never changes: as a dict it is made once, where Plotly would copy all of it each time."""

    @functools.cached_property
    def _as_dict(self) -> dict[str, Any]:
        return dict(super().to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The figure, which is not to be changed."""
        return self._as_dict


def blank(height: int, number: int = 0) -> Blank:
    """The chart before anything is drawn into it; with what Streamlit would otherwise set in a second drawing.

    number: another one makes it another chart.
    """
    return Blank(
        layout={
            "height": height,
            "meta": number,
            "margin": MARGIN,
            "xaxis": {"visible": False},
            "yaxis": {"visible": False},
            "hovermode": "closest",
            "clickmode": "event+select",
            "dragmode": "pan",
        }
    )


def sent(
    figure: Picture, numbers: NDArray[np.intp], sample: str, colours: Mapping[str, str], fit: "Fit | None" = None
) -> bytes:
    """A figure made by `scatter`, without its template and what the browser knows of its points, as a JSON object.

    numbers: those of the points in the sample, intp (n,), ascending. sample: the name under which `labels_sent` sends
    it; those over a density bring their labels along. colours: which colours stand for which of the theme: a number for
    a category, “scale” and a number for one of the scale, “background” for that. fit: the line that the points lie off;
    None if there is none.
    """
    plain = figure.without_labels()
    plain["layout"].pop("template", None)
    for cloud in plain["data"][figure.clouds]:
        cloud.pop("customdata", None)
    drawn = {
        "colours": dict(colours),
        "n_clouds": figure.clouds.stop - figure.clouds.start,
        "line": fit and {"intercept": fit.intercept, "slope": fit.slope},
        "figure": plain,
    }
    drawn |= _of_points(numbers, sample) if figure.density is None else _of_density(figure, figure.density)
    text: str = plotly.io.json.to_json_plotly(drawn)
    name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f'{{"name":"{name}",{text[1:]}'.encode()


def _of_points(numbers: NDArray[np.intp], sample: str) -> dict[str, Any]:
    """Which sentences of the sample the points are: the browser has their labels."""
    is_drawn = np.zeros(numbers[-1] + 1 if len(numbers) else 0, dtype=bool)
    is_drawn[numbers] = True
    bits = np.packbits(is_drawn, bitorder="little").tobytes()
    return {"sample": sample, "is_drawn": base64.b64encode(bits).decode()}


def _of_density(figure: Picture, density: Density) -> dict[str, Any]:
    """The labels of the few points that there are, what is in the cells, and which part of the picture they are for."""
    of_lengths, of_norms = labels(density, figure.axes.unit)
    return {
        "labels": figure.labels.tolist(),
        "density": {"counts": density.counts.T.tolist(), "lengths": of_lengths, "norms": of_norms},
        "zoom": {"of": figure.axes.zoom_of, "ends": list(density.seen), "whole": [0, figure.axes.longest + 1]},
    }


def labels_sent(sample: str, labels: Labels) -> bytes:
    """The labels of all points of a sample, as a JSON object."""
    return orjson.dumps({"sample": sample, "labels": labels.tolist()})
