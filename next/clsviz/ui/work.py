"""Jobs that several pages take: a model with its sample, and vectors in the store."""

from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared, measure, prepare
from clsviz.results.numbers import seconds
from clsviz.results.select import norms_of
from clsviz.sources.models import Weights
from clsviz.ui import progress, sidebar, speed
from clsviz.ui.server import Server, server, session


def prepared(experiment: Experiment, height: int) -> Prepared:
    """The model and the sample of an experiment; the page stops until they are ready."""
    machine = server()
    job: Job[Prepared] = machine.fetch.ask(
        ("prepare", sidebar.source_of(experiment)),
        lambda job: prepare(job, experiment, machine.root),
        session(),
    )
    reason = "The server looks for the model, and reads the corpus."
    return progress.require(machine.fetch, job, "Preparing", reason, height)


def cost(weights: Weights, n_sentences: int, experiment: Experiment) -> str:
    """About how long measuring takes, to follow other words; "" where that is not known."""
    n_weights = speed.count_weights(weights.folder)
    duration = speed.estimate(n_weights, n_sentences, experiment.precision)
    return f", about {seconds(duration)} in all" if duration else ""


def store_vectors(
    job: Job[bool], prepared: Prepared, experiment: Experiment, machine: Server
) -> Steps:
    """Measure vectors into the store, from where analyses read them: a job would hold them all.

    Raises SettingError, with the first sentences, where the model lacks the layer or the vector.
    """
    part: Job[Measured] = Job()
    for _ in measure(part, prepared, experiment, "vectors", machine.chunks, machine.worker):
        job.show(part.done, part.total, part.unit)
        if part.result is not None:
            norms_of(part.result.norms, experiment, prepared.weights.label)
        yield
    job.result = True
