"""Parts that several pages take: answers of the questions, and their pictures."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from clsviz import api, figures
from clsviz.figures.style import Figure
from clsviz.jobs.jobs import Job
from clsviz.jobs.workspace import Workspace
from clsviz.numbers import seconds
from clsviz.results.result import Result
from clsviz.settings import Experiment
from clsviz.sources import models
from clsviz.sources.models import Weights, count_weights
from clsviz.ui import progress
from clsviz.ui.server import server

T = TypeVar("T")

_pictures: WeakKeyDictionary[Result, dict[object, str]] = WeakKeyDictionary()
"""Pictures of results, as long as somebody has these."""


def asked(
    question: Callable[..., T],
    settings: dict[str, Any],
    workspace: Workspace | None = None,
    *,
    is_urgent: bool = False,
) -> Job[T]:
    """The job that answers a question, a function of `api`, for all who ask it alike."""
    store = workspace or server().workspace
    key = question.__name__, type(store.runner).__name__, repr(settings)
    return progress.ask(key, _answering(question, settings, store), is_urgent=is_urgent)


def asked_now(name: str, question: Callable[..., T], settings: dict[str, Any]) -> Job[T]:
    """The same, urgent; the session leaves its last one of this name."""
    return progress.ask_now(
        name, repr(settings), _answering(question, settings, server().workspace)
    )


def _answering(
    question: Callable[..., T], settings: dict[str, Any], store: Workspace
) -> Callable[[Job[T]], T]:
    return lambda job: question(**settings, store=store, progress=job)


def answered(question: Callable[..., Result], settings: dict[str, Any], height: int) -> Result:
    """The answer, as far as there is one; the page stops before there is any."""
    return progress.require(asked(question, settings), height)


def norms(experiment: Experiment, height: int) -> Result:
    """The norms of the sample; they take all of it, whatever the vector sample is."""
    view = replace(experiment, probe_size=Experiment.probe_size)
    return answered(api.measure, asdict(view), height)


def weights(experiment: Experiment, height: int) -> Weights:
    """The model of an experiment; the page stops until it is here."""
    name, seed = experiment.model, experiment.seed

    def find(job: Job[Weights]) -> Weights:
        with job.at("fetch"):
            return models.find(name, seed, job)

    return progress.require(progress.ask(("find", name, seed), find), height)


def cost(result: Result, n_sentences: int) -> str:
    """About how long so many sentences take, to follow other words; "" where that is not known."""
    assert result.weights is not None  # pages have one
    n_weights, precision = count_weights(result.weights.folder), result.about["precision"]
    duration = server().workspace.estimate(n_weights, n_sentences, precision)
    return f", about {seconds(duration)} in all" if duration else ""


def picture(result: Result, draw: Callable[[Result], Figure] | None = None) -> str:
    """The figure of a result as JSON, or another one of it."""
    drawn = _pictures.setdefault(result, {})
    if draw not in drawn:
        drawn[draw] = (draw or figures.DRAW[result.kind])(result).to_json()
    return drawn[draw]
