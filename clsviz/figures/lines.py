"""Errors of probes by layer: a line for the vector, one for its norm."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.figures.style import (
    LINE,
    OTHER,
    OWN,
    POINTS,
    SUMMARY,
    Label,
    annotations,
    area,
    axis,
    layout,
)
from clsviz.results.numbers import DASH, length, percent
from clsviz.results.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

LOOKS: Final[dict[str, tuple[str, str, str]]] = {
    "cls": ("[CLS] vector", LINE, "circle"),
    "mean": ("mean-pooled", OWN, "diamond"),
    "pooler": ("pooler output", OTHER, "square"),
}
"""The label, the colour and the symbol of each vector."""

ROOM: Final = 0.04
"""Height of a label above its line, and of the picture above all, as a share of the picture."""

Trace = dict[str, Any]


def probes(result: Result) -> "go.Figure":
    """The figure of a result of `results.probes`; customdata of a point is its row of the table.

    It draws the table, and of the picture guess, an error, and unit, of all errors.
    """
    import plotly.graph_objects as go

    table, guess, unit = result.table, result.picture["guess"], result.picture["unit"]
    of_cls = table[table["vector"] == "cls"]
    last = int(table["layer"].max())
    heights = table[["probe_error", "norm_error", "random_high"]].to_numpy(np.float64)
    high = float(np.nanmax([1, guess, *heights.ravel()])) * (1 + 2 * ROOM)
    xs, ys = [-0.03 * max(last, 1), 1.03 * max(last, 1)], [0.0, high]
    norm = _line("its norm", of_cls, "norm", unit) | {"mode": "lines+markers"}
    look = {"color": POINTS, "dash": "dash", "width": 2}
    data = [
        *_band(of_cls),
        norm | {"line": look, "marker": {"color": POINTS, "size": 6}},
        *(_vector(vector, table[table["vector"] == vector], unit) for vector in LOOKS),
    ]
    labels = [_label(trace, ROOM * high, last) for trace in data if np.isfinite(trace["y"]).any()]
    shapes = []
    if np.isfinite(guess):
        labels.append(Label("guessing", SUMMARY, xs[0], guess + ROOM * high))
        end = {"x0": xs[0], "x1": xs[1], "y0": guess, "y1": guess}
        shapes.append(
            {"type": "line", **end, "line": {"color": SUMMARY, "width": 2, "dash": "dot"}}
        )
    ticks = np.unique(np.linspace(0, last, min(last, 12) + 1).round().astype(int)).tolist()
    shape = layout(
        xaxis=axis("Layer (0: embeddings)", xs, tickvals=ticks, ticktext=list(map(str, ticks))),
        yaxis=axis(f"Length missed by ({unit})", ys, showgrid=True),
        annotations=annotations(labels, xs, ys),
        shapes=shapes,
        dragmode="zoom",
        uirevision=str(result.about.get("model_fingerprint")),
    )
    return go.Figure(data, shape)


def _vector(vector: str, rows: "pd.DataFrame", unit: str) -> Trace:
    """The errors of probes of a vector; of all but [CLS] there is one."""
    name, colour, symbol = LOOKS[vector]
    marker = {"color": colour, "size": 9, "symbol": symbol}
    look = {"line": {"color": colour, "width": 3}, "marker": marker}
    mode = "lines+markers" if vector == "cls" else "markers"
    return _line(name, rows, "probe", unit) | {"mode": mode, **look}


def _line(name: str, rows: "pd.DataFrame", what: str, unit: str) -> Trace:
    """The errors in some rows of the table, of probes or of lines on norms."""
    errors, r2s = (rows[f"{what}_{column}"] for column in ("error", "r_squared"))
    texts = [
        f"{name}, layer {layer}<br><b>misses by {length(error, unit)}, R² {_share(r2)}</b>"
        for layer, error, r2 in zip(rows["layer"], errors, r2s, strict=True)
    ]
    return {
        "type": "scatter",
        "name": name,
        "x": rows["layer"].to_numpy(np.int32),
        "y": errors.to_numpy(np.float32),
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "customdata": rows.index.to_numpy(np.int32),
    }


def _share(r2: float) -> str:
    return DASH if np.isnan(r2) else "below 0" if r2 < 0 else percent(r2)


def _band(rows: "pd.DataFrame") -> list[Trace]:
    """The lowest to the highest error with random weights, below all else."""
    rows = rows[np.isfinite(rows["random_low"])]
    if rows.empty:
        return []
    band = rows["layer"], rows["random_low"], rows["random_high"]
    return [area("random weights", *band, SUMMARY, 0.25)]


def _label(trace: Trace, above: float, last: int) -> Label:
    """The name of a line above its first points, of a band or a point before its last layer."""
    x, y = np.asarray(trace["x"]), np.asarray(trace["y"])
    colour = trace.get("marker", {}).get("color", SUMMARY)
    if "markers" in trace["mode"] and len(x) > 1:
        first = int(np.flatnonzero(np.isfinite(y))[0])
        high = float(np.nanmax(y[first : first + 2]))
        return Label(trace["name"], colour, float(x[first]), high + above)
    at = float(y[x == last].max()) + above * (len(x) > 1)
    return Label(trace["name"], colour, float(last), at, is_right=True)
