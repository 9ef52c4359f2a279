"""How long it takes until something is there: python -m benchmarks.start [--rounds N] [--against FOLDER].

The help; what is stored of 100 sentences, numbers and all; and the norms of the first 32
sentences. Each in a process of its own, in turns:
wall-clock and processor seconds, libraries included. --against: another checkout of clsviz, whose processes take turns
with those of this one.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

_HERE = Path(__file__).parents[1]


_LOAD = """
import os
from clsviz.sources import models
from clsviz.encoder import Encoder
Encoder(models.find({model!r})).measure(["The quick brown fox jumps over the lazy dog."] * 32)
os._exit(0)  # they are there
"""


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="after the first, which counts only where it is the last")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--corpus", default="python-docs")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--store", type=Path, help="one where they are stored already; by default a new one")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    measure = ["-m", "clsviz", "measure", f"--model={options.model}", f"--corpus={options.corpus}", "--sample-size=100"]
    load = ["-c", _LOAD.format(model=options.model)]
    ways = {"help": ["-m", "clsviz", "--help"], "100 stored sentences": measure, "load the model": load}
    runs = {(name, _HERE): way for name, way in ways.items()}
    if options.against:
        runs |= {(name, options.against): way for name, way in ways.items()}
    spent: dict[tuple[str, Path], list[tuple[float, float]]] = {run: [] for run in runs}
    with tempfile.TemporaryDirectory() as stores:
        for round_number in range(options.rounds + 1):
            for (name, checkout), words in runs.items():
                store = options.store or Path(stores) / str(checkout == _HERE)
                seconds = run_once(words, checkout, store)
                if round_number or not options.rounds:  # the first fills the store, and the caches of the system
                    spent[name, checkout].append(seconds)
    for (name, checkout), rounds in sorted(spent.items()):
        wall, processor = (statistics.median(one[index] for one in rounds) for index in (0, 1))
        where = "" if checkout == _HERE else f" (in {checkout})"
        print(f"{name}{where}: {wall:.2f} s, {processor:.2f} s of processor time")


def run_once(words: list[str], checkout: Path, store: Path) -> tuple[float, float]:
    """Wall-clock and processor seconds of one process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "CLSVIZ_STORE": str(store)}
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    began = time.perf_counter()
    process = os.posix_spawn(sys.executable, [sys.executable, "-P", *words], environment, file_actions=nowhere)
    _, status, used = os.wait4(process, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"{' '.join(words)} failed in {checkout}")
    return seconds, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
