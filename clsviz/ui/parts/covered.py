"""The vectors that a page is about, while more are measured."""

from clsviz import analysis
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.ui.state import watching

_FIRST_LOOK = 128
"""Sentences in the first analysis; while more are measured, it is computed anew each time their number doubles."""


def covered(job: MeasuringJob, experiment: Experiment) -> Found | None:
    """The vectors that the page is about, or None while there are none.

    While they are being measured, these are the first 128, 256, 512 and so on: not every part redraws everything. What
    came with clsviz is whole, also while it is still looked at what it would take to measure more.
    """
    found = watching.found(job, experiment)
    if found is None:
        return None
    n = len(found.measurements)
    if job.state.is_active and not found.is_outline:
        n = max((_FIRST_LOOK << doubling for doubling in range(10) if _FIRST_LOOK << doubling <= n), default=0)
    return analysis.layers.head(found, n) if n else None
