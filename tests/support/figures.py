"""What is read from a figure."""

import base64
import json

import numpy as np
import plotly.graph_objects as go

from clsviz.figures import Palette

PALETTE = Palette()


PLACEHOLDERS = Palette("#000001", "#000002", "#000003", "#000004", "#000038")


EVIL = "<b>bold</b> & <a href='x'>a link</a>"


def ranges_of(figure: go.Figure) -> list[tuple[float, float]]:
    """Where the axes of a figure start and end, as a browser receives it; 0 to 1 of one that finds them itself."""
    layout = json.loads(figure.to_json())["layout"]
    return [tuple(layout[axis].get("range", [0, 1])) for axis in ("xaxis", "yaxis")]


def places_of(bits: str) -> list[int]:
    """Which bits are set, of those that a browser is sent."""
    is_set = np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8), bitorder="little")
    return [int(place) for place in np.flatnonzero(is_set)]
