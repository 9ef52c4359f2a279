"""What a page says while there is nothing to show yet."""

from clsviz.measurements import Kind
from clsviz.measuring import MeasuringJob, State
from clsviz.words.numbers import duration

SETTINGS_BEFORE = "Of the settings before, until there is more"
"""What stands over a picture that is kept while vectors are measured."""


def for_points(job: MeasuringJob) -> str:
    """Why there is no picture yet."""
    if job.state is State.WAITING and job.is_held:
        return "See above how your file is read. Press Measure when its sentences look right."
    if job.state is State.WAITING and (needed := _needed(job)):
        return f"{needed} Press Run to measure them."
    if job.state is State.WAITING:
        return "Press Run to start. This run takes a while or needs a download, so it does not start on its own."
    if job.state is State.FAILED:
        return "Nothing was measured; the error says why."
    if job.state is State.CANCELLED:
        return "Stopped before the first sentences were measured. Press Continue to resume."
    if job.unit:
        return f"{job.stage}: {job.done:,} of {job.total:,} {job.unit}. The result is kept, so this happens only once."
    stage = _needed(job) or f"{job.stage or 'Looking for earlier measurements'}."
    return f"{stage} The first points appear in a few seconds."


def _needed(job: MeasuringJob) -> str:
    """That a view takes more than what came with clsviz, and how long; "" if that is not why."""
    if not job.is_here or job.work.kind is not Kind.VECTORS:
        return ""
    cost = f": about {duration(job.cost.seconds)}" if job.cost and job.cost.seconds else ""
    return f"This needs the vectors of {job.work.experiment.sample_size:,} sentences, which do not come along{cost}."


def when_left(unwatched_seconds: float | None) -> str:
    """What becomes of a run when its page is closed."""
    if unwatched_seconds is None:
        return "It goes on if you close this page, until you cancel it."
    return "It stops soon after you close this page. What it has measured is kept."
