"""How long all sentences of a corpus take to count: python -m benchmarks.census [--rows N] [--layers L] [--folder F].

In a temporary store it writes parts of made-up sentences, as large as those of a whole corpus: lengths are log-normal
around 15 tokens, and norms of [CLS] after each layer lie around a line, with a spread that falls with length. Then, in
processes of their own, it times the pass that counts all of them, and what a page shows of what was kept: a line, that
of another cutoff and of another layer. It compares the numbers of the first million with those that are
computed in memory, and times a pass after one part was added.
"""

import argparse
import functools
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from clsviz.measurements import Measurements
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.statistics.line import fit
from clsviz.store import Counted, Key, Store, take_census

T = TypeVar("T")

KEY = Key("m" * 64, "c" * 64, 0, 512, "float32")

_PART, _POOL = 16_384, 1 << 22

_CHECKED = 1_000_000


def main() -> None:
    """Print one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="sentences")
    parser.add_argument("--layers", type=int, default=7, help="layers, that of the embeddings included")
    parser.add_argument("--folder", type=Path, help="where the store is made; by default where temporary files are")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        STEPS[options.step](Store(options.folder), options.rows)
        print(f"  memory at the peak: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
        return
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        store = Store(Path(folder))
        write(store, 0, options.rows, options.layers)
        n_bytes = sum(path.stat().st_size for path in store.root.rglob("*.safetensors"))
        n_parts = len(store.parts(KEY))
        print(f"{options.rows:,} sentences, {options.layers} layers: {n_parts:,} parts, {n_bytes / 1e9:.2f} GB")
        for step in STEPS:
            if step == "added":
                write(store, options.rows, options.rows + _PART, options.layers)
            rows = options.rows + (_PART if step == "added" else 0)
            print(f"{step}:", flush=True)
            command = [
                sys.executable,
                "-m",
                "benchmarks.census",
                f"--folder={folder}",
                f"--rows={rows}",
                f"--step={step}",
            ]
            subprocess.run(command, check=True)


def lengths_and_noise(random: np.random.Generator, n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Lengths of so many sentences in tokens, and how far their norms are from the line, before their length counts."""
    lengths = np.clip(np.rint(random.lognormal(np.log(15), 0.6, n)), 3, 480).astype(np.int32)
    return lengths, random.standard_normal(n, dtype=np.float32)


def write(store: Store, start: int, stop: int, n_layers: int) -> None:
    """Write the parts of sentences from `start` to `stop`."""
    random = np.random.default_rng(start)
    lengths, noise = lengths_and_noise(random, _POOL)
    for first in range(start, stop, _PART):
        n = min(_PART, stop - first)
        at = random.integers(0, _POOL - n)
        x = lengths[at : at + n]
        norms = np.empty((n, n_layers), np.float32)
        for layer in range(n_layers):
            other = random.integers(0, _POOL - n)
            norms[:, layer] = 7 + layer - 0.004 * layer * x + 0.9 * noise[other : other + n] / np.sqrt(x)
        measured = Measurements(x, np.zeros(n, np.bool_), norms, np.empty((n, 0), np.float32))
        store.append(KEY, first, measured, seconds=0)


def counted(store: Store, rows: int) -> Counted:
    """What was counted."""
    found = take_census(store, KEY, rows, Progress())
    assert found is not None
    return found


def count(store: Store, rows: int) -> None:
    """The pass over all parts."""
    found = timed("  all parts", lambda: counted(store, rows))
    print(f"  {rows * (found.shape.n_layers + 1) / 1e9:.2f} billion norms")
    n_bytes = sum(path.stat().st_size for path in store.root.rglob(f"census-{rows:09d}*"))
    print(f"  kept: {n_bytes / 1e6:,.1f} MB")


def view(store: Store, rows: int) -> None:
    """What a page shows."""
    found = timed("  finding what is kept", lambda: counted(store, rows))
    census = timed("  reading a layer", lambda: found.vector(Pooling.CLS, None))
    for cutoff in (80, 80, 40, 513):
        timed(f"  the line under {cutoff} tokens", functools.partial(census.fit, cutoff))
    timed("  another layer, and its line", lambda: found.vector(Pooling.CLS, 1).fit(80))
    timed("  R² by cutoff", census.by_cutoff)
    fitted = census.fit(80)
    print(f"  R² {fitted.r_squared:.6f}, {fitted.r_squared_interval}")


def check(store: Store, rows: int) -> None:
    """The numbers of the first sentences, as counted and in memory."""
    n = min(rows, _CHECKED)
    found = timed(f"  counting {n:,}", lambda: counted(store, n))
    parts = [store.read(part) for start, part in sorted(store.parts(KEY).items()) if start < n]
    measured = Measurements.concatenate([part for part in parts if part is not None]).head(n)
    census, norms = found.vector(Pooling.CLS, None), measured.norms(Pooling.CLS, None)
    one = census.fit()
    other = timed("  the line in memory", lambda: fit(measured.n_tokens, norms))
    for name in ("slope", "intercept", "r_squared", "norm_sd", "spearman", "slope_interval", "r_squared_interval"):
        off = np.abs(np.subtract(getattr(one, name), getattr(other, name))) / np.abs(getattr(other, name))
        print(f"  {name}: relative difference {off.max():.1e}")


STEPS: dict[str, Callable[[Store, int], None]] = {"count": count, "view": view, "check": check, "added": count}


def timed(name: str, action: Callable[[], T]) -> T:
    """Run `action` and print how long it took."""
    began, processor = time.perf_counter(), time.process_time()
    result = action()
    seconds = time.perf_counter() - began
    print(f"{name}: {seconds:.3f} s, {time.process_time() - processor:.3f} processor seconds", flush=True)
    return result


if __name__ == "__main__":
    main()
