"""The main picture as a browser gets it that draws it into a chart that is there: JSON, with the labels apart."""

import base64
import hashlib
from collections.abc import Mapping

import numpy as np
import orjson
import plotly.graph_objects as go
import plotly.io.json
from numpy.typing import NDArray

from clsviz.figures.cloud import Picture, traces_of
from clsviz.figures.style import Labels


def blank(height: int) -> go.Figure:
    """The chart before anything is drawn into it; with what Streamlit would otherwise set in a second drawing."""
    return go.Figure(
        layout={
            "height": height,
            "xaxis": {"visible": False},
            "yaxis": {"visible": False},
            "hovermode": "closest",
            "clickmode": "event+select",
            "dragmode": "pan",
        }
    )


def sent(figure: Picture, numbers: NDArray[np.intp], sample: str, colours: Mapping[str, str]) -> bytes:
    """A figure made by `scatter`, without its template and the labels of its points, as a JSON object.

    numbers: those of the points in the sample, intp (n,). sample: the name under which `labels_sent` sends it. colours:
    which colours stand for which of the theme: a number for a category, “background” for that.
    """
    plain = figure.without_labels()
    plain["layout"].pop("template", None)
    drawn = {
        "sample": sample,
        "colours": dict(colours),
        "clouds": len(list(traces_of(len(numbers)))),
        "numbers": {"dtype": "i4", "bdata": base64.b64encode(numbers.astype("<i4").tobytes()).decode()},
        "figure": plain,
    }
    text: str = plotly.io.json.to_json_plotly(drawn)
    name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    return f'{{"name":"{name}",{text[1:]}'.encode()


def labels_sent(sample: str, labels: Labels) -> bytes:
    """The labels of all points of a sample, as a JSON object."""
    return orjson.dumps({"sample": sample, "labels": labels.tolist()})
