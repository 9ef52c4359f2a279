"""What a page says while there is nothing to show yet."""

from clsviz.experiment import Experiment
from clsviz.jobs import MeasuringJob, State
from clsviz.measurements import Kind
from clsviz.settings import ALL
from clsviz.sources import catalogue, models
from clsviz.words.numbers import duration

SETTINGS_BEFORE = "Of the settings before, until there is more"
"""What stands over a picture that is kept while vectors are measured."""


def for_points(job: MeasuringJob, n_ahead: int | None = None) -> str:
    """Why there is no picture yet; n_ahead: how many runs come first, if it waits in the queue."""
    if job.state is State.WAITING and job.is_refused:
        return "You have as many runs as one visitor may have on this server. Press Measure when one has ended."
    if job.state is State.WAITING and job.is_held:
        return "See above how your file is read. Press Measure when its sentences look right."
    if job.state is State.WAITING and (needed := _needed(job)):
        return f"{needed} Press Measure to start."
    if job.state is State.WAITING and job.cost and job.cost.seconds and not job.cost.megabytes:
        return (
            f"Press Measure to start. This takes about {duration(job.cost.seconds)}, so it does not start on its own."
        )
    if job.state is State.WAITING:
        return "Press Measure to start. This takes a while or needs a download, so it does not start on its own."
    if job.state is State.FAILED:
        return "Nothing was measured; the error says why."
    if job.state is State.CANCELLED:
        why = "The time of this run was up" if job.error else "Stopped"
        return f"{why} before the first sentences were measured. Press Measure to continue."
    if job.state is State.QUEUED and n_ahead:
        return f"{in_queue(n_ahead)}. {_FIRST_POINTS}"
    if job.unit:
        return f"{job.stage}: {job.done:,} of {job.total:,} {job.unit}. The result is kept, so this happens only once."
    stage = _needed(job) or f"{job.stage or 'Looking for earlier measurements'}."
    return f"{stage} The first points appear in a few seconds."


_FIRST_POINTS = "The first points appear soon after that."


def in_queue(n_ahead: int | None) -> str:
    """Where a run stands in the queue, without a full stop."""
    if not n_ahead:
        return "Starting"
    return "One run comes first" if n_ahead == 1 else f"{n_ahead:,} runs come first"


def refused(visitor_jobs: int) -> str:
    """That a run is not queued, because its visitor has as many as one may have."""
    one = visitor_jobs == 1
    runs = "a run" if one else f"{visitor_jobs:,} runs"
    return (
        f"Not queued: you have {runs} going or waiting, as many as one visitor may have on this server. Press Measure "
        f"when {'it' if one else 'one of them'} has ended."
    )


def full(sessions: int) -> tuple[str, str]:
    """That the server has no room for one more visitor: a title and a sentence."""
    return (
        "This demo is busy. Back in a minute?",
        f"It serves up to {sessions:,} open page{'' if sessions == 1 else 's'} at a time, and that many are open. This "
        "page tries again by itself.",
    )


def _needed(job: MeasuringJob) -> str:
    """That a view takes more than what came with clsviz, and how long; "" if that is not why."""
    if not job.is_here or job.work.kind is not Kind.VECTORS:
        return ""
    cost = f": about {duration(job.cost.seconds)}" if job.cost and job.cost.seconds else ""
    return f"This needs the vectors of {job.work.experiment.sample_size:,} sentences, which do not come along{cost}."


def when_left(unwatched_seconds: float | None) -> str:
    """What becomes of a run when its page is closed, or shows something else."""
    if unwatched_seconds is None:
        return "It goes on if you close this page or choose other settings, until you cancel it."
    return "It stops if you choose other settings, or soon after you close this page. What it has measured is kept."


def so_far(n_measured: int, n: int, n_lost: int = 0) -> str:
    """How much is measured; n_lost: sentences of an unfinished part, which were seen and are not kept."""
    text = f"{n_measured:,} of {n:,} sentences measured so far."
    if n_lost <= 0:
        return text
    return f"{text} The last {n_lost:,} before you cancelled were not stored yet, so they are measured again."


def in_background(experiment: Experiment, done: int, total: int) -> str:
    """A run that goes on while the page shows something else."""
    what = f"{models.label(experiment.model)} on {catalogue.label(experiment.corpus)}"
    asked = "all" if experiment.sample_size == ALL else f"{experiment.sample_size:,}"
    how_far = f"{done:,} of {total:,} sentences" if total else f"{asked} sentences"
    return f"In the background: {what}, {how_far}."
