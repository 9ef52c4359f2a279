"""Errors of probes by layer: a line for the vector, one for its norm."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clsviz.figures import style
from clsviz.figures.style import Figure, Label, Trace
from clsviz.results.numbers import DASH, length, percent
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
    Look("pooler", "probe", "pooler output", style.OTHER, "square"),
)
"""All but [CLS] have one point."""

ROOM: Final = 0.04
"""Height of a label above its line, and of the picture above all, as a share of the picture."""


def probes(result: Result) -> Figure:
    """The figure of a result of `results.probes`; customdata of a point is its row of the table.

    It draws the table, and of the picture guess, an error, and unit, of all errors.
    """
    table, guess, unit = result.table, result.picture["guess"], result.picture["unit"]
    last = max(int(table["layer"].max()), 1)
    heights = table[["probe_error", "norm_error", "random_high"]].to_numpy(np.float64)
    high = float(np.nanmax([1, guess, *heights.ravel()])) * (1 + 2 * ROOM)
    xs, ys = [-0.03 * last, 1.03 * last], [0.0, high]
    lines = [_line(look, table[table["vector"] == look.vector], unit) for look in LOOKS]
    if np.isfinite(guess):
        dots = {"color": style.SUMMARY, "width": 2, "dash": "dot"}
        lines.insert(0, style.trace("guessing", xs, [guess, guess], line=dots))
    band = table[np.isfinite(table["random_low"])]
    if len(band):
        random = band["layer"], band["random_low"], band["random_high"]
        lines.insert(0, style.area("random weights", *random, style.SUMMARY, 0.25))
    labels = [_label(line, lines, xs, ys) for line in lines if np.isfinite(line["y"]).any()]
    ticks = np.unique(np.linspace(0, last, min(last, 12) + 1).round().astype(int)).tolist()
    return style.figure(
        lines,
        xaxis=style.axis(
            "Layer (0: embeddings)", xs, tickvals=ticks, ticktext=list(map(str, ticks))
        ),
        yaxis=style.axis(f"Length missed by ({unit})", ys, showgrid=True),
        annotations=style.annotations(labels, xs, ys, opacity="00"),
        dragmode="zoom",
        uirevision=str(result.about.get("model_fingerprint")),
    )


def _line(look: Look, rows: "pd.DataFrame", unit: str) -> Trace:
    """The errors in some rows of the table, of probes or of lines on norms."""
    errors, r2s = (rows[f"{look.reading}_{column}"] for column in ("error", "r_squared"))
    texts = [
        f"{look.name}, layer {layer}<br><b>misses by {length(error, unit)}, R² {_share(r2)}</b>"
        for layer, error, r2 in zip(rows["layer"], errors, r2s, strict=True)
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


def _label(line: Trace, lines: list[Trace], xs: list[float], ys: list[float]) -> Label:
    """The name of a line, above or below it where no line passes, on a phone too; else at its end.

    A point has its name to the left.
    """
    x, low, high = _course(line)
    colour = line["line"].get("color", style.SUMMARY)
    label = Label(line["name"], colour, float(x[-1]), float(high[-1]), is_right=True)
    width = (label.width + 10) / style.PLOT_WIDTH * (xs[1] - xs[0])
    height, room = style.LINE_HEIGHT / style.PLOT_HEIGHT * ys[1] / 2, ROOM * ys[1]
    courses = [course for course in map(_course, lines) if course.size]
    for begin in x[:-1].tolist():
        span = np.linspace(begin, begin + width, 20)
        for y in (np.interp(span, x, high).max() + room, np.interp(span, x, low).min() - room):
            passes = [
                (np.interp(span, at, below, np.nan, np.nan) < y + height)
                & (np.interp(span, at, above, np.nan, np.nan) > y - height)
                for at, below, above in courses
            ]
            if y > height and span[-1] < xs[1] and not np.any(passes):
                return replace(label, x=begin, y=float(y), is_right=False)
    return label


def _course(line: Trace) -> NDArray[np.float64]:
    """The places of a line or band where it has any, and its lower and upper ends, (3, n)."""
    x, y = (np.asarray(line[side], np.float64) for side in "xy")
    n = len(x) // 2 if "fill" in line else len(x)
    low = y[n:][::-1] if n < len(x) else y
    return np.stack([x[:n], low, y[:n]])[:, np.isfinite(y[:n])]
