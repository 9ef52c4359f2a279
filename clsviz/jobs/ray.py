"""Measuring a sample on the machines of a Ray cluster: they run the model, this process stores.

Each machine needs clsviz, and a model that is a folder; sentences come to it with its tasks.
"""

import logging
import socket
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from safetensors.numpy import load, save

from clsviz.errors import ModelError, SettingError, quote
from clsviz.jobs.measure import key_of
from clsviz.jobs.worker import IN_PROCESS
from clsviz.measurements import Kind
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
        import ray.data
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
        refs = [
            ray.put(pa.table({"start": [start], "sentences": [sample.sentences(start, stop)]}))
            for start, stop in tasks
        ]
        size, share = _copies([node["Resources"] for node in ray.nodes() if node["Alive"]])
        answers = ray.data.from_arrow_refs(refs).map_batches(
            _Measure,
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=size, initial_size=size),
            fn_constructor_args=(_name(weights), weights, experiment.precision, kind),
            **share,
        )
        for answer in answers.iter_rows():
            arrays = load(answer["arrays"])
            measurements.append(key, answer["start"], arrays)
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
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are raised, too
    host, _, port = address.rpartition(":")
    try:
        if host and "//" not in host:  # Ray itself would try for minutes
            socket.create_connection((host, int(port)), CONNECTION_SECONDS).close()
        ray.init(address, configure_logging=False, log_to_driver=False)
    except (OSError, ValueError):
        reason = f"There is no Ray cluster at {quote(address)}."
        raise SettingError(reason, "Start one by: ray start --head.") from None
    ray.data.DataContext.get_current().enable_progress_bars = False


def _name(weights: Weights) -> str:
    """The name by which every machine finds the same model."""
    if weights.revision:
        return f"{weights.name.partition('@')[0]}@{weights.revision}"
    folder = Path(weights.name.removeprefix(models.UNTRAINED)).expanduser().absolute()
    prefix = models.UNTRAINED if weights.is_untrained else ""
    return f"{prefix}{folder}" if weights.folder.is_relative_to(folder) else weights.name


def _copies(nodes: list[dict[str, float]]) -> tuple[int, dict[str, Any]]:
    """Copies of the model that a cluster runs, and what each of them uses."""
    n_gpus = int(sum(node.get("GPU", 0) for node in nodes))
    if n_gpus:
        return n_gpus, {"num_gpus": 1}
    counts = [int(node.get("CPU", 0)) for node in nodes if node.get("CPU", 0) >= 1]
    n_each = min([*counts, MOST_PROCESSORS])
    return max(1, sum(n // n_each for n in counts)), {"num_cpus": n_each}


class _Measure:
    """A copy of the model on a machine of the cluster."""

    def __init__(self, name: str, weights: Weights, precision: Precision, kind: Kind) -> None:
        own = models.find(name, weights.seed)
        if own.fingerprint != weights.fingerprint:
            reason = f"{weights.label} is another model on one of the machines."
            raise ModelError(reason, "Copy the same files to each.")
        IN_PROCESS.load(own, precision)
        self._model, self._kind = (own, precision), kind

    def __call__(self, tasks: pa.Table) -> pa.Table:
        answers = []
        for task in tasks.to_pylist():
            arrays = IN_PROCESS.run(*self._model, task["sentences"], self._kind)
            content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
            answers.append({"start": task["start"], "arrays": content})
        return pa.Table.from_pylist(answers)
