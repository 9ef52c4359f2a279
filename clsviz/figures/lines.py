"""Lines over layers, lengths, depths and cutoffs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike
from plotly.subplots import make_subplots

from clsviz.figures.style import (
    LONGEST_NAME,
    PLAIN,
    Floats,
    Palette,
    arrange,
    hover_label,
    label_beside,
    layers_axis,
    short_name,
)
from clsviz.words import layer_cards, number

_FIFTH, _SIXTH = "#9a6fc4", "#219a86"
"""Readable on white and on black; for more lines than the palette has colours."""

_DASHES = ("solid", "longdash", "dot", "dashdot", "dash", "longdashdot")

_SYMBOLS = ("circle", "diamond", "square-open", "triangle-up", "x", "star")
"""Different enough that both of two coinciding lines are seen."""

_MOST_LINES = len(_DASHES)

_BAND = "2e"
"""Opacity, in hexadecimal."""

_R_SQUARED = "R² %{y:.3f} (%{customdata[0]:.3f} to %{customdata[1]:.3f})"
"""What is said of a point whose custom data are the ends of a band."""

_LOWEST_R_SQUARED, _MARGIN = -0.2, 0.03

_HALF_BAND = 0.006
"""Of the axis, added to either side of a band, which a few draws that agree would leave invisible."""


@dataclass(frozen=True)
class _Style:
    """What tells a line apart, beyond its colour."""

    colour: str
    dash: str
    symbol: str


def layer_lines(table: pd.DataFrame, palette: Palette, *, n_layers: int | None = None) -> go.Figure:
    """R² of length by layer, over the range of its folds or draws.

    table: line, layer, r_squared (NaN if undefined), lowest, highest; a line with one row is drawn as a point.
    n_layers: the last layer, which the table may not have reached yet. Lines get their styles in order of appearance.
    """
    last = _last_layer(table, n_layers)
    figure = go.Figure()
    for name, rows, style in _groups(table, "line", _styles(palette)):
        by_layer = rows.set_index("layer").reindex(range(last + 1))
        layers, ends = by_layer.index.to_numpy(), by_layer[["lowest", "highest"]].to_numpy(float)
        line = _line(short_name(name), layers, by_layer["r_squared"], style, _R_SQUARED, points_only=len(rows) == 1)
        figure.add_traces([_band(layers, ends[:, 0], ends[:, 1], style.colour), line.update(customdata=ends)])
    shown = table[["r_squared", "lowest"]].to_numpy(float)
    low = max(_LOWEST_R_SQUARED, float(np.nanmin(shown, initial=0)))
    arrange(figure, layers_axis(last), {"title": "R² of length in tokens", "range": [low - _MARGIN, 1 + _MARGIN]})
    return figure.update_layout(hovermode="x unified")


def errors_by_layer(
    table: pd.DataFrame,
    palette: Palette,
    guess: float,
    *,
    unit: str = "tokens",
    n_layers: int = 0,
    drawn: pd.DataFrame | None = None,
    drawn_name: str = "",
) -> go.Figure:
    """By how much lengths are missed after every layer, from 0 up, with the name of each line beside its end.

    table: line, layer, error, r_squared, lower, upper (NaN where undefined), of up to three lines; those of the only
    vector that there is are points. guess: the error of guessing, a line. n_layers: 0 for vectors from no known layer.
    drawn: layer, lowest and highest error, least and most R² of several draws, which are a band below the lines.
    """
    figure, of_band = go.Figure(), [] if drawn is None else drawn["highest"].tolist()
    highest = 1.12 * max(filter(math.isfinite, [*table["error"].tolist(), guess, *of_band]), default=1.0)
    if drawn is not None:
        layers, *of_draws = (drawn[name].to_numpy(float) for name in ("layer", "lowest", "highest", "least", "most"))
        middle, thin = (of_draws[0] + of_draws[1]) / 2, _HALF_BAND * highest
        band = _band(layers, of_draws[0] - thin, of_draws[1] + thin, palette.other)
        of_draws_told = "%{customdata[0]:.2f} to %{customdata[1]:.2f} (R² %{customdata[2]:.3f} to %{customdata[3]:.3f})"
        centre = _line(drawn_name, layers, middle, _Style(palette.other, "solid", "circle"), of_draws_told)
        centre.update(mode="lines", line_width=0, customdata=np.stack(of_draws, axis=1))
        figure.add_traces([band.update(fillcolor=palette.other + "4d"), centre])
    for name, rows, style in _groups(table, "line", _styles(palette)):
        y, r_squared, lower, upper = (
            rows[column].to_numpy(float) for column in ("error", "r_squared", "lower", "upper")
        )
        told = [
            f"{error:.2f} (R² {value:.3f}{f', {low:.3f} to {high:.3f}' if np.isfinite(low) else ''})"
            for error, value, low, high in zip(y, r_squared, lower, upper, strict=True)
        ]
        is_point, solid = np.isfinite(y).sum() == 1, replace(style, dash="solid")
        line = _line(short_name(name), rows["layer"], y, solid, "%{text}", points_only=is_point)
        figure.add_trace(line.update(text=told))
    axis = layers_axis(max(1, n_layers)) if n_layers else {"range": [-1, 0.06], "showticklabels": False, "title": ""}
    if np.isfinite(guess):
        figure.add_trace(_guessing(range(-1, max(1, n_layers) + 2), guess, palette, "%{y:.2f}"))
    fixed = {"fixedrange": True}
    arrange(figure, axis | fixed, {"title": layer_cards.axis(unit), "range": [0, highest]} | fixed)
    return _labelled(figure, (0, highest)).update_layout(hovermode="x unified", height=380)


def learning_curves(table: pd.DataFrame, palette: Palette) -> go.Figure:
    """Held-out R² by the number of sentences, with 95% intervals. table: line, n, r_squared, lower, upper."""
    figure = go.Figure()
    for name, rows, style in _groups(table, "line", _styles(palette)):
        n, ends = rows["n"].to_numpy(float), rows[["lower", "upper"]].to_numpy(float)
        line = _line(short_name(name), n, rows["r_squared"], style, f"%{{x:,}} sentences<br>{_R_SQUARED}")
        figure.add_traces([_band(n, ends[:, 0], ends[:, 1], style.colour), line.update(customdata=ends)])
    ticks = sorted(set(table["n"].tolist()))
    x = {"title": "Sentences", "type": "log", "tickvals": ticks, "ticktext": [f"{n:,}" for n in ticks]}
    low = float(np.nanmin(table["lower"].to_numpy(float), initial=0))
    arrange(figure, x, {"title": "Held-out R²", "range": [max(_LOWEST_R_SQUARED, low) - _MARGIN, 1 + _MARGIN]})
    return figure


def error_lines(
    table: pd.DataFrame, palette: Palette, *, unit: str = "tokens", n_layers: int | None = None
) -> go.Figure:
    """How far off predicted lengths are, by layer. table: line, layer, error (NaN if undefined)."""
    last = _last_layer(table, n_layers)
    figure = go.Figure()
    for name, rows, style in _groups(table, "line", _styles(palette)):
        template = f"misses by %{{y:.2f}} {unit}"
        figure.add_trace(_line(short_name(name, LONGEST_NAME), rows["layer"], rows["error"], style, template))
    arrange(figure, layers_axis(last), {"title": f"Mean error in {unit}", "rangemode": "tozero"})
    return figure.update_layout(hovermode="x unified")


def norm_spread(table: pd.DataFrame, palette: Palette) -> go.Figure:
    """How much the norm varies between sentences, relative to its mean, by layer. table: layer, mean, sd."""
    layers, means, sds = (table[name].to_numpy(float) for name in ("layer", "mean", "sd"))
    varies = (sds > 0) & (means > 0)
    shares = np.divide(sds, means, out=np.full(len(table), np.nan), where=varies)
    decades = np.log10(shares[varies]) if varies.any() else np.array([-2.0, 0.0])
    low, high = math.floor(decades.min()), max(math.ceil(decades.max()), math.floor(decades.min()) + 1)
    texts = [
        f"layer {layer:.0f}<br>mean {_said(mean)}<br>standard deviation {_said(sd)}"
        for layer, mean, sd in zip(layers, means, sds, strict=True)
    ]
    figure = go.Figure()
    spread = _line("", layers, shares, next(_styles(palette)))
    figure.add_trace(spread.update(text=texts, hovertemplate="%{text}<br>%{y:.2~%} of the mean<extra></extra>"))
    constant = np.flatnonzero(sds == 0)
    figure.add_trace(
        go.Scatter(
            x=layers[constant],
            y=np.full(len(constant), 10.0**low),
            text=[texts[index] for index in constant],
            mode="markers",
            cliponaxis=False,
            marker={"symbol": "triangle-down-open", "size": 11, "color": palette.line, "line": {"width": 2}},
            hovertemplate="%{text}<br>the same for every sentence<extra></extra>",
        )
    )
    if len(constant):
        corner = {"xref": "paper", "yref": "paper", "x": 1, "y": 1, "xanchor": "right", "yanchor": "bottom"}
        text = "▽ the same for every sentence"
        figure.add_annotation(text=text, showarrow=False, font={"color": palette.line}, **corner)
    y = {"title": "Standard deviation of the norm / mean", "type": "log", "dtick": 1, "tickformat": "~%"}
    arrange(figure, layers_axis(_last_layer(table)), y | {"range": [low - 0.1, high + 0.1]})
    return figure.update_layout(showlegend=False)


def growth(
    lines: pd.DataFrame, corpus: pd.DataFrame | None, palette: Palette, y_title: str, *, unit: str = "tokens"
) -> go.Figure:
    """The norm of a sentence as it grows word by word, over the norms of corpus sentences of each length.

    lines: variant, n_words, tokens (the length in `unit`), norm, added. corpus: length, lower, median, upper.
    """
    figure = go.Figure()
    ends = lines["tokens"] if len(lines) else corpus["length"] if corpus is not None else pd.Series(dtype=float)
    longest = float(np.nanmax(ends.to_numpy(float), initial=10)) * 1.04
    if corpus is not None:
        _add_corpus(figure, corpus[corpus["length"] <= longest], "length", palette, f"%{{x}} {unit}")
    for name, rows, style in _groups(lines, "variant", _own_styles(palette)):
        template = f"%{{text}}<br>%{{x}} {unit}<br>norm %{{y:.5g}}"
        line = _line(short_name(name), rows["tokens"], rows["norm"], style, template)
        words = [hover_label(str(word), 1) for word in rows["added"]]
        figure.add_trace(
            line.update(text=[f"word {n}: {word}" for n, word in zip(rows["n_words"], words, strict=True)])
        )
    arrange(figure, {"title": f"Length (in {unit})", "range": [0, longest]}, {"title": y_title})
    return _labelled(figure)


def layer_path(norms: pd.DataFrame, band: pd.DataFrame | None, palette: Palette) -> go.Figure:
    """The norm of [CLS] after every layer, for the visitor's sentences over those of the corpus.

    norms: name, layer, norm. band: layer, lower, median, upper.
    """
    figure = go.Figure()
    if band is not None:
        _add_corpus(figure, band, "layer", palette, "layer %{x}")
    few = norms["name"].nunique() <= _MOST_LINES
    styles = _own_styles(palette) if few else cycle([_Style(palette.own, "solid", "circle")])
    for name, rows, style in _groups(norms, "name", styles):
        line = _line(short_name(name), rows["layer"], rows["norm"], style)
        line.update(hovertemplate=f"{hover_label(name)}<br>layer %{{x}}<br>norm %{{y:.5g}}<extra></extra>")
        figure.add_trace(line if few else line.update(name=""))
    last = max(_last_layer(norms), 0 if band is None else _last_layer(band))
    arrange(figure, layers_axis(last), {"title": "Norm of [CLS]"})
    return _labelled(figure)


def relative_depth(
    table: pd.DataFrame,
    palette: Palette,
    *,
    y_title: str,
    span: tuple[float, float] | None = None,
    guess: float | None = None,
) -> go.Figure:
    """A value by layer for models of different depths. table: model, layer, depth (layer / last layer), value.

    span: what the axis shows; by default, all. guess: the value of guessing, drawn as a line.
    """
    figure = go.Figure()
    if guess is not None:
        figure.add_trace(_guessing((0, 1), guess, palette, "%{y:.3~f}"))
    for name, rows, style in _groups(table, "model", _styles(palette)):
        template = "layer %{customdata}<br>%{y:.4~f}"
        line = _line(short_name(name, LONGEST_NAME), rows["depth"], rows["value"], style, template)
        figure.add_trace(line.update(customdata=rows["layer"]))
    ticks = {"tickvals": [0, 0.25, 0.5, 0.75, 1], "ticktext": ["0", "¼", "½", "¾", "1"]}
    x = {"title": "Depth (0: embeddings, 1: last layer)", "range": [-_MARGIN, 1 + _MARGIN]} | ticks
    arrange(figure, x, {"title": y_title})
    return _labelled(figure, span)


def _labelled(figure: go.Figure, span: tuple[float, float] | None = None) -> go.Figure:
    """The same with the name of each line beside it, and no legend; span: of the vertical axis, by default all."""
    ends, low, high = [], np.inf, -np.inf
    for trace in figure.data:
        y = np.array(trace.y, dtype=float)
        known = np.flatnonzero(np.isfinite(y))
        if len(known):
            low, high = min(low, float(y[known].min())), max(high, float(y[known].max()))
            if trace.name:
                ends.append((trace.name, float(y[known[-1]]), trace.line.color))
    if not low < high:
        low, high = (low - 0.5, low + 0.5) if np.isfinite(low) else (0.0, 1.0)
    room = 0.08 * (high - low)
    span = span or (low - room, high + room)
    label_beside(figure, ends, span)
    return figure.update_layout(yaxis={"range": [*span]})


def _add_corpus(figure: go.Figure, corpus: pd.DataFrame, along: str, palette: Palette, where: str) -> None:
    """The median of the corpus, with the band between its quartiles. where: a template that says where a point is."""
    rows = corpus.sort_values(along)
    x, lower, median, upper = (rows[name].to_numpy(float) for name in (along, "lower", "median", "upper"))
    figure.add_trace(_band(x, lower, upper, palette.points))
    figure.add_trace(
        go.Scatter(
            x=x,
            y=median,
            name="corpus",
            mode="lines",
            line={"color": palette.points, "width": 2},
            customdata=np.stack([lower, upper], axis=1),
            hovertemplate=f"corpus, {where}<br>median norm %{{y:.5g}}<br>"
            "half of them from %{customdata[0]:.5g} to %{customdata[1]:.5g}<extra></extra>",
        )
    )


def _band(x: Floats, lower: Floats, upper: Floats, colour: str) -> go.Scatter:
    """The area between two lines, with a gap where either is undefined; a small box around a lone point."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    defined = np.flatnonzero(np.isfinite(lower + upper))
    for run in filter(len, np.split(defined, np.flatnonzero(np.diff(defined) > 1) + 1)):
        along, low, high = x[run], lower[run], upper[run]
        if len(along) == 1:
            along, low, high = along + np.array([-0.12, 0.12]), low.repeat(2), high.repeat(2)
        xs += [*along.tolist(), *along[::-1].tolist(), None]
        ys += [*high.tolist(), *low[::-1].tolist(), None]
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=colour + _BAND,
        hoverinfo="skip",
        showlegend=False,
    )


def _line(
    name: str, x: ArrayLike, y: ArrayLike, style: _Style, template: str = "", *, points_only: bool = False
) -> go.Scatter:
    """A line with its markers. name: already escaped, because Plotly takes it for markup. template: of a point."""
    return go.Scatter(
        x=np.asarray(x, float),
        y=np.asarray(y, float),
        name=name,
        hovertemplate=f"{template}<extra>%{{fullData.name}}</extra>",
        mode="markers" if points_only else "lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"color": style.colour, "symbol": style.symbol, "size": 10 if points_only else 8},
    )


def _styles(palette: Palette) -> Iterator[_Style]:
    """Styles for any number of lines, repeating."""
    colours = (palette.points, palette.line, palette.summary, palette.own, _FIFTH, _SIXTH)
    return cycle(map(_Style, colours, _DASHES, _SYMBOLS))


def _own_styles(palette: Palette) -> Iterator[_Style]:
    """As `_styles`, for a visitor's lines over a corpus, which is drawn in the colour of points."""
    colours = (palette.own, palette.line, palette.summary, _FIFTH, _SIXTH, palette.own)
    return cycle(map(_Style, colours, _DASHES, _SYMBOLS))


def _guessing(x: Sequence[int], guess: float, palette: Palette, template: str) -> go.Scatter:
    """The value of guessing, over these places."""
    return go.Scatter(
        x=[*x],
        y=[guess] * len(x),
        name=layer_cards.GUESSING,
        mode="lines",
        line={"color": palette.summary, "dash": "dot", "width": 1.5},
        hovertemplate=f"{template}<extra>%{{fullData.name}}</extra>",
    )


def _groups(table: pd.DataFrame, by: str, styles: Iterator[_Style]) -> Iterator[tuple[str, pd.DataFrame, _Style]]:
    """Name, rows and style of each line, in order of appearance."""
    for (name, rows), style in zip(table.groupby(by, sort=False), styles, strict=False):
        yield str(name), rows, style


def _said(value: float) -> str:
    return number(value) if math.isfinite(value) else "undefined"


def _last_layer(table: pd.DataFrame, n_layers: int | None = None) -> int:
    """The last layer; at least 1, so that the axis has a length."""
    return max(1, n_layers or 0, int(table["layer"].max()) if len(table) else 0)


def cutoff_lines(
    table: pd.DataFrame, current: int, palette: Palette, *, unit: str = "token", cutoff_unit: str = "tokens"
) -> go.Figure:
    """R² with its interval above, the slope below, by cutoff; the current one is marked.

    table: length_cutoff, n, r_squared, lower, upper, slope, as `line.by_cutoff` makes it. unit: of the slope.
    cutoff_unit: what the cutoff is in.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    cutoffs, lower, upper = (table[column].to_numpy(float) for column in ("length_cutoff", "lower", "upper"))
    figure.add_trace(_band(cutoffs, lower, upper, palette.line), row=1, col=1)  # the 95% interval of R²
    r_squared = "R² %{y:.3f} (%{customdata[1]:.3f} to %{customdata[2]:.3f})"
    figure.add_trace(_by_cutoff(table, "r_squared", r_squared, palette, cutoff_unit), row=1, col=1)
    figure.add_trace(_by_cutoff(table, "slope", f"slope %{{y:+.4f}} per {unit}", palette, cutoff_unit), row=2, col=1)
    figure.add_hline(y=0, line={"color": palette.summary, "width": 1}, opacity=0.4)
    at = min(current, int(table["length_cutoff"].iloc[-1]))  # beyond the last one of the table it adds no sentence
    figure.add_vline(x=at, line={"color": palette.summary, "width": 1.5, "dash": "dot"})
    figure.add_annotation(
        text=f"under {current}",
        x=at,
        xref="x",
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"color": palette.summary, "size": 13},
    )
    figure.update_yaxes(title="R²", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title=f"Slope per {unit}", zeroline=False, row=2, col=1)
    figure.update_xaxes(title=f"Length cutoff ({cutoff_unit})", row=2, col=1)
    return figure.update_layout(PLAIN)


def _by_cutoff(table: pd.DataFrame, column: str, said: str, palette: Palette, cutoff_unit: str) -> go.Scatter:
    """One column by cutoff; said: what pointing at it says of the value; n and the interval are custom data."""
    return go.Scatter(
        x=table["length_cutoff"],
        y=table[column],
        customdata=table[["n", "lower", "upper"]].to_numpy(float),
        mode="lines+markers",
        line={"color": palette.line, "width": 2},
        marker={"size": 6},
        hovertemplate=f"under %{{x}} {cutoff_unit}: %{{customdata[0]:,}} sentences<br>{said}<extra></extra>",
    )
