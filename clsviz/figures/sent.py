"""The main picture as a browser gets it that draws it into a chart that is there: JSON, with the labels apart."""

import base64
import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import orjson
import plotly.graph_objects as go
import plotly.io.json
from numpy.typing import NDArray

from clsviz.figures.cloud import MARGIN, Picture
from clsviz.figures.style import Labels

if TYPE_CHECKING:
    from clsviz.statistics import Fit


def blank(height: int, number: int = 0) -> go.Figure:
    """The chart before anything is drawn into it; with what Streamlit would otherwise set in a second drawing.

    number: another one makes it another chart.
    """
    return go.Figure(
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
    it. colours: which colours stand for which of the theme: a number for a category, “background” for that. fit: the
    line that the points lie off; None if there is none.
    """
    plain = figure.without_labels()
    plain["layout"].pop("template", None)
    for cloud in plain["data"][: figure.n_clouds]:
        cloud.pop("customdata", None)
    is_drawn = np.zeros(numbers[-1] + 1 if len(numbers) else 0, dtype=bool)
    is_drawn[numbers] = True
    drawn = {
        "sample": sample,
        "colours": dict(colours),
        "n_clouds": figure.n_clouds,
        "is_drawn": base64.b64encode(np.packbits(is_drawn, bitorder="little").tobytes()).decode(),
        "line": fit and {"intercept": fit.intercept, "slope": fit.slope},
        "figure": plain,
    }
    text: str = plotly.io.json.to_json_plotly(drawn)
    name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f'{{"name":"{name}",{text[1:]}'.encode()


def labels_sent(sample: str, labels: Labels) -> bytes:
    """The labels of all points of a sample, as a JSON object."""
    return orjson.dumps({"sample": sample, "labels": labels.tolist()})
