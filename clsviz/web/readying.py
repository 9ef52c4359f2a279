"""What a server loads before it is asked: the first visitor’s browser starts, and the server has nothing else to do."""

import importlib
import inspect
import sys
import time

import numpy as np

from clsviz import figures
from clsviz.web.preview import Previews

_SWITCH_SECONDS = 0.0005
"""How soon others have their turn meanwhile; Python's 0.005 would be the wait for each piece of a file."""

_FIRST_SECONDS = 0.05
"""A browser that waits for the server to start gets its page in this time, before Python has more to do."""


def make_ready() -> None:
    """Load what the first page that is opened would load."""
    time.sleep(_FIRST_SECONDS)
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        importlib.import_module("clsviz.ui.app")
        preview = Previews().of("", {})
        lengths, norms = np.array([3, 5, 9], np.int32), np.array([7, 8, 7.5], np.float32)
        points = figures.Points(figures.labels_of([preview.question] * 3), lengths, norms)
        figures.sent(figures.scatter(points, figures.Axes(), figures.Palette()), np.arange(3))
        importlib.import_module("clsviz.web.drawn").script()
        inspect.stack()  # as Streamlit does once; it looks at every module that is loaded, and remembers them
    finally:
        sys.setswitchinterval(before)
