"""What is said of a run that waits."""

import pytest

from clsviz.errors import OutOfTimeError
from clsviz.experiment import Experiment
from clsviz.measuring import Encoders, Extraction, Job, Place, State, Store
from clsviz.words import waiting


@pytest.fixture
def job(store: Store) -> Job[Extraction]:
    return Job(Extraction(Experiment(), store, Encoders()), None)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place(1, None), "One run comes first"),
        (Place(3, None), "3 runs come first"),
        (Place(3, 40.0), "3 runs come first; this one begins in about 40 s"),
        (Place(12, 400.0), "12 runs come first; this one begins in about 7 min"),
        (Place(0, 0.0), "Starting"),
        (None, "Starting"),
    ],
)
def test_the_place_in_the_queue_is_told_and_the_wait_where_it_is_known(place: Place | None, text: str) -> None:
    assert waiting.in_queue(place) == text


def test_points_are_promised_in_seconds_only_where_nothing_comes_first(job: Job[Extraction]) -> None:
    job.state = State.QUEUED
    assert "seconds" not in waiting.for_points(job, Place(2, 90.0))
    assert waiting.for_points(job, Place(2, 90.0)).startswith("2 runs come first; this one begins in about 2 min. ")
    assert waiting.for_points(job, Place(0, 0.0)).endswith("The first points appear in a few seconds.")


def test_a_run_whose_time_was_up_can_be_continued(job: Job[Extraction]) -> None:
    job.state, job.error = State.CANCELLED, OutOfTimeError("Stopped after 300 s.")
    assert waiting.for_points(job) == (
        "The time of this run was up before the first sentences were measured. Press Continue to resume."
    )
    job.error = None
    assert waiting.for_points(job).startswith("Stopped before")


def test_a_visitor_with_too_many_runs_is_told_what_to_do(job: Job[Extraction]) -> None:
    job.state, job.is_refused = State.WAITING, True
    job.is_held = False
    assert "as many runs as one visitor may have" in waiting.for_points(job)
    assert "you have 3 runs going or waiting" in waiting.refused(3)
    assert "Press Run when one of them has ended" in waiting.refused(3)
