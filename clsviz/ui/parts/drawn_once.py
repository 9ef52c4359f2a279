"""Figures that are made once for all who look at the same."""

from collections.abc import Callable, Hashable
from typing import Any

from clsviz.ui.parts import chart
from clsviz.ui.state import server

_BYTES_OF_JSON = 8
"""What a figure takes in memory for each byte of its JSON, about."""


def figure(of: Hashable, make: Callable[[], Any]) -> Any:  # plotly’s, of which only `figures` knows
    """The figure that `make` makes, of the colours of `chart.palette`.

    of: all that it is made of beside them. What is told apart by what it is, and not by what is in it, must not change
    any more. What a visitor typed must not be among it.
    """
    return server.shared().of(("figure", chart.palette(), of), make, _size)


def _size(figure: Any) -> int:
    return _BYTES_OF_JSON * len(figure.to_json())
