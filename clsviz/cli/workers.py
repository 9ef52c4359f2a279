"""`clsviz measure` with one worker of several, with several on this machine or a cluster, or measuring nothing.

On a Ray cluster, Ray Data hands out the borders of parts, never sentences: each actor has the sentences and one
encoder, and writes to the store, which all nodes must see. What is told to an actor, and by it, is text and numbers.
"""

import argparse
import contextlib
import functools
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lazy_loader

from clsviz import jobs, words
from clsviz.cli import output
from clsviz.errors import ClsvizError, SettingError, first_line
from clsviz.experiment import Experiment
from clsviz.progress import Progress
from clsviz.store import Key, Store, missing, n_between

ray = lazy_loader.load("ray")

MOST_CORES = 8
"""Of one actor: an encoder has little use for more."""

_ANSWER_SECONDS = 10.0


def measure_on_ray(
    experiment: Experiment,
    place: Path | str,
    address: str | None = None,
    n_actors: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Measure the norms that the store lacks of an experiment; what others have in hand is left to them.

    place: of the store, by the path or the URL that all nodes see it under; so must a model or corpus that is a path.
    address: of the cluster, such as "auto" or "10.0.0.1:6379"; by default what RAY_ADDRESS says, or else a cluster of
    this machine alone. n_actors: by default one for every GPU or, where there is none, every MOST_CORES cores. They
    have as many cores as let all of them run at once; an actor with a GPU takes one.

    A part is kept once it is measured, so an actor or a node that dies costs what it had in hand, which the others
    measure; and if this process dies, the next call goes on. Raises ClsvizError, and what Ray raises.
    """
    progress, store = progress or Progress(), Store(place)
    check_installed()
    key, n_sentences = _prepare(experiment, store, progress)
    left = missing(store.parts(key).values(), n_sentences)
    if not left:
        return
    progress.begin("Reaching the Ray cluster")
    _connect(address)
    try:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        n_gpus = sum(int(node.get("GPU", 0)) for node in nodes)
        cpus = [int(node.get("CPU", 0)) for node in nodes]
        n_actors = n_actors or n_gpus or sum(n // MOST_CORES for n in cpus) or 1
        size, n_cores = min(n_actors, len(left)), 1 if n_gpus else cores_each(cpus, n_actors)
        ray.data.DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)  # after the import, which sets it
        while left:
            n_done = n_sentences - n_between(left)
            progress.begin("Measuring", n_sentences, n_done)
            n_measured = 0
            # A block for each part, so that an actor that dies costs no more, and no row waits for others.
            parts = [{"start": start, "stop": stop} for start, stop in left]
            rows = ray.data.from_items(parts, override_num_blocks=len(parts)).map(
                Measure,
                fn_constructor_args=(experiment.to_query(), store.address),
                compute=ray.data.ActorPoolStrategy(size=size),
                num_cpus=n_cores,
                num_gpus=1 if n_gpus else 0,
            )
            for row in rows.iter_rows():
                if row["error"]:
                    raise ClsvizError(row["error"])
                n_measured += row["n_measured"]
                progress.advance(n_done + n_measured)
            left = missing(store.parts(key).values(), n_sentences)
            if not n_measured:
                return
    finally:
        ray.shutdown()


def check_installed() -> None:
    """Raise SettingError where Ray is not installed."""
    found = find_spec("ray")
    if found is None or found.origin is None:  # else it is a mere folder of that name, such as deploy/ray
        raise SettingError("Ray is not installed: pip install clsviz[ray]")


class Measure:
    """What an actor does with each part."""

    def __init__(self, query: Mapping[str, str], place: str) -> None:
        """query: of the experiment."""
        self._experiment, self._store = Experiment.from_query(query), Store(place)

    @functools.cached_property
    def _worker(self) -> "jobs.Worker":
        """Made with the first part, so that its errors are told like those of measuring."""
        kind = jobs.kind_of_norms(self._experiment)
        return jobs.Extraction(self._experiment, self._store, jobs.Encoders(), kind=kind).worker(Progress())

    def __call__(self, part: Mapping[str, int]) -> dict[str, Any]:
        """Measure the part; how many sentences were measured, and what went wrong, or ""."""
        try:
            measured = self._worker.measure(int(part["start"]), int(part["stop"]))
            return {"n_measured": sum(len(one.measurements) for one in measured), "error": ""}
        except ClsvizError as error:
            return {"n_measured": 0, "error": str(error)}


def cores_each(cpus: Sequence[int], n_actors: int) -> int:
    """The most cores, up to MOST_CORES, with which so many actors fit on nodes with these; 1 if that is too many."""
    return next((cores for cores in range(MOST_CORES, 1, -1) if sum(n // cores for n in cpus) >= n_actors), 1)


def _connect(address: str | None) -> None:
    """Reach the cluster; raises SettingError where there is none."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else it reports to its makers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # of what can be lost, and is measured again
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    host, separator, port = address.rpartition(":")
    try:
        if separator and port.isdecimal() and "/" not in host:  # where nobody answers, Ray itself would try for minutes
            socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
        of_this_run = {"include_dashboard": False} if address == "local" else {}
        ray.init(address, log_to_driver=False, logging_level="error", **of_this_run)
    except (OSError, ValueError) as error:
        why = first_line(error).rstrip(".")
        raise SettingError(
            f"The Ray cluster at {address} cannot be reached ({why}). Start it, or leave --ray-address out; if it asks "
            "for a token, set RAY_AUTH_MODE=token."
        ) from error


def _prepare(experiment: Experiment, store: "Store", progress: Progress) -> tuple["Key", int]:
    """Where the store has the parts, and of how many sentences, once model and corpus are here."""
    extraction = jobs.Extraction(experiment, store, jobs.Encoders(), kind=jobs.kind_of_norms(experiment))
    found = extraction.fetch(progress)
    return extraction.key_of(found), found.sample.n_sentences


def dry_run(experiment: Experiment, store: Store, options: argparse.Namespace) -> int:
    """Print what it would take to measure the experiment; the exit status. Raises ClsvizError."""
    machine, n_workers = jobs.Machine(), options.workers or options.of or 1
    with output.progress(options) as bar:
        kind = jobs.kind_of_norms(experiment)
        extraction = jobs.Extraction(experiment, store, jobs.Encoders(), machine=machine, kind=kind)
        plan = jobs.plan(extraction, machine, bar)
    if options.json:
        output.print_json(asdict(plan) | {"seconds": plan.seconds(), "workers": n_workers})
    else:
        print(*words.waiting.plan_lines(plan, n_workers), sep="\n")
    return 0


def measure_share(experiment: Experiment, store: Store, options: argparse.Namespace) -> int:
    """Measure what falls to one worker, and say how much that was; the exit status. Raises ClsvizError."""
    if options.engine == "ray":
        raise SettingError("--engine ray shares the sentences out by itself. Leave out --rank and --of.")
    if options.rank is None or options.of is None:
        raise SettingError("--rank and --of go together: which worker this is, and of how many.")
    if options.workers is not None:
        raise SettingError("--workers starts all workers on this machine, and --rank is one of them. Leave out one.")
    share = jobs.Share(options.rank, options.of)
    n_measured, seconds, began = 0, 0.0, time.monotonic()
    with output.progress(options) as bar:
        extraction = jobs.Extraction(experiment, store, jobs.Encoders(), kind=jobs.kind_of_norms(experiment))
        worker = extraction.worker(bar, share)
        for measured in worker.run():
            n_measured, seconds = n_measured + len(measured.measurements), seconds + measured.seconds
            if isinstance(bar, output.Lines):
                line = {"rank": share.rank, "sentences": n_measured, "tokens": worker.n_tokens}
                output.print_line(line | {"per_second": n_measured / seconds})
        n_left = worker.n_missing
    report = {"rank": share.rank, "workers": share.of, "sentences": n_measured, "tokens": worker.n_tokens}
    if options.json:
        output.print_json(report | {"left": n_left, "seconds": time.monotonic() - began})
    else:
        left = f"{n_left:,} are left to others" if n_left else "none are left"
        print(
            f"Worker {share.rank} of {share.of}: {n_measured:,} sentences measured, {worker.n_tokens:,} tokens; {left}."
        )
    return 0


def measure_in_parallel(experiment: Experiment, store: Store, options: argparse.Namespace) -> None:
    """Measure with the processes or the cluster that the flags name, if any; raises ClsvizError where one fails."""
    if options.engine == "ray":
        with output.progress(options) as bar:
            measure_on_ray(experiment, store.address, options.ray_address, options.workers, progress=bar)
    elif options.ray_address is not None:
        raise SettingError("--ray-address goes with --engine ray.")
    elif options.workers is not None:
        _run_workers(experiment, options.workers, options)


def _run_workers(experiment: Experiment, n_workers: int, options: argparse.Namespace) -> None:
    """Run workers on this machine, each with its share of the processors, until all have ended."""
    if n_workers < 1:
        raise SettingError("--workers is 0; it must be at least 1.")
    command = [sys.executable, "-m", "clsviz", "measure"]
    command += [f"{flag}={value}" for flag, value in experiment.to_flags().items()]
    command += [f"--progress={options.progress}", *([f"--store={options.store}"] if options.store else [])]
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // n_workers))}
    with contextlib.ExitStack() as running:
        processes = [
            running.enter_context(  # stdout is for the result: workers say on stderr what they did
                subprocess.Popen([*command, f"--rank={rank}", f"--of={n_workers}"], env=environment, stdout=2)
            )
            for rank in range(n_workers)
        ]
        try:
            n_failed = sum(process.wait() != 0 for process in processes)
        except BaseException:  # Ctrl+C above all: no worker outlives the command that started it
            for process in processes:
                process.terminate()
            raise
    if n_failed:
        raise ClsvizError(
            f"{n_failed} of {n_workers} workers failed, as said above. The same command goes on from here."
        )
