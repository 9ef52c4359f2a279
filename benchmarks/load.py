"""How a public server bears a crowd.

python -m benchmarks.load [--minutes N] [--only PART ...] [--small]. Servers are this machine's own,
with empty stores; visitors are a process.

stored: 100 visitors at once of the first page, three times.
shared: 50 at once on one new experiment, and one visitor alone on another.
apart: 25 at once on different new experiments.
comings: visitors come and go for N minutes; the slope of the server's memory in the second half.
"""

import argparse
import asyncio
import os
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import linear_regression, median, quantiles
from typing import Any

import psutil

from benchmarks.visitors import (
    Visit,
    crowd,
    memory,
    processor_seconds,
    serve,
    spread,
    wait_until_idle,
)

ROOT = Path(__file__).parents[1]

PUBLIC = {"CLSVIZ_PUBLIC": "1", "STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "5"}

_seeds = count(int(time.time()) % 10**6)
_is_small = False


def main() -> None:
    """Print a line for each figure."""
    global _is_small
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--small", action="store_true", help="a tenth of the visitors")
    options = parser.parse_args()
    _is_small = options.small
    print(f"load before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    for part in options.only:
        PARTS[part](options)


def stored(_: argparse.Namespace) -> None:
    """A crowd of the first page, which has shipped results."""
    seconds, taken = [], []
    for _ in range(3):
        with serve(ROOT, PUBLIC) as (address, server, _):
            come(address, [Visit()])
            wait_until_idle(server)
            before = processor_seconds(server)
            visits = come(address, [Visit() for _ in range(number(100))])
            seconds.append(quantiles([visit.seconds("run") for visit in visits], n=20)[-1])
            wait_until_idle(server)
            taken.append(1000 * (processor_seconds(server) - before) / len(visits))
    print(f"stored, {number(100)} at once, p95, s: {spread(seconds)}")
    print(f"stored, processor of the server, ms a visit: {spread(taken)}")


def shared(_: argparse.Namespace) -> None:
    """One job that many follow, beside one that has a single visitor."""
    seconds: dict[int, list[float]] = {1: [], number(50): []}
    with warm_server() as (address, server, _):
        for _ in range(3):
            for n, of_crowd in seconds.items():
                query = new_experiment(1000)
                visits = come(address, [Visit(query, until="settled") for _ in range(n)])
                of_crowd.append(median(visit.seconds("settled") for visit in visits))
                print(f"shared, {n} visitors: settled after {of_crowd[-1]:.1f} s")
                wait_until_idle(server)
    ratios = [together / alone for alone, together in zip(*seconds.values(), strict=True)]
    print(f"shared job ÷ alone: {spread(ratios)} (at most 1.3)")


def apart(_: argparse.Namespace) -> None:
    """Different jobs, which take turns."""
    visits = [Visit(new_experiment(100), until="settled") for _ in range(number(25))]
    with warm_server() as (address, _, store):
        come(address, visits)
        turns = first_turns(store)
    began = min(visit.times["began"] for visit in visits)
    ratios = [visit.seconds("points") / (turns[seed_of(visit)] - began) for visit in visits]
    print(f"apart: settled after {max(visit.times['settled'] for visit in visits) - began:.1f} s")
    print(f"first points ÷ turns before them, worst: {max(ratios):.2f} (at most 1.5)")


def comings(options: argparse.Namespace) -> None:
    """Visitors who come and go, one in ten to something new."""
    seconds, chance = 60 * options.minutes, random.Random(0)
    visits, gaps = [], []
    gap = 0.0
    while gap < seconds:
        is_new = chance.random() < 0.1
        query = new_experiment(100) if is_new else f"layer={chance.randrange(7)}"
        visits.append(Visit(query, until="settled", stays=chance.uniform(0, 10)))
        gaps.append(gap)
        gap += chance.expovariate(1)
    with warm_server() as (address, server, _):
        readings = asyncio.run(watch_memory(crowd(address, visits, gaps), server))
        time.sleep(90)
        end = memory(server)
    waits = [visit.seconds("points") for visit in visits if "points" in visit.times]
    p95 = quantiles(waits, n=20)[-1]
    print(f"comings: {len(visits)}, {len(visits) - len(waits)} without points, p95 {p95:.1f} s")
    late = readings[len(readings) // 2 :]
    megabytes = [mb for _, mb in late]
    slope = linear_regression(*zip(*late, strict=True)).slope * 60
    print(f"memory, second half: {slope:+.2f} MB a minute, {spread(megabytes)} MB")
    print(f"memory: {readings[0][1]:.0f} MB at first, {end:.0f} MB when 90 s have passed")


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "stored": stored,
    "shared": shared,
    "apart": apart,
    "comings": comings,
}


@contextmanager
def warm_server() -> Iterator[tuple[str, psutil.Process, Path]]:
    """A public server that has loaded its model."""
    with serve(ROOT, PUBLIC) as (address, server, store):
        come(address, [Visit(new_experiment(50), until="settled")])
        wait_until_idle(server)
        yield address, server, store


def new_experiment(sample_size: int) -> str:
    """The query of an experiment that no store has."""
    return f"sample_size={sample_size}&seed={next(_seeds)}"


def number(n: int) -> int:
    """A number of visitors."""
    return max(n // 10, 2) if _is_small else n


def come(address: str, visits: list[Visit]) -> list[Visit]:
    """Let visitors come at once."""
    return asyncio.run(crowd(address, visits))


def seed_of(visit: Visit) -> str:
    """The seed in a query of `new_experiment`."""
    return visit.query.rpartition("seed=")[2]


def first_turns(store: Path) -> dict[str, float]:
    """The time at which the first turn of every experiment ended, by its seed."""
    turns: dict[str, float] = {}
    for path in store.glob("norms-*/*.safetensors"):
        seed = path.parent.name.split("-")[-2]
        turns[seed] = min(path.stat().st_mtime, turns.get(seed, float("inf")))
    return turns


async def watch_memory(
    visitors: Coroutine[Any, Any, object], server: psutil.Process
) -> list[tuple[float, float]]:
    """(seconds, MB) of a server while visitors come and go."""
    task, began, readings = asyncio.create_task(visitors), time.monotonic(), []
    while not task.done():
        readings.append((time.monotonic() - began, await asyncio.to_thread(memory, server)))
        await asyncio.wait([task], timeout=2)
    await task
    return readings


if __name__ == "__main__":
    main()
