"""What browsers fetch by its name to draw charts, compressed once."""

import functools
import gzip

from clsviz import figures
from clsviz.ui.parts import plot


def content(name: str) -> bytes | None:
    """A figure, or labels, that a page has sent a browser to fetch; None if there are none of that name."""
    return plot.contents().get(name)


@functools.cache
def script() -> bytes:
    """Plotly."""
    return gzip.compress(figures.plotly_script().encode(), 6, mtime=0)
