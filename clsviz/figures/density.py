"""Where there are too many sentences to see each: how many have which length and norm, and some of them as points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from clsviz.figures.style import Palette, Points, least_range

FEWEST_MEASURED, FEWEST_SHOWN = 100_000, 50_000
"""From so many sentences on the picture is a density, unless the view shows so few of them that they are points."""

MOST_ABOVE = 5_000
"""Points of the sample that lies above the density."""

MOST_SELECTED = 1_000
"""Selected sentences that are drawn above it whether the sample has them or not."""

N_BINS = 128
"""Bins of norms in the whole picture: each takes a few rows of pixels."""

MOST_COLUMNS = 512
"""With more lengths than this, in characters, a column has several of them."""

_FINEST = 11
"""How often bins are halved at most: then they are hardly wider than float32 tells norms apart."""

_AROUND = 0.25
"""How far bins are fine beyond what is seen, as a share of it, so that a picture that is moved has them."""

_GAP, _BAR, _TITLE, _DIGIT = 9, 9, 36, 8
"""Pixels beside the bar of colours, of its width, of its title, and of a digit of its ticks."""


@dataclass(frozen=True, eq=False)
class Density:
    """How many sentences have each length and norm.

    lengths: int32 (n_lengths,), the shortest of each column, ascending, `step` apart. edges: float64 (n_bins + 1,),
    ascending: a bin has the norms from one edge to below the next, and the last one those on its upper edge, too.
    counts: int64 (n_lengths, n_bins). seen: the ends of both axes, (4,), for which bins are fine; none if all is seen.
    """

    lengths: NDArray[np.int32]
    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    step: int = 1
    seen: Sequence[float] = ()

    @property
    def most(self) -> int:
        """The largest count of a cell that is seen."""
        columns, bins = self.cells_seen()
        return int(self.counts[columns][:, bins].max(initial=0))

    def cells_seen(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which columns and which bins are seen, at least in part."""
        left, right, low, high = self.seen if len(self.seen) else (-np.inf, np.inf, -np.inf, np.inf)
        columns = (left < self.lengths + self.step - 0.5) & (self.lengths - 0.5 < right)
        return columns, (low < self.edges[1:]) & (self.edges[:-1] < high)

    def as_seen(self, zoom: Sequence[float] = ()) -> "Density":
        """The same with the bins of a picture, fine where it is seen: what is counted finely once serves all zooms.

        zoom: as for `count`. Its own bins are of equal width, and their number is N_BINS times a power of two.
        """
        n_own = len(self.edges) - 1
        cuts, n_bins = _cuts(float(self.edges[0]), float(self.edges[-1]), zoom, (n_own // N_BINS).bit_length() - 1)
        at = cuts * (n_own // n_bins)
        return Density(self.lengths, self.edges[at], np.add.reduceat(self.counts, at[:-1], axis=1), self.step, zoom)


@dataclass(frozen=True, eq=False)
class Drawn:
    """What of the sentences shown is drawn.

    points: intp (n_points,), which of them are points, ascending. density: of all of them, or None if all are points.
    n_seen: how many of them lie in the part that is seen. n_sampled: how many points are a sample of these; the others
    are selected.
    """

    points: NDArray[np.intp]
    density: Density | None
    n_seen: int
    n_sampled: int


def is_dense(n_shown: int, n_measured: int) -> bool:
    """Whether the picture of that many sentences is a density."""
    return n_measured >= FEWEST_MEASURED and n_shown >= FEWEST_SHOWN


def drawn(
    lengths: NDArray[np.int32],
    norms: NDArray[np.float32],
    n_measured: int,
    zoom: Sequence[float] = (),
    selected: NDArray[np.intp] | None = None,
    of_all: Density | None = None,
) -> Drawn:
    """What is drawn of sentences of these lengths, int32 (n,), and norms, float32 (n,), in the order of their sample.

    zoom: the ends of both axes, (4,), unless all is seen. selected: intp (n_selected,), drawn if they are not too many.
    of_all: finely counted, where these are a sample of the sentences that the density is of.
    """
    if not is_dense(len(lengths), n_measured):
        return Drawn(np.arange(len(lengths)), None, len(lengths), len(lengths))
    zoom = (*sorted(zoom[:2]), *sorted(zoom[2:]))
    seen = _seen(lengths, norms, zoom)
    points = sampled = seen[:MOST_ABOVE]  # the order of the sample is random
    if selected is not None and len(selected) <= MOST_SELECTED:
        points = np.union1d(points, selected)
    if of_all is None:
        return Drawn(points, count(lengths, norms, zoom), len(seen), len(sampled))
    density = of_all.as_seen(zoom)
    columns, bins = density.cells_seen()
    return Drawn(points, density, int(density.counts[columns][:, bins].sum()), len(sampled))


def n_sampled(lengths: NDArray[np.int32], norms: NDArray[np.float32], zoom: Sequence[float] = ()) -> int:
    """How many points of a sample `drawn` has over a density."""
    return min(len(_seen(lengths, norms, zoom)), MOST_ABOVE)


def _seen(lengths: NDArray[np.int32], norms: NDArray[np.float32], zoom: Sequence[float]) -> NDArray[np.intp]:
    """Which sentences lie in the part that is seen, intp, ascending."""
    if not len(zoom):
        return np.arange(len(lengths))
    left, right, low, high = np.array(zoom)  # in float64, with which norms in float32 are compared exactly
    return np.flatnonzero((left <= lengths) & (lengths <= right) & (low <= norms) & (norms <= high))


def count(lengths: NDArray[np.int32], norms: NDArray[np.float32], zoom: Sequence[float] = ()) -> Density:
    """The density of sentences of these lengths, int32 (n,), and norms, float32 (n,), of which there must be some.

    zoom: the ends of both axes, (4,), or none; the bins of norms that are seen are then finer than the others.
    """
    around = least_range(norms)
    low, high = min(around[0], float(norms.min())), max(around[1], float(norms.max()))
    cuts, n_bins = _cuts(low, high, zoom, _FINEST)
    edges = low + (high - low) * (cuts / n_bins)
    edges[-1] = high
    first, longest = int(lengths.min()), int(lengths.max())
    step = -(-(longest - first + 1) // MOST_COLUMNS)
    columns = np.arange(first, longest + 1, step, dtype=np.int32)
    bins = np.minimum(np.searchsorted(edges, norms, side="right") - 1, len(edges) - 2)
    cells = (lengths - first) // step * (len(edges) - 1) + bins
    counts = np.bincount(cells, minlength=len(columns) * (len(edges) - 1)).reshape(len(columns), -1)
    return Density(columns, edges, counts.astype(np.int64, copy=False), step, zoom)


def _cuts(low: float, high: float, zoom: Sequence[float], finest: int) -> tuple[NDArray[np.intp], int]:
    """Between which of so many equal bins there are edges, intp, ascending: all where it is seen, some elsewhere.

    finest: how often the bins of the whole picture can be halved.
    """
    bottom, top = zoom[2:] if len(zoom) and zoom[3] > zoom[2] else (low, high)
    halved = round(min(math.log2(max((high - low) / (top - bottom), 1)), finest))
    n_bins = N_BINS << halved
    whole = np.arange(0, n_bins + 1, 1 << halved)
    if not halved:
        return whole, n_bins
    around = _AROUND * (top - bottom)
    shares = np.clip((np.array([bottom - around, top + around]) - low) / (high - low), 0, 1)
    return np.union1d(whole, np.arange(math.floor(shares[0] * n_bins), math.ceil(shares[1] * n_bins) + 1)), n_bins


def heat_map(density: Density) -> go.Heatmap:
    """The density as cells; `cells` has what is in them, which Plotly would check and copy one by one."""
    columns = np.append(density.lengths, density.lengths[-1] + density.step) - 0.5
    return go.Heatmap(
        x=columns,
        y=density.edges,
        coloraxis="coloraxis",
        hovertemplate="%{text}<extra></extra>",
        hoverongaps=False,
        name="density",
    )


def cells(density: Density, unit: str) -> dict[str, list[list[Any]]]:
    """What the cells of the heat map have: the logarithm of the count as z, and as text what is said of it.

    Cells without sentences have neither. drawing.js makes the same of `labels` and the counts.
    """
    of_lengths, of_norms = labels(density, unit)
    z, text = [], []
    for norms, counts in zip(of_norms, density.counts.T.tolist(), strict=True):
        z.append([math.log10(n) if n else None for n in counts])
        text.append(
            [
                f"{length}, {norms}: {n:,} sentence{'s' * (n > 1)}" if n else ""
                for length, n in zip(of_lengths, counts, strict=True)
            ]
        )
    return {"z": z, "text": text}


def labels(density: Density, unit: str) -> tuple[list[str], list[str]]:
    """What the columns and the bins are called: “12 tokens”, and “norm 1.23–1.24”."""
    step = density.step
    of_lengths = [f"{n} {unit}" if step == 1 else f"{n}–{n + step - 1} {unit}" for n in density.lengths.tolist()]
    widths = np.diff(density.edges)
    digits = np.clip(np.ceil(-np.log10(widths) - 1e-6), 0, 8).astype(int).tolist()
    ends = zip(density.edges[:-1].tolist(), density.edges[1:].tolist(), digits, strict=True)
    return of_lengths, [f"norm {low:.{n}f}–{high:.{n}f}" for low, high, n in ends]


def colour_axis(density: Density, palette: Palette) -> dict[str, Any]:
    """Logarithmic colours, and a bar that tells how many sentences they stand for."""
    most = max(density.most, 2)
    ticks = _ticks(most)
    return {
        "cmin": 0,
        "cmax": math.log10(most),
        "colorscale": [[at / (len(palette.scale) - 1), colour] for at, colour in enumerate(palette.scale)],
        "colorbar": {
            "title": {"text": "sentences", "side": "right"},
            "tickvals": [math.log10(tick) for tick in ticks],
            "ticktext": [f"{tick:,}" for tick in ticks],
            "thickness": _BAR,
            "outlinewidth": 0,
            "x": 1,
            "xpad": _GAP,
            "ypad": 0,
            "len": 0.88,
            "y": 0,
            "yanchor": "bottom",
        },
    }


def room_for_bar(density: Density) -> int:
    """Pixels to the right of the axes that the bar of colours takes."""
    digits = max(len(f"{tick:,}") for tick in _ticks(max(density.most, 2)))
    return 2 * _GAP + _BAR + _TITLE + _DIGIT * digits


def _ticks(most: int) -> list[int]:
    """Round counts from 1 to `most`: powers of ten, and 2 and 5 times these where there are few."""
    factors = (1, 2, 5) if most < 100 else (1,)
    powers = [10**power for power in range(len(str(most)))]
    return [factor * power for power in powers for factor in factors if factor * power <= most]


CLOUD_WIDTH, CLOUD_HEIGHT = 0.93, 0.88
"""Shares of the picture that the cloud takes."""

_SPACE = 0.012

_MOST_BARS = 60

_BARS_OF_DENSITY = 64
"""Of norms: its bins can be divided among them."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """How many sentences have which lengths and norms: counts, int64 (n,), between edges, float64 (n + 1,)."""

    of_lengths: NDArray[np.int64]
    length_edges: NDArray[np.float64]
    of_norms: NDArray[np.int64]
    norm_edges: NDArray[np.float64]


def marginals(points: Points, norm_range: Sequence[float]) -> Marginals:
    """Those of points; norm_range: what the axis of norms shows at least."""
    edges = _length_edges(int(points.lengths.max()))
    low, high = min(norm_range[0], float(points.norms.min())), max(norm_range[1], float(points.norms.max()))
    counts, norm_edges = np.histogram(points.norms, bins=_MOST_BARS, range=(low, high))
    of_lengths, _ = np.histogram(points.lengths, bins=edges)
    return Marginals(of_lengths, edges, counts, norm_edges)


def marginals_of(density: Density) -> Marginals:
    """Those of a density; columns that lie across an edge between two bars count in that of their shortest length."""
    edges = _length_edges(int(density.lengths[-1]) + density.step - 1)
    of_lengths, _ = np.histogram(density.lengths, bins=edges, weights=density.counts.sum(axis=1))
    norm_edges = np.linspace(density.edges[0], density.edges[-1], _BARS_OF_DENSITY + 1)
    of_norms, _ = np.histogram(_middles(density.edges), bins=norm_edges, weights=density.counts.sum(axis=0))
    return Marginals(of_lengths.astype(np.int64), edges, of_norms.astype(np.int64), norm_edges)


def _length_edges(longest: int) -> NDArray[np.float64]:
    step = max(1, -(-longest // _MOST_BARS))
    whole: NDArray[np.float64] = np.arange(0, longest + step + 1, step, dtype=np.float64)
    return whole - 0.5


def add_marginals(figure: go.Figure, counted: Marginals, palette: Palette, unit: str) -> None:
    """Add both to a figure, whose axes make room."""
    step = round(counted.length_edges[1] - counted.length_edges[0])
    lengths = "%{x:.0f}" if step == 1 else "about %{x:.0f}"
    figure.add_trace(
        go.Bar(
            x=_middles(counted.length_edges),
            y=counted.of_lengths,
            width=step,
            yaxis="y2",
            hovertemplate=f"{lengths} {unit}: %{{y:,}} sentences<extra></extra>",
            **_look(palette),
        )
    )
    figure.add_trace(
        go.Bar(
            x=counted.of_norms,
            y=_middles(counted.norm_edges),
            width=np.diff(counted.norm_edges),
            xaxis="x2",
            orientation="h",
            hovertemplate="norm about %{y:.4g}: %{x:,} sentences<extra></extra>",
            **_look(palette),
        )
    )
    quiet = {"showgrid": False, "showticklabels": False, "zeroline": False, "fixedrange": True, "title": {}}
    figure.layout.xaxis.domain, figure.layout.yaxis.domain = [0, CLOUD_WIDTH], [0, CLOUD_HEIGHT]
    figure.update_layout(
        bargap=0,
        xaxis2={"domain": [CLOUD_WIDTH + _SPACE, 1], "anchor": "y", **quiet},
        yaxis2={"domain": [CLOUD_HEIGHT + _SPACE, 1], "anchor": "x", **quiet},
        overwrite=True,  # as in `arrange`
    )


def _middles(edges: NDArray[np.floating]) -> NDArray[np.floating]:
    return (edges[:-1] + edges[1:]) / 2


def _look(palette: Palette) -> dict[str, object]:
    faint = {"marker": {"opacity": 0.45}}
    return {"marker": {"color": palette.points, "opacity": 0.45, "line": {"width": 0}}, "unselected": faint}
