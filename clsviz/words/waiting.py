"""What a page says in place of a result: none is there yet, or a model or a page does not have it."""

from collections.abc import Iterator, Sequence

from clsviz.experiment import Experiment
from clsviz.jobs import GPU_RATE, MeasuringJob, Plan, State
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
        return f"{in_queue(n_ahead)}. The first points appear soon after that."
    if job.unit:
        return f"{job.stage}: {job.done:,} of {job.total:,} {job.unit}. The result is kept, so this happens only once."
    stage = _needed(job) or f"{job.stage or 'Looking for earlier measurements'}."
    return f"{stage} The first points appear in a few seconds."


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


ONLY_CLS_HERE = (
    "Norms of mean- and max-pooled vectors are on the page “Where length lives”. This page now shows the norm of [CLS]."
)


def no_layer(model: str, layer: int, n_layers: int) -> str:
    """That the model, called by its label, has no such layer."""
    return f"{model} has no layer {layer}. Showing its last, layer {n_layers}."


def no_pooler(model: str) -> str:
    """That the model, called by its label, has no pooler."""
    return f"{model} has no pooler. Showing the norm of [CLS] instead."


def cannot_be(names: Sequence[str]) -> str:
    """That settings, called as in a link, had values that they cannot have."""
    which = ", ".join(names)
    return f"The page was sent a value that {which} cannot have, and took the default instead."


ONE_VECTOR = "There is one vector of each sentence, from no known layer. This page now shows its norm."

NO_SENTENCE = "These vectors were imported: there is no model here that could measure a sentence of yours."

NO_PAGE = "These vectors were imported: there is no model here to look at. Choose a model to see this page."

NO_OTHERS = "These vectors were imported: there is no model here to measure other sentences with."


def plan_lines(plan: Plan, n_workers: int) -> Iterator[str]:
    """A line each: what there is to do, how long it takes on what, and how much is kept."""
    if plan.megabytes:
        yield f"To download first: about {plan.megabytes:,} MB."
    stored = plan.n_sentences - plan.n_missing
    sentences = f"{plan.n_sentences:,}"
    sentences = sentences if plan.is_counted else f"about {sentences}, judged by the size of the files"
    yield f"Sentences: {sentences}" + (f", of which {stored:,} are measured already." if stored else ".")
    if plan.n_missing:
        yield f"Tokens to read: about {plan.n_tokens:,}, estimated from the sentences’ characters."
        how = "estimated from the model’s size and this machine’s speed"
        how = "as measured here before" if plan.is_measured else how
        yield f"On this machine: about {duration(plan.seconds())}, at {plan.rate:,.0f} sentences/s ({how})."
        if n_workers > 1:
            each = duration(plan.seconds(n_workers))
            yield f"On {n_workers:,} machines like it, each with an equal share: about {each}."
        yield (
            f"On a GPU: about {duration(plan.gpu_seconds)}, at the {GPU_RATE / 1e12:.0f} TFLOP/s in float32 that an "
            "NVIDIA H100 sustained."
        )
    yield f"Kept: about {_size(plan.norms_bytes)} of norms. Vectors of all would take {_size(plan.vectors_bytes)}."


def plan_line(plan: Plan, *, of_vectors: bool = False) -> str:
    """The same in a line, but for the time. of_vectors: whether vectors are measured, and not norms."""
    first = f"Downloads about {_size(1e6 * plan.megabytes)} first. " if plan.megabytes else ""
    n_tokens = _rough(plan.n_tokens)
    what = f"{plan.n_sentences:,} sentences, about {n_tokens} tokens"
    if not plan.is_counted:
        what = f"About {_rough(plan.n_sentences)} sentences, {n_tokens} tokens"
    return f"{first}{what}; keeps {_size(plan.vectors_bytes if of_vectors else plan.norms_bytes)}."


def _rough(n: int) -> str:
    """A number to two digits."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if n >= size:
            return f"{n / size:,.{1 if n < 10 * size else 0}f} {word}"
    return f"{float(f'{n:.1e}'):,.0f}"


def _size(n_bytes: float) -> str:
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if n_bytes >= size:
            return f"{n_bytes / size:,.{1 if n_bytes < 10 * size else 0}f} {unit}"
    return f"{max(n_bytes / 1e3, 0.1):,.1f} kB"
