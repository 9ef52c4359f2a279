"""What a page says while there is nothing to show yet."""

from clsviz.measuring import MeasuringJob, State


def for_points(job: MeasuringJob) -> str:
    """Why there is no picture yet."""
    if job.state is State.WAITING and job.is_held:
        return "See above how your file is read. Press Measure when its sentences look right."
    if job.state is State.WAITING:
        return (
            "Press Run in the sidebar to start. This run takes a while or needs a download, so it does not start on "
            "its own."
        )
    if job.state is State.FAILED:
        return "Nothing was measured. See the sidebar for the reason."
    if job.state is State.CANCELLED:
        return "Stopped before the first sentences were measured. Press Continue in the sidebar to resume."
    if job.unit:
        return f"{job.stage}: {job.done:,} of {job.total:,} {job.unit}. The result is kept, so this happens only once."
    return f"{job.stage or 'Looking for earlier measurements'}. The first points appear in a few seconds."


def when_left(unwatched_seconds: float | None) -> str:
    """What becomes of a run when its page is closed."""
    if unwatched_seconds is None:
        return "It goes on if you close this page, until you cancel it."
    return "It stops soon after you close this page. What it has measured is kept."
