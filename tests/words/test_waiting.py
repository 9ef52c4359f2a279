"""What is said of a run that waits."""

import pytest

from clsviz.errors import OutOfTimeError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Job, State
from clsviz.store import Store
from clsviz.words import waiting


@pytest.fixture
def job(store: Store) -> Job[Extraction]:
    return Job(Extraction(Experiment(), store, Encoders()), None)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (1, "One run comes first"),
        (3, "3 runs come first"),
        (0, "Starting"),
        (None, "Starting"),
    ],
)
def test_the_place_in_the_queue_is_told(place: int | None, text: str) -> None:
    assert waiting.in_queue(place) == text


def test_points_are_promised_in_seconds_only_where_nothing_comes_first(job: Job[Extraction]) -> None:
    job.state = State.QUEUED
    assert waiting.for_points(job, 2).startswith("2 runs come first. ")
    assert waiting.for_points(job, 0).endswith("The first points appear in a few seconds.")


def test_a_run_whose_time_was_up_can_be_continued(job: Job[Extraction]) -> None:
    job.state, job.error = State.CANCELLED, OutOfTimeError("Stopped after 300 s.")
    assert waiting.for_points(job) == (
        "The time of this run was up before the first sentences were measured. Press Measure to continue."
    )
    job.error = None
    assert waiting.for_points(job).startswith("Stopped before")


def test_a_visitor_with_too_many_runs_is_told_what_to_do(job: Job[Extraction]) -> None:
    job.state, job.is_refused = State.WAITING, True
    job.is_held = False
    assert "as many runs as one visitor may have" in waiting.for_points(job)
    assert "you have 3 runs going or waiting" in waiting.refused(3)
    assert "Press Measure when one of them has ended" in waiting.refused(3)
