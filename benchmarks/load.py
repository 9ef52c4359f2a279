"""How the public demo bears a crowd: python -m benchmarks.load [--only NAME ...] [--minutes N] [--quick] [--json FILE].

It starts servers of its own in public mode, on a store of its own, and visits them from a process of its own by
Streamlit’s protocol, on this machine alone. Visitors are different ones, each with an address and a cookie.

    stored      100 visitors at once, of what is stored: seconds from asking for the page to the first points; with
                --rounds 10 and left, what a server holds of a thousand who left
    together    50 at once on one experiment of 1,000 sentences that is new, and the same for one visitor alone
    apart       25 at once on different new experiments: the places in the queue that they are told
    left        what the server holds before them all, and a minute after they left
    comings     visitors come and go for N minutes: the slope of what the server holds
    ended       SIGTERM in the middle of a run, and the server started again on the same store

--quick does a little of each. The exit status is 1 if something went wrong that does not depend on the machine’s speed.
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import load_table
from benchmarks.load_table import Report, Row
from benchmarks.visited import Held, Server, Stored, Visitors, Watch, serve, stored
from benchmarks.visitors import Met, Visit

MEASURED = "clsviz_sentences_measured_total"


@dataclass(frozen=True)
class Sizes:
    """How much of each. sentences: of a new experiment; few: of each where they are different."""

    stored: int = 100
    together: int = 50
    sentences: int = 1000
    apart: int = 25
    few: int = 100
    rounds: int = 3
    left_seconds: float = 60.0
    minutes: float = 10.0
    ended: int = 5000
    patience: float = 300.0


QUICK = Sizes(stored=5, together=5, sentences=128, apart=3, few=64, rounds=1, left_seconds=1.0, minutes=0.05, ended=500)


class Load:
    """The parts of the benchmark, which share visitors, and seeds that were never used."""

    def __init__(self, sizes: Sizes, visitors: Visitors, folder: Path) -> None:
        """folder: what the servers have their store in."""
        self._sizes, self._visitors, self._folder = sizes, visitors, folder
        self._seed = 100

    def warm(self, server: Server) -> None:
        """Let the server load what it loads once: the pages, the model, the libraries of regressions."""
        self._come(server, 1, query=self._new(64), until="measured", patience=600.0)
        self._come(server, 3)

    def stored(self, server: Server) -> Report:
        """Visitors of what is stored."""
        before = server.seconds()
        n = self._sizes.stored
        met = [one for _ in range(self._sizes.rounds) for one in self._come(server, n)]
        seconds = (server.seconds() - before) / len(met)
        kilobytes = np.median([one.n_bytes for one in met]) / 1000
        each = f"{1000 * seconds:.0f} ms of processor time and {kilobytes:,.0f} kB"
        return [
            load_table.points(f"{n} at once, stored: first points", met),
            Row("each visit takes the server", each),
        ]

    def together(self, server: Server) -> Report:
        """Visitors of one new experiment, in turns with one visitor of another."""
        n, sentences = self._sizes.together, self._sizes.sentences
        alone: list[tuple[float, float]] = []
        crowded: list[tuple[float, float]] = []
        all_met, looks, counted = [], [], []
        for _ in range(self._sizes.rounds):
            for size, seconds in ((1, alone), (n, crowded)):  # until the last part, and from the first part to it
                before = server.number(MEASURED)
                query = self._new(sentences)
                met = self._come(server, size, query=query, until="measured")
                times = self._stored(query).times
                seconds.append((times[-1] - min(one.began for one in met), times[-1] - times[0]))
                counted.append(server.number(MEASURED) - before)
                if size == n:
                    all_met += met
                    looks.append(sum(one.n_looks for one in met) / seconds[-1][0])
        (until, within), (until_alone, within_alone) = np.median(crowded, axis=0), np.median(alone, axis=0)
        told = f"after {until:.2f} s, alone after {until_alone:.2f} s: {until / until_alone:.2f} times as long"
        told_within = f"{within:.2f} s, alone {within_alone:.2f} s: {within / within_alone:.2f} times as long"
        is_shared = set(counted) == {float(sentences)}
        return [
            load_table.points(f"{n} at once on one new experiment: first points", all_met),
            Row(f"{sentences:,} sentences measured", told),
            Row("from the first part stored to the last", told_within),
            Row("sentences measured for one experiment", load_table.several(counted), is_wrong=not is_shared),
            Row("looks for news", f"{np.median(looks):.1f} a second, of all together"),
        ]

    def apart(self, server: Server) -> Report:
        """Visitors of different new experiments."""
        n, patience = self._sizes.apart, self._sizes.patience
        queries = [self._new(self._sizes.few) for _ in range(n)]
        visits = [Visit(self._visitors.number(), query=query, until="measured", patience=patience) for query in queries]
        met = self._visitors.come(server, visits)
        off = [abs(told - passed) for told, passed in load_table.places(met, [*map(self._stored, queries)])]
        places = f"{len(off)} told, off by {max(off, default=0)} at most, {np.mean(off or [0]):.1f} on average"
        name = f"{len(met)} at once on different new experiments: first points"
        return [load_table.points(name, met), Row("places in the queue, against who did come first", places)]

    def left(self, server: Server, before: Held) -> Report:
        """What the server holds once all have left, against `before`."""
        time.sleep(self._sizes.left_seconds)
        return load_table.left(server.held(), before, self._sizes.left_seconds)

    def comings(self, server: Server) -> Report:
        """Visitors who come and go, most to what is stored, some to what is new."""
        seconds = self._sizes.minutes * 60
        rng = np.random.default_rng(0)
        visits, begins = [], 0.0
        while begins < seconds:
            is_new = rng.random() < 0.1
            query = self._new(self._sizes.few) if is_new else f"layer={rng.integers(1, 7)}"
            stays = float(rng.uniform(0, 10) if seconds > 60 else 0)
            visit = Visit(self._visitors.number(), query=query, begins=begins, stays=stays)
            visits.append(replace(visit, patience=self._sizes.patience))
            begins += float(rng.exponential(1.0))
        with Watch(server, min(2.0, seconds / 40)) as watch:
            met = self._visitors.come(server, visits)
        name = f"{len(met)} come and go in {self._sizes.minutes:g} minutes: first points"
        return [load_table.points(name, met), *load_table.slopes(watch.readings)]

    def ended(self, server: Server) -> Report:
        """A server that is told to end while it measures, and another one that goes on."""
        query, n = self._new(self._sizes.ended), self._sizes.ended
        has_points = threading.Event()
        visit = Visit(self._visitors.number(), query=query, until="measured")
        met, came = self._begin(server, visit, has_points.set)
        if not has_points.wait(300):
            sys.exit("Nothing was measured.")
        deadline = time.monotonic() + 60
        while not self._stored(query).sentences and time.monotonic() < deadline:  # points may be seen before
            time.sleep(0.05)
        seconds, _ = server.stop()
        came.join()
        seen = max((count for _, count in met[0].counts), default=0)
        kept = self._stored(query).sentences
        log = load_table.log(server)
        with serve(self._folder) as server:
            again = self._come(server, 1, query=query, until="measured", patience=600.0)
            more = server.number(MEASURED)
        return [
            Row("ended by SIGTERM while it measured", f"after {seconds:.1f} s", is_wrong=seconds > 10),
            log,
            Row("sentences that the visitor saw measured, and those kept", f"{seen:,}, {kept:,}", is_wrong=kept < seen),
            Row("measured once it was started again", f"{more:,.0f} of {n:,}", is_wrong=more != n - kept),
            load_table.points("first points then", again),
        ]

    def _begin(self, server: Server, visit: Visit, on_points: Callable[[], None]) -> tuple[list[Met], threading.Thread]:
        met: list[Met] = []
        came = threading.Thread(target=lambda: met.extend(self._visitors.come(server, [visit], on_points)))
        came.start()
        return met, came

    def _stored(self, query: str) -> Stored:
        return stored(self._folder / "store", query)

    def _come(
        self, server: Server, n: int, query: str = "", until: str = "points", patience: float | None = None
    ) -> list[Met]:
        patience = patience or self._sizes.patience
        numbers = [self._visitors.number() for _ in range(n)]
        return self._visitors.come(server, [Visit(i, query=query, until=until, patience=patience) for i in numbers])

    def _new(self, sentences: int) -> str:
        self._seed += 1
        return f"seed={self._seed}&sample_size={sentences}"


def measure(sizes: Sizes, only: Sequence[str], folder: Path) -> Report:
    """All parts, or those that are named."""
    report: Report = []

    def add(rows: Report) -> None:
        report.extend(rows)
        for row in rows:
            print(f"{row.name}: {row.value}{' (WRONG)' if row.is_wrong else ''}", file=sys.stderr, flush=True)

    kept = str(max(1, int(sizes.left_seconds / 2)))  # seconds, so that those who left are let go of meanwhile
    with Visitors() as visitors, serve(folder, STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL=kept) as server:
        load = Load(sizes, visitors, folder)
        load.warm(server)
        time.sleep(sizes.left_seconds if "left" in only else 0)
        before = server.held()
        parts = {
            "stored": load.stored,
            "together": load.together,
            "apart": load.apart,
            "left": lambda server: load.left(server, before),
            "comings": load.comings,
            "ended": load.ended,
        }
        for name, part in parts.items():
            if name in only:
                add(part(server))
        if "ended" not in only:
            add([load_table.log(server)])
    return report


def main() -> None:
    """Print a table, and write it as JSON if asked."""
    names = ["stored", "together", "apart", "left", "comings", "ended"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, help="where the table is written as JSON as well")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended."))  # with the servers that it started
    sizes = QUICK if options.quick else Sizes()
    sizes = replace(sizes, minutes=options.minutes or sizes.minutes, rounds=options.rounds or sizes.rounds)
    with tempfile.TemporaryDirectory(prefix="clsviz-load-") as folder:
        report = measure(sizes, options.only, Path(folder))
    machine = f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
    print(f"{machine}, a load of {os.getloadavg()[0]:.1f} before the end\n\n| | |\n|---|---|")
    for row in report:
        print(f"| {row.name} | {row.value} |")
    if options.json:
        rows = [{"name": row.name, "value": row.value, "is_wrong": row.is_wrong} for row in report]
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2), encoding="utf-8")
    sys.exit(any(row.is_wrong for row in report))


if __name__ == "__main__":
    main()
