"""A figure for every kind of result, drawn with Plotly."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from clsviz.figures import bars, lines, models, scatter, steps
from clsviz.results.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go

DRAW: "Final[dict[str, Callable[[Result], go.Figure]]]" = {
    "norms": scatter.norms,
    "probes": lines.probes,
    "search": bars.search,
    "models": models.models,
    "typed": steps.growth,
    "anatomy": steps.way,
}
"""A function for each kind of result."""
