"""Errors of probes by layer: a line for the vector, one for its norm."""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from clsviz.figures import style
from clsviz.figures.style import Figure, Trace
from clsviz.numbers import DASH, length, percent
from clsviz.results.result import Result

if TYPE_CHECKING:
    import pandas as pd


class Look(NamedTuple):
    """A line: rows of the table and a reading of them, and how it looks."""

    vector: str
    reading: str
    name: str
    colour: str
    symbol: str = "circle"
    size: int = 9
    width: int = 3
    dash: str = "solid"


LOOKS: Final = (
    Look("cls", "norm", "its norm", style.POINTS, size=6, width=2, dash="dash"),
    Look("cls", "probe", "[CLS] vector", style.LINE),
    Look("mean", "probe", "mean-pooled", style.OWN, "diamond"),
    Look("pooler", "probe", "pooler output", style.POINTS, "square"),
    Look("pipeline", "probe", "model’s own", style.OTHER, "star", 12),
)
"""All but [CLS] have one point."""


def probes(result: Result) -> Figure:
    """The figure of a result of `results.probes`; customdata of a point is its row of the table.

    It draws the table, and of the picture guess, an error, and unit, of all errors.
    """
    table, guess, unit = result.table, result.picture["guess"], result.picture["unit"]
    last = max(int(table["layer"].max()), 1)
    xs = [-0.03 * last, 1.03 * last]
    data = [_line(look, table[table["vector"] == look.vector], unit) for look in LOOKS]
    if np.isfinite(guess):
        dots = {"color": style.SUMMARY, "width": 2, "dash": "dot"}
        data.insert(0, style.trace("guessing", [xs[0], last], [guess, guess], line=dots))
    labels = [
        style.label(line["name"], line["line"]["color"], last, float(line["y"][-1]))
        for line in data
        if np.isfinite(line["y"][-1:]).any()
    ]
    band = table[np.isfinite(table["random_low"])]
    if len(band):
        random = band["layer"], band["random_low"], band["random_high"]
        data.insert(0, style.area("random weights", *random, style.SUMMARY, 0.25))
        end = float(band["random_high"].iloc[-1])
        labels.append(style.label("random weights", style.SUMMARY, last, end))
    heights = table[["probe_error", "norm_error", "random_high"]].to_numpy(np.float64)
    ys = [0.0, 1.08 * float(np.nanmax([1, guess, *heights.ravel()]))]
    ticks = np.unique(np.linspace(0, last, min(last, 12) + 1).round().astype(int)).tolist()
    return style.figure(
        data,
        xaxis=style.axis(
            "Layer (0: embeddings)", xs, tickvals=ticks, ticktext=list(map(str, ticks))
        ),
        yaxis=style.axis(f"Length missed by ({unit})", ys, showgrid=True),
        annotations=style.spread(labels, xs, ys),
        dragmode="zoom",
        margin=style.LABEL_MARGIN,
        uirevision=str(result.about.get("model_fingerprint")),
    )


def _line(look: Look, rows: "pd.DataFrame", unit: str) -> Trace:
    """The errors in some rows of the table, of probes or of lines on norms."""
    errors, r2s = (rows[f"{look.reading}_{column}"] for column in ("error", "r_squared"))
    are_flat = rows["is_nearly_constant"].eq(True) & (look.reading == "norm")
    texts = [
        f"{look.name}, layer {layer}{', nearly constant' * is_flat}"
        f"<br><b>misses by {length(error, unit)}, R² {_share(r2)}</b>"
        for layer, error, r2, is_flat in zip(rows["layer"], errors, r2s, are_flat, strict=True)
    ]
    return style.trace(
        look.name,
        rows["layer"].to_numpy(np.int32),
        errors.to_numpy(np.float32),
        texts,
        mode="lines+markers",
        customdata=rows.index.to_numpy(np.int32),
        line={"color": look.colour, "width": look.width, "dash": look.dash},
        marker={"color": look.colour, "size": look.size, "symbol": look.symbol},
    )


def _share(r2: float) -> str:
    return DASH if np.isnan(r2) else "below 0" if r2 < 0 else percent(r2)
