"""`clsviz measure` with one worker of several, with several on this machine or a cluster, or measuring nothing."""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from dataclasses import asdict

from clsviz import jobs, words
from clsviz.cli import on_ray, output
from clsviz.errors import ClsvizError, SettingError
from clsviz.experiment import Experiment
from clsviz.store import Store


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
        print(*words.plan.lines(plan, n_workers), sep="\n")
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
            on_ray.measure_on_ray(experiment, store.address, options.ray_address, options.workers, progress=bar)
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
