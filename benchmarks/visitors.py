"""Servers, and visitors without a browser, by Streamlit's protocol."""

import asyncio
import os
import re
import socket
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, STDOUT, Popen
from typing import IO

import psutil
import websockets
from streamlit.proto.AutoRerun_pb2 import AutoRerun
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


@contextmanager
def serve(
    folder: Path, settings: Mapping[str, str] | None = None, log: IO[bytes] | int = DEVNULL
) -> Iterator[tuple[str, psutil.Process, Path]]:
    """The address, the process and the store, at first empty, of a server of a checkout."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = ["--server.headless=true", "--server.address=127.0.0.1", f"--server.port={port}"]
    with tempfile.TemporaryDirectory() as store:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
        env = {**os.environ, "CLSVIZ_STORE": store, "HF_HUB_OFFLINE": "1", **(settings or {})}
        with Popen(command, cwd=folder, env=env, stdout=log, stderr=STDOUT) as process:
            try:
                while process.poll() is None:
                    with suppress(OSError), urllib.request.urlopen(address, timeout=60):
                        break
                    time.sleep(0.02)
                yield address, psutil.Process(process.pid), Path(store)
            finally:
                process.terminate()


@dataclass
class Visit:
    """One visitor of a page.

    until: "run", once the script has run; "points", at the first chart; "settled", when nothing on
    the page polls any more. stays: seconds after that. times: of day, by event; also “began”.
    """

    query: str = ""
    until: str = "run"
    stays: float = 0.0
    patience: float = 600.0
    times: dict[str, float] = field(default_factory=dict)
    _polls: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)

    def seconds(self, event: str) -> float:
        """From asking for the page to an event; infinite where it never came."""
        return self.times.get(event, float("inf")) - self.times["began"]

    async def come(self, address: str) -> "Visit":
        """Ask for the page, connect, run it, and run its fragments as often as they say."""
        self.times["began"] = time.time()
        cookie = await asyncio.to_thread(_ask, address)
        async with websockets.connect(
            f"ws{address.removeprefix('http')}/_stcore/stream",
            origin=address,
            subprotocols=["streamlit", cookie],
            additional_headers={"Cookie": f"_streamlit_xsrf={cookie}"},
            max_size=None,
            open_timeout=60,
        ) as connection:
            try:
                await self._send(connection)
                await self._listen(connection, self.until, self.patience)
                await self._listen(connection, "", self.stays)
            finally:
                self._stop_polls()
        return self

    async def _send(self, connection: websockets.ClientConnection, poll: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self.query
        state.context_info.url = f"{connection.request.headers['Origin']}/?{self.query}"
        state.fragment_id, state.is_auto_rerun = poll, bool(poll)
        await connection.send(message.SerializeToString())

    async def _listen(
        self, connection: websockets.ClientConnection, until: str, seconds: float
    ) -> None:
        """Take messages for some seconds, or until an event of the page comes again."""
        self.times.pop(until, None)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while until not in self.times:
                    message = ForwardMsg()
                    message.ParseFromString(await connection.recv())
                    self._note(message, connection)

    def _note(self, message: ForwardMsg, connection: websockets.ClientConnection) -> None:
        kind, now = message.WhichOneof("type"), time.time()
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self._stop_polls()
        elif kind == "auto_rerun":
            self._start_poll(connection, message.auto_rerun)
        elif kind == "delta":
            if message.delta.new_element.WhichOneof("type") == "bidi_component":
                self.times.setdefault("points", now)
        elif kind == "script_finished" and message.script_finished == message.FINISHED_SUCCESSFULLY:
            self.times.setdefault("run", now)
            if not self._polls:
                self.times.setdefault("settled", now)

    def _start_poll(self, connection: websockets.ClientConnection, poll: AutoRerun) -> None:
        async def run() -> None:
            while True:
                await asyncio.sleep(poll.interval)
                await self._send(connection, poll.fragment_id)

        if poll.fragment_id not in self._polls:
            self._polls[poll.fragment_id] = asyncio.create_task(run())

    def _stop_polls(self) -> None:
        for task in self._polls.values():
            task.cancel()
        self._polls.clear()


def memory(server: psutil.Process) -> float:
    """MB of a server and its workers, shared pages counted by their part."""
    processes = [server, *server.children(recursive=True)]
    return sum(process.memory_full_info().pss for process in processes) / 2**20


def processor_seconds(server: psutil.Process) -> float:
    """What a server and its workers have taken so far."""
    processes = [server, *server.children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def wait_until_idle(server: psutil.Process) -> None:
    """Wait until a server and its workers have had nothing to do for a second."""
    is_busy = True
    while is_busy:
        before = processor_seconds(server)
        time.sleep(1)
        is_busy = processor_seconds(server) - before > 0.05


def spread(values: list[float]) -> str:
    """A median with its range."""
    return f"{median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


async def crowd(address: str, visits: list[Visit], gaps: list[float] | None = None) -> list[Visit]:
    """Let visitors come at once, or after so many seconds each."""

    async def come(visit: Visit, gap: float) -> Visit:
        await asyncio.sleep(gap)
        return await visit.come(address)

    gaps = gaps or [0.0] * len(visits)
    return await asyncio.gather(*map(come, visits, gaps))


def _ask(address: str) -> str:
    """Ask for what a browser asks before it connects; returns the server's cookie."""
    cookies = []
    for path in ("", "/_stcore/health", "/_stcore/host-config"):
        request = urllib.request.Request(address + path, headers={"Sec-Fetch-Mode": "navigate"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            cookies += answer.headers.get_all("Set-Cookie", [])
    return re.findall("_streamlit_xsrf=([^;]+)", "\n".join(cookies))[-1]
