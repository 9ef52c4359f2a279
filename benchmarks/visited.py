"""A server of its own to visit, in public mode, and the process of its visitors: part of python -m benchmarks.load."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import httpx2
import psutil

from benchmarks.visitors import Met, Visit
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.progress import Progress
from clsviz.store import Store

_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Stored:
    """What a store has of an experiment. sentences: how many, as they are read. times: when each part was written."""

    sentences: int
    times: list[float]


def stored(store: Path, query: str) -> Stored:
    """What the store in that folder has of the experiment of a link."""
    extraction = Extraction(Experiment.from_query(dict(parse_qsl(query))), Store(store), Encoders(0))
    found = extraction.find_stored(Progress())
    if found is None:
        return Stored(0, [])
    parts = (store / extraction.key_of(found).folder_name).glob("*.safetensors")
    return Stored(len(found.measurements), sorted(part.stat().st_mtime for part in parts))


@dataclass(frozen=True)
class Held:
    """What a server holds: resident memory in megabytes, its models’ process included; threads; open files."""

    megabytes: float
    threads: float
    files: float


class Server:
    """A server that runs. process: its own. log: what it wrote so far."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, log: Path) -> None:
        self.address = address
        self.process = psutil.Process(process.pid)
        self._started, self._log = process, log

    @property
    def log(self) -> str:
        """What the server wrote."""
        return self._log.read_text(encoding="utf-8")

    def held(self) -> Held:
        """What it holds now."""
        with self.process.oneshot():
            memory = sum(one.memory_info().rss for one in self._all()) / 2**20
            return Held(memory, self.process.num_threads(), self.process.num_fds())

    def seconds(self) -> float:
        """Processor seconds that it has taken, without the process of its models."""
        times = self.process.cpu_times()
        return times.user + times.system

    def _all(self) -> list[psutil.Process]:
        """Its process, and that of its models."""
        return [self.process, *self.process.children()]

    def number(self, name: str) -> float:
        """One of the numbers of /metrics."""
        text = httpx2.get(f"{self.address}metrics", timeout=60).text
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"{name} "))

    def stop(self) -> tuple[float, int]:
        """Ask it to end, by SIGTERM, and wait; how many seconds that took, and its exit status."""
        began = time.monotonic()
        self._started.terminate()
        status = self._started.wait(60)
        return time.monotonic() - began, status


@contextmanager
def serve(folder: Path, **environment: str) -> Iterator[Server]:
    """A public server on a port of this machine, with its store and its log in `folder`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address, log = f"http://127.0.0.1:{port}/", folder / f"log-{port}"
    own = {"CLSVIZ_PUBLIC": "1", "CLSVIZ_STORE": str(folder / "store"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true"]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--server.address=127.0.0.1", f"--server.port={port}"],
            cwd=_ROOT,
            env=os.environ | own | environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_ready(process, f"{address}ready", log)
        yield Server(process, address, log)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            if httpx2.get(address, timeout=60).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"The server did not start:\n{log.read_text(encoding='utf-8')}")
        time.sleep(0.1)


class Visitors:
    """The process of the visitors, who come in crowds, one crowd after another."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.visitors"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._n = 0

    def __enter__(self) -> "Visitors":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None  # both are pipes
            stream.close()

    def number(self) -> int:
        """The number of somebody who was never here."""
        self._n += 1
        return self._n

    def come(self, server: Server, visits: Sequence[Visit], on_points: Callable[[], None] = lambda: None) -> list[Met]:
        """Make the visits, all at once as each begins; what was met. on_points: called when a visitor sees points."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"address": server.address, "visits": [asdict(visit) for visit in visits]}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        all_met = []
        for line in self._process.stdout:
            if not line.strip():
                break
            told = json.loads(line)
            if "began" in told:
                all_met.append(Met(**told))
            else:
                on_points()
        if len(all_met) != len(visits):
            sys.exit("The visitors’ process ended early.")
        return sorted(all_met, key=lambda met: met.number)


class Watch:
    """What a server holds, read every so often in the background."""

    def __init__(self, server: Server, every_seconds: float) -> None:
        self.readings: list[tuple[float, Held]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, args=[server, every_seconds], daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self, server: Server, every_seconds: float) -> None:
        while not self._ended.wait(every_seconds):
            self.readings.append((time.time(), server.held()))
