"""`clsviz measure` with one worker of several, with several on this machine, or without measuring anything."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict

from clsviz import api, measuring, words
from clsviz.cli import output
from clsviz.errors import ClsvizError, SettingError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.progress import Progress

_TELL_SECONDS = 1.0

_STDERR = 2
"""Where workers of this machine say what they did: stdout is for the result."""


class Lines(Progress):
    """Progress as JSON lines on stderr: one for each stage, and one each second in it."""

    def __init__(self) -> None:
        super().__init__()
        self._told = 0.0

    def begin(self, stage: str, total: int = 0, done: int = 0, unit: str = "") -> None:
        """Print the stage."""
        super().begin(stage, total, done, unit)
        self._tell()

    def advance(self, done: int) -> None:
        """Print how far it is, once a second."""
        super().advance(done)
        if time.monotonic() - self._told >= _TELL_SECONDS:
            self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        line: dict[str, object] = {"stage": self.stage}
        if self.total:
            line |= {"done": self.done, "of": self.total}
        if self.rate:
            line |= {"per_second": self.rate, "seconds_left": self.seconds_left}
        tell(line)


def tell(line: dict[str, object]) -> None:
    """Print a JSON line on stderr."""
    print(json.dumps(line, ensure_ascii=False), file=sys.stderr, flush=True)


def progress(options: argparse.Namespace) -> contextlib.AbstractContextManager[Progress]:
    """Where to show how far a run is, as its flags say."""
    return contextlib.nullcontext(Lines()) if options.progress == "json" else api.Bar()


def dry_run(experiment: Experiment, store: "measuring.Store", n_workers: int, options: argparse.Namespace) -> int:
    """Print what it would take to measure the experiment; the exit status. Raises ClsvizError."""
    machine = measuring.Machine()
    with progress(options) as bar:
        extraction = measuring.Extraction(experiment, store, measuring.Encoders(), machine=machine)
        plan = measuring.plan(extraction, machine, bar)
    if options.json:
        output.print_json(asdict(plan) | {"seconds": plan.seconds(), "workers": n_workers})
    else:
        print(*words.plan.lines(plan, n_workers), sep="\n")
    return 0


def share(experiment: Experiment, store: "measuring.Store", of: "measuring.Share", options: argparse.Namespace) -> int:
    """Measure what falls to one worker, and say how much that was; the exit status. Raises ClsvizError."""
    n_measured, seconds, began = 0, 0.0, time.monotonic()
    with progress(options) as bar:
        encoders = measuring.Encoders()
        worker = measuring.Extraction(experiment, store, encoders, kind=Kind.NORMS).worker(bar, of)
        for measured in worker.run():
            n_measured, seconds = n_measured + len(measured.measurements), seconds + measured.seconds
            if isinstance(bar, Lines):
                rate = n_measured / seconds
                tell({"rank": of.rank, "sentences": n_measured, "tokens": worker.n_tokens, "per_second": rate})
        n_left = worker.n_missing
    report = {"rank": of.rank, "workers": of.of, "sentences": n_measured, "tokens": worker.n_tokens, "left": n_left}
    if options.json:
        output.print_json(report | {"seconds": time.monotonic() - began})
    else:
        left = f"{n_left:,} are left to others" if n_left else "none are left"
        print(f"Worker {of.rank} of {of.of}: {n_measured:,} sentences measured, {worker.n_tokens:,} tokens; {left}.")
    return 0


def workers_here(experiment: Experiment, n_workers: int, options: argparse.Namespace) -> None:
    """Run so many workers on this machine until all have ended; raises ClsvizError where one fails.

    Each has its share of the processors.
    """
    if n_workers < 1:
        raise SettingError("--workers is 0; it must be at least 1.")
    flags = [f"{flag}={value}" for flag, value in experiment.to_flags().items()]
    flags += [f"--progress={options.progress}", *([f"--store={options.store}"] if options.store else [])]
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // n_workers))}
    with contextlib.ExitStack() as running:
        processes = [
            running.enter_context(_start([*flags, f"--rank={rank}", f"--of={n_workers}"], environment))
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


def _start(flags: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "clsviz", "measure", *flags]
    return subprocess.Popen(command, env=environment, stdout=_STDERR)
