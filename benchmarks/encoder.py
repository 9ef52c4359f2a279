"""How fast the encoder is, compared with the alternatives: python -m benchmarks.encoder [--sentences N] [--json].

All ways measure the same sentences, in turns, over several rounds in one process; times are medians. The ways:

    original        the loop of the original experiment: batches of 8, unsorted, padded to the longest sentence of all
                    and trimmed to the longest in the batch
    transformers    the plain Hugging Face model: sorted by length, batches of 32
    sentence-transformers    its `encode` with its defaults and [CLS] pooling
    onnx            ONNX Runtime in float32, sorted, batches of 32, as sentence-transformers uses it
    exact, fast     ours, in both precisions, with the norms after all layers

The error is the largest relative error of the last layer's norm (for ours, of any layer's), compared with the plain
model in float32, one sentence at a time. The ceiling is the rate the model would reach if it did nothing but the
products of its linear layers for every token, with the fastest kernel found for each shape on this machine, in float32
(for `fast`, in bfloat16). Ours computes less than that, because it needs only [CLS] of the last layer. Peak memory is
that of a process that runs this way alone, libraries and model included (on a GPU: what PyTorch allocates there).

Requires requirements-benchmarks.txt.
"""

import argparse
import functools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.ways import Maker, Norms, Plain, find_weights, in_parts, note, ways_to
from clsviz import corpora, models
from clsviz.encoder import Encoder, Linear
from clsviz.experiment import Selection
from clsviz.measuring import Store
from clsviz.progress import Progress

_GROWTH = 10
_ROWS = 2048
"""Tokens at a time in the ceiling's products: as many as a batch has on a CPU."""
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
    error: float = float("nan")


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
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory", nargs="*", metavar="WAY", help="find out how much memory these take, not all")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)  # the folder that holds what is set up
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    n = options.sentences * (_GROWTH if options.growth else 1)
    sentences = corpora.fetch_sample(Selection(options.corpus), n, 0, Store().corpora, Progress()).sentences
    if len(sentences) < n:
        sys.exit(f"{options.corpus} has only {len(sentences):,} sentences of {n:,}. Take fewer, or another corpus.")
    if options.peak:
        weights = models.find(options.model)
        print(_peak(weights, sentences, options))
        return
    with tempfile.TemporaryDirectory() as folder:
        weights = find_weights(options.model, Path(folder))
        result = measure(weights, sentences, options, Path(folder))
    print(json.dumps(result, indent=1, allow_nan=False) if options.json else _table(result))


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
    result: dict[str, object] = {
        "model": weights.label,
        "device": _device_name(options.device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "sentences": len(sample),
        "tokens_per_sentence": n_tokens / len(sample),
        "rounds": options.rounds,
        "ceiling": {
            str(dtype).removeprefix("torch."): {
                "gigaflops": rate * n_tokens / len(sample) * _flops_per_token(plain.products) / 1e9,
                "sentences_per_second": rate,
            }
            for dtype, rate in ceilings.items()
        },
        "rows": _rows(ways, len(sample), n_tokens, ceilings),
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
    """Time each way in every round; gives the sentences per second of the ceilings, in their best round."""
    per_token: dict[torch.dtype, list[float]] = {torch.float32: [], torch.bfloat16: []}
    for number in range(options.rounds):
        for way in ways:
            note(f"round {number + 1} of {options.rounds}: {way.name}")
            began = time.perf_counter()
            way.run(sample)
            way.seconds.append(time.perf_counter() - began)
        for dtype, seconds in per_token.items():
            seconds.append(_seconds_per_token(plain.products, dtype, options.device))
    note("")
    return {dtype: len(sample) / n_tokens / min(seconds) for dtype, seconds in per_token.items()}


def _rows(ways: Sequence[Way], n: int, n_tokens: int, ceilings: dict[torch.dtype, float]) -> list[dict[str, object]]:
    """A row of the table for each way, of n sentences that have so many tokens."""
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
            "max_relative_error": way.error,
            "peak_megabytes": way.peak_megabytes,
        }
        if way.encoder is not None:
            row["ceiling_fraction"] = rate / ceilings[way.encoder.dtype]
        rows.append(row)
    return rows


def _flops_per_token(products: Counter[tuple[int, int]]) -> int:
    """Floating-point operations of the linear layers."""
    return 2 * sum(rows * columns * n for (rows, columns), n in products.items())


def _seconds_per_token(products: Counter[tuple[int, int]], dtype: torch.dtype, device: str) -> float:
    """Time of all products for one token, each with the fastest kernel found for its shape."""
    rows = _ROWS if device == "cpu" else 64 * _ROWS
    return sum(n * _product_seconds(shape, rows, dtype, device) / rows for shape, n in products.items())


@torch.inference_mode()
def _product_seconds(shape: tuple[int, int], rows: int, dtype: torch.dtype, device: str) -> float:
    weight = torch.randn(shape, device=device, dtype=dtype)
    bias = torch.randn(shape[0], device=device, dtype=dtype)
    x = torch.randn((rows, shape[1]), device=device, dtype=dtype)
    packed = Linear(weight, bias, dtype)
    kernels: list[Callable[[], object]] = [
        lambda: torch.nn.functional.linear(x, weight, bias),
        lambda: packed(x),
    ]
    if device == "cpu" and dtype == torch.float32:
        left, right = x.numpy(), weight.numpy().T
        kernels.append(lambda: left @ right)
    best = float("inf")
    for kernel in kernels:
        for _ in range(4):
            _wait(device)
            began = time.perf_counter()
            kernel()
            _wait(device)
            best = min(best, time.perf_counter() - began)
    return best


def _growth(encoder: Encoder, sentences: list[str], options: argparse.Namespace) -> dict[str, float]:
    """Time for ten times the sentences, and the memory added by them once everything is set up."""
    few, many = options.sentences, len(sentences)
    in_parts(encoder, sentences[:few])
    seconds: dict[int, list[float]] = {few: [], many: []}
    before = _status_megabytes("VmRSS")
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
        "megabytes_more": _status_megabytes("VmRSS") - before,
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
    return _status_megabytes("VmHWM")  # getrusage would start from the parent's peak


def _status_megabytes(name: str) -> float:
    """What Linux reports for this process: VmRSS, memory in use, or VmHWM, its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    capabilities: Any = torch.cpu.get_capabilities()
    return f"{capabilities.get('cpu_name') or platform.machine()}, {os.cpu_count()} cores"


def _table(result: dict[str, Any]) -> str:
    lines = [
        f"{result['model']} on {result['device']}, torch {result['torch']}, {result['threads']} threads; "
        f"{result['sentences']:,} sentences of {result['tokens_per_sentence']:.1f} tokens, {result['rounds']} rounds",
        *(
            f"ceiling in {name}: {entry['gigaflops']:,.0f} GFLOP/s, {entry['sentences_per_second']:,.0f} sentences/s"
            for name, entry in result["ceiling"].items()
        ),
        "",
        f"{'':22} {'sentences/s':>11} {'tokens/s':>9} {'ratio':>6} {'largest error':>13} {'MB':>6} {'of ceiling':>10}",
    ]
    for row in result["rows"]:
        fraction = f"{row['ceiling_fraction']:.0%}" if "ceiling_fraction" in row else ""
        megabytes = "" if row["peak_megabytes"] is None else f"{row['peak_megabytes']:,.0f}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        lines.append(
            f"{row['name']:22} {row['sentences_per_second']:11,.0f} {row['tokens_per_second']:9,.0f} "
            f"{ratio:>6} {row['max_relative_error']:13.1e} {megabytes:>6} {fraction:>10}"
        )
    if growth := result.get("growth"):
        lines.append(
            f"\n{growth['sentences']:,} sentences take {growth['times_the_seconds']:.2f} times as long as a tenth of "
            f"them, and {growth['megabytes_more']:.0f} MB more"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
