"""How fast the encoder is, compared with the alternatives: python -m benchmarks.encoder [--sentences N] [--json].

All ways measure the same sentences, in turns, over several rounds in one process; times are medians. The ways:

    original        the loop of the original experiment: batches of 8, unsorted, padded to the longest sentence of all
                    and trimmed to the longest in the batch
    transformers    the plain Hugging Face model: sorted by length, batches of 32
    sentence-transformers    its `encode` with its defaults and [CLS] pooling
    onnx            ONNX Runtime in float32, sorted, batches of 32, as sentence-transformers uses it
    openvino ...    OpenVINO in float32 and bfloat16, on the same exported model, in the same batches
    ctranslate2 ... CTranslate2 in float32, in the same batches
    exact, fast     ours, in both precisions, with the norms after all layers

The error is the largest relative error of the last layer's norm (for ours, of any layer's), compared with the plain
model in float32, one sentence at a time; a way whose error is larger than its precision explains is marked, as it does
not compute the same. The ceiling is the rate the model would reach if it did nothing but the products of its linear
layers for every token, in float32 (for `fast`, in bfloat16): each with the fastest kernel found for its shape on this
machine, whether all threads share a product or each has one to itself. It is timed in every round, after the ways, and
is a median as theirs are. Ours computes less than that, because it needs only [CLS] of the last layer. Peak memory is
that of a process that runs this way alone, libraries and model included (on a GPU: what PyTorch allocates there).

--beside N runs the same once more while N processes of a single thread compute all the time. Where the cores are
divided equally among them and a thread per core of ours, the rate alone × cores / (cores + N) is what is left: the fair
rate. The fair share is the rate that was reached as a part of that.

Requires benchmarks/requirements.txt. What is in benchmarks/requirements-engines.txt is compared if it is installed.
"""

import argparse
import atexit
import functools
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from benchmarks.busy import busy_processes
from benchmarks.ceiling import flops_per_token, seconds_per_token
from benchmarks.engines import Norms, missing
from benchmarks.machine import device_name, n_cores, status_megabytes
from benchmarks.table import table
from benchmarks.ways import Maker, Plain, find_weights, in_parts, note, ways_to
from clsviz.encoder import Encoder
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.sources import models, sampling
from clsviz.store import Store

_GROWTH = 10
_ROUNDING = {"float32": 1e-5, "bfloat16": 0.05}
"""Largest relative error of a norm that rounding explains."""
_PROCESSES = 2
"""Processes that measure peak memory at a time; each loads the model."""


@dataclass
class Way:
    """One way to compute norms: `run` takes the sentences and gives the norms of the last layer."""

    name: str
    run: Callable[[Sequence[str]], Norms]
    encoder: Encoder | None
    """Ours; None for the others."""
    peak_megabytes: float | None
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    """Seconds beside busy processes."""
    error: float = float("nan")

    @property
    def computes_the_same(self) -> bool:
        """Whether the error is one of rounding."""
        return self.error < (
            _ROUNDING["bfloat16"] if self.name.endswith(("fast", "bfloat16")) else _ROUNDING["float32"]
        )


def main() -> None:
    """Print a table, or with --json one object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="as for clsviz, or bert-base-shape for random weights")
    parser.add_argument("--corpus", default="python-docs")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--checked", type=int, default=300, help="sentences to compute the error on")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--ways", nargs="*", help="run only these ways")
    parser.add_argument("--growth", action="store_true", help="also run ours on ten times the sentences")
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="also beside so many busy processes")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory", nargs="*", metavar="WAY", help="find out how much memory these take, not all")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)  # the folder that holds what is set up
    options = parser.parse_args()
    gc.set_threshold(200_000)  # as for commands: what libraries make stays
    atexit.register(gc.freeze)
    warnings.simplefilter("ignore")
    n = options.sentences * (_GROWTH if options.growth else 1)
    sentences = sampling.find_sample(
        Selection(options.corpus), n, 0, Store().corpora, Progress(), online=True
    ).sentences
    if len(sentences) < n:
        sys.exit(f"{options.corpus} has only {len(sentences):,} sentences of {n:,}. Take fewer, or another corpus.")
    if options.peak:
        weights = models.find(options.model)
        print(_peak(weights, sentences, options))
        return
    with tempfile.TemporaryDirectory() as folder:
        weights = find_weights(options.model, Path(folder))
        result = measure(weights, sentences, options, Path(folder))
    print(json.dumps(result, indent=1, allow_nan=False) if options.json else table(result))


def measure(
    weights: models.Weights, sentences: list[str], options: argparse.Namespace, folder: Path
) -> dict[str, object]:
    """Run all ways in turns; the result can be written as JSON."""
    sample = sentences[: options.sentences]
    makers = ways_to(weights, options.device, folder)
    wanted = options.ways or list(makers)
    ways = _set_up({name: make for name, make in makers.items() if name in wanted}, folder, weights, options)
    plain = Plain(weights, options.device)
    n_tokens = sum(plain.lengths(sample))
    _find_errors(ways, sample, plain.one_by_one(sample[: options.checked]))
    ceilings = _run_in_turns(ways, sample, plain, n_tokens, options)
    if options.beside:
        _run_beside(ways, sample, options)
    result: dict[str, object] = {
        "model": weights.label,
        "device": device_name(options.device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "sentences": len(sample),
        "tokens_per_sentence": n_tokens / len(sample),
        "rounds": options.rounds,
        "ceiling": {
            str(dtype).removeprefix("torch."): {
                "gigaflops": rate * n_tokens / len(sample) * flops_per_token(plain.products) / 1e9,
                "sentences_per_second": rate,
            }
            for dtype, rate in ceilings.items()
        },
        "rows": _rows(ways, len(sample), n_tokens, ceilings, options.beside),
        "not_installed": sorted(missing()),
    }
    if options.growth:
        result["growth"] = _growth(Encoder(weights, device=options.device), sentences, options)
    return result


def _find_errors(ways: Sequence[Way], sample: Sequence[str], expected: Norms) -> None:
    """Compare each way's norms with those expected of the first sentences, after all layers or after the last.

    All of the sample is run, which gets the slower first run over with.
    """
    for way in ways:
        norms = way.run(sample)[: len(expected), None]
        if way.encoder is not None:
            norms = way.encoder.measure(sample[: len(expected)]).cls_norms
        way.error = float(np.abs(norms / expected[:, -norms.shape[1] :] - 1).max())


def _run_in_turns(
    ways: Sequence[Way], sample: Sequence[str], plain: Plain, n_tokens: int, options: argparse.Namespace
) -> dict[torch.dtype, float]:
    """Time each way in every round; gives the sentences per second of the ceilings, medians like those of the ways."""
    per_token: dict[torch.dtype, list[float]] = {torch.float32: [], torch.bfloat16: []}
    for number in range(options.rounds):
        for way in ways:
            note(f"round {number + 1} of {options.rounds}: {way.name}")
            began, processor_began = time.perf_counter(), time.process_time()
            way.run(sample)
            way.seconds.append(time.perf_counter() - began)
            way.processor_seconds.append(time.process_time() - processor_began)
        for dtype, seconds in per_token.items():
            seconds.append(seconds_per_token(plain.products, dtype, options.device))
    note("")
    return {dtype: len(sample) / n_tokens / statistics.median(seconds) for dtype, seconds in per_token.items()}


def _run_beside(ways: Sequence[Way], sample: Sequence[str], options: argparse.Namespace) -> None:
    """Time each way in every round, while so many other processes compute."""
    with busy_processes(options.beside):
        for number in range(options.rounds):
            for way in ways:
                note(f"beside {options.beside}, round {number + 1} of {options.rounds}: {way.name}")
                began = time.perf_counter()
                way.run(sample)
                way.beside.append(time.perf_counter() - began)
    note("")


def _rows(
    ways: Sequence[Way], n: int, n_tokens: int, ceilings: dict[torch.dtype, float], n_beside: int
) -> list[dict[str, object]]:
    """A row of the table for each way, of n sentences that have so many tokens."""
    fair = n_cores() / (n_cores() + n_beside)
    rates = {way.name: n / statistics.median(way.seconds) for way in ways}
    base = rates.get("sentence-transformers")
    rows = []
    for way in ways:
        rate = rates[way.name]
        row: dict[str, object] = {
            "name": way.name,
            "sentences_per_second": rate,
            "tokens_per_second": rate * n_tokens / n,
            "ratio": base and rate / base,
            "processor_seconds": statistics.median(way.processor_seconds),
            "max_relative_error": way.error,
            "computes_the_same": way.computes_the_same,
            "peak_megabytes": way.peak_megabytes,
        }
        if way.beside:
            beside = n / statistics.median(way.beside)
            row["beside"] = beside
            row["fair_share"] = beside / (rate * fair)
        if way.encoder is not None:
            row["ceiling_fraction"] = rate / ceilings[way.encoder.dtype]
        rows.append(row)
    return rows


def _growth(encoder: Encoder, sentences: list[str], options: argparse.Namespace) -> dict[str, float]:
    """Time for ten times the sentences, and the memory added by them once everything is set up."""
    few, many = options.sentences, len(sentences)
    in_parts(encoder, sentences[:few])
    seconds: dict[int, list[float]] = {few: [], many: []}
    before = status_megabytes("VmRSS")
    for number in range(max(1, options.rounds // 2)):
        for n in seconds:
            note(f"round {number + 1}: {n:,} sentences")
            began = time.perf_counter()
            in_parts(encoder, sentences[:n])
            seconds[n].append(time.perf_counter() - began)
    note("")
    return {
        "sentences": many,
        "times_the_seconds": statistics.median(seconds[many]) / statistics.median(seconds[few]),
        "megabytes_more": status_megabytes("VmRSS") - before,
    }


def _set_up(makers: dict[str, Maker], folder: Path, weights: models.Weights, options: argparse.Namespace) -> list[Way]:
    """Make every way, while processes of their own find out how much memory each takes."""
    runs, peaks = {}, {}
    with ThreadPoolExecutor(_PROCESSES) as pool:
        for name, make in makers.items():
            note(f"setting up {name}")
            runs[name] = make()
            if options.memory is None or name in options.memory:
                peaks[name] = _submit_peak(pool, name, folder, weights, options)
    return [
        Way(
            name,
            run,
            run.args[0] if isinstance(run, functools.partial) else None,
            peaks[name].result() if name in peaks else None,
        )
        for name, run in runs.items()
    ]


def _submit_peak(
    pool: ThreadPoolExecutor, name: str, folder: Path, weights: models.Weights, options: argparse.Namespace
) -> Future[float | None]:
    command = [sys.executable, "-m", "benchmarks.encoder", f"--model={weights.folder}", f"--ways={name}"]
    command += [f"--{name}={getattr(options, name)}" for name in ("corpus", "sentences", "device")]

    def run() -> float | None:
        child = subprocess.run([*command, f"--peak={folder}"], capture_output=True, text=True, check=False)
        return float(child.stdout) if child.returncode == 0 else None

    return pool.submit(run)


def _peak(weights: models.Weights, sentences: list[str], options: argparse.Namespace) -> float:
    """Peak memory in megabytes of this process, which runs a single way; libraries and model included."""
    (name,) = options.ways
    ways_to(weights, options.device, options.peak)[name]()(sentences)
    if options.device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return status_megabytes("VmHWM")  # getrusage would start from the parent's peak


if __name__ == "__main__":
    main()
