"""A figure for every kind of result, drawn with Plotly."""

from collections.abc import Callable
from typing import Final

from clsviz.figures import chunks, lines, models, quintiles, scatter, steps
from clsviz.figures.style import Figure
from clsviz.results.result import Result

DRAW: Final[dict[str, Callable[[Result], Figure]]] = {
    "norms": scatter.norms,
    "probes": lines.probes,
    "search": quintiles.search,
    "models": models.models,
    "chunks": chunks.chunks,
    "typed": steps.growth,
    "anatomy": steps.way,
}
"""A function for each kind of result."""
