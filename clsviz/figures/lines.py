"""Errors of probes by layer, a line for the vector and one for its norm; and recall below."""

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

ERRORS, RECALL = [0.42, 1.0], [0.0, 0.34]
"""Shares of the picture's height, where vectors also search."""

RECALLS: Final = [0.0, 1.05]


def probes(result: Result) -> Figure:
    """The figure of a result of `results.probes`; customdata of a point is its row of the table.

    It draws the table, and of the picture guess, an error, and unit, of all errors.
    """
    table, guess, unit = result.table, result.picture["guess"], result.picture["unit"]
    last = max(int(table["layer"].max()), 1)
    xs = [-0.03 * last, 1.03 * last]
    rows = dict(list(table.groupby("vector")))
    data = [_line(look, rows[look.vector], unit) for look in LOOKS if look.vector in rows]
    if np.isfinite(guess):
        dots = {"color": style.SUMMARY, "width": 2, "dash": "dot"}
        data.insert(0, style.trace("guessing", [xs[0], last], [guess, guess], line=dots))
    labels = _ends(data, last)
    band = table[np.isfinite(table["random_low"])]
    if len(band):
        random = band["layer"], band["random_low"], band["random_high"]
        data.insert(0, style.area("random weights", *random, style.SUMMARY, 0.25))
        end = float(band["random_high"].iloc[-1])
        labels.append(style.label("random weights", style.SUMMARY, last, end))
    heights = table[["probe_error", "norm_error", "random_high"]].to_numpy(np.float64)
    ys = [0.0, 1.08 * float(np.nanmax([1, guess, *heights.ravel()]))]
    ticks = np.unique(np.linspace(0, last, min(last, 12) + 1).round().astype(int)).tolist()
    layers: Trace = {"tickvals": ticks, "ticktext": list(map(str, ticks))}
    title, place = "Layer (0: embeddings)", {}
    notes, axes = style.spread(labels, xs, ys), dict[str, Trace]()
    if "recall_at_10" in table:
        recalls = [
            trace
            for look in LOOKS
            if look.vector in rows and look.reading == "probe"
            for trace in _recalls(look, rows[look.vector])
        ]
        tall = [0.0, RECALLS[1] / (RECALL[1] - RECALL[0])]  # labels count pixels of a whole plot
        ends = style.spread(_ends(recalls[1::2], last), xs, tall)
        below = [{**label, "xref": "x2", "yref": "y2"} for label in ends]
        data, notes = [*data, *recalls], [*notes, *below]
        shares: Trace = {"domain": RECALL, "tickformat": ".0%", "nticks": 4, "showgrid": True}
        axes["xaxis2"] = style.axis(title, xs, **layers, anchor="y2", matches="x")
        axes["yaxis2"] = style.axis("Recall", RECALLS, **shares)
        title, place, layers["ticktext"] = "", {"domain": ERRORS}, [""] * len(ticks)
    return style.figure(
        data,
        xaxis=style.axis(title, xs, **layers),
        yaxis=style.axis(f"Length missed by ({unit})", ys, showgrid=True, **place),
        **axes,
        annotations=notes,
        dragmode="zoom",
        margin=style.LABEL_MARGIN,
        uirevision=str(result.about.get("model_fingerprint")),
    )


def _ends(lines: list[Trace], last: int) -> list[Trace]:
    """The name of each line at its end, after the last layer."""
    return [
        style.label(line["name"], line["line"]["color"], last, float(line["y"][-1]))
        for line in lines
        if np.isfinite(line["y"][-1:]).any()
    ]


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


def _recalls(look: Look, rows: "pd.DataFrame") -> list[Trace]:
    """Intervals of the recall of a vector as upright lines, and the recall, in the lower plot."""
    x, y = rows["layer"].to_numpy(np.int32), rows["recall_at_10"].to_numpy(np.float32)
    ends = rows[["recall_at_10_low", "recall_at_10_high"]].assign(gap=np.nan).to_numpy().ravel()
    texts = [
        f"{look.name}, layer {layer}<br><b>finds {percent(recall)} of right texts</b>"
        for layer, recall in zip(x.tolist(), y.tolist(), strict=True)
    ]
    place: Trace = {"xaxis": "x2", "yaxis": "y2", "line": {"color": look.colour, "width": 1.5}}
    marker = {"color": look.colour, "size": 7, "symbol": look.symbol}
    where: Trace = {"customdata": rows.index.to_numpy(np.int32), "marker": marker, **place}
    return [
        style.trace(look.name, np.repeat(x, 3), ends, **place),
        style.trace(look.name, x, y, texts, mode="lines+markers", **where),
    ]


def _share(r2: float) -> str:
    return DASH if np.isnan(r2) else "below 0" if r2 < 0 else percent(r2)
