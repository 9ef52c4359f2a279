"""Measuring a sample on the machines of a Ray cluster: they run the model, this process stores.

Each machine needs clsviz, and a model that is a folder; sentences come to it with its tasks.
"""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from clsviz.errors import ModelError, SettingError, quote
from clsviz.jobs.measure import key_of
from clsviz.jobs.worker import IN_PROCESS
from clsviz.measurements import Arrays, Kind
from clsviz.progress import Progress
from clsviz.settings import Experiment, Precision
from clsviz.sources import models
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Prepared
from clsviz.store.measurements import Measurements, n_sentences

TASK: Final = 2048  # sentences of a task: a machine that ends has lost some seconds of work
MOST_PROCESSORS: Final = 8  # that a copy of the model uses
CONNECTION_SECONDS: Final = 10.0


def measure(
    prepared: Prepared,
    experiment: Experiment,
    kind: Kind,
    measurements: Measurements,
    address: str,
    progress: Progress,
) -> None:
    """Measure what is missing of a sample, and store it.

    address: of a cluster, or “local” for this machine. Raises SettingError where there is no Ray or
    no cluster, and ModelError where the model fails on a machine.
    """
    try:
        import ray
    except ImportError:
        remedy = "Install it on each machine: pip install 'ray[data]'."
        raise SettingError("Ray is not installed.", remedy) from None
    weights, sample = prepared.weights, prepared.sample
    key, total = key_of(prepared, experiment, kind), len(sample)
    gaps = measurements.missing(key, total)
    tasks = [(n, min(n + TASK, stop)) for start, stop in gaps for n in range(start, stop, TASK)]
    done = total - sum(stop - start for start, stop in gaps)
    progress(done, total, "sentences")
    if not tasks:
        return
    _connect(address)
    try:
        share = _share([node["Resources"] for node in ray.nodes() if node["Alive"]])
        run = ray.remote(max_calls=0, **share)(_run)  # else each task on a GPU would load the model
        model = _name(weights), weights, experiment.precision, kind
        pending = [run.remote(*model, task[0], sample.sentences(*task)) for task in tasks]
        while pending:
            ready, pending = ray.wait(pending)
            for start, arrays in ray.get(ready):
                measurements.append(key, start, arrays)
                done += n_sentences(arrays)
                progress(done, total, "sentences")
    except ray.exceptions.RayError as error:
        cause = quote(str(error).strip().splitlines()[-1].rpartition("Error: ")[2])
        reason = f"{weights.label} failed on a machine of the Ray cluster: {cause}."
        remedy = "Fix it and repeat the command: it measures what is missing."
        raise ModelError(reason, remedy) from error
    finally:
        ray.shutdown()


def _connect(address: str) -> None:
    """Join a cluster, or start one here; raises SettingError where none answers."""
    import ray

    host, _, port = address.rpartition(":")
    try:
        if host and "//" not in host:  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()
        ray.init(address, configure_logging=False, log_to_driver=False)
    except (OSError, ValueError):
        reason = f"There is no Ray cluster at {quote(address)}."
        raise SettingError(reason, "Start one by: ray start --head.") from None


def _name(weights: Weights) -> str:
    """The name by which every machine finds the same model."""
    if weights.revision:
        return f"{weights.name.partition('@')[0]}@{weights.revision}"
    folder = Path(weights.name.removeprefix(models.UNTRAINED)).expanduser().absolute()
    prefix = models.UNTRAINED if weights.is_untrained else ""
    return f"{prefix}{folder}" if weights.folder.is_relative_to(folder) else weights.name


def _share(nodes: list[dict[str, float]]) -> dict[str, int]:
    """What each copy of the model uses of a cluster."""
    if any(node.get("GPU", 0) for node in nodes):
        return {"num_gpus": 1}
    return {"num_cpus": min(MOST_PROCESSORS, *(int(node.get("CPU", 0)) or 8 for node in nodes))}


def _run(
    name: str,
    weights: Weights,
    precision: Precision,
    kind: Kind,
    start: int,
    sentences: Sequence[str],
) -> tuple[int, Arrays]:
    """Measure sentences on a machine of the cluster, whose process holds the model from then on."""
    own = models.find(name, weights.seed)
    if own.fingerprint != weights.fingerprint:
        reason = f"{weights.label} is another model on one of the machines."
        raise ModelError(reason, "Copy the same files to each.")
    return start, IN_PROCESS.run(own, precision, sentences, kind)
