"""How long a visitor waits, and what the server takes for it, beside version 1.

python benchmarks/page.py --other FOLDER [--pairs N]: FOLDER is a checkout of version 1. Each round
starts a server of each with an empty store, so that both open on shipped results.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from pathlib import Path
from statistics import median, quantiles

import psutil
import websockets
from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

HERE = Path(__file__).parents[1]

N_VISITORS, N_WARM = 100, 3
PATIENCE = 120_000
CUTOFFS = (75, 70, 65)
"""The slider of version 1 moves by 5."""

CHART = ".js-plotly-plot .gl-canvas"

N_POINTS = """() => Math.max(...[...document.querySelectorAll(".js-plotly-plot")]
    .flatMap((plot) => plot.data ?? []).filter(({ mode }) => mode === "markers")
    .map(({ x }) => x.length))"""

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

ASKED = {
    "warm chart, s": 0.55,
    "cold chart, s": 0.9,
    "moved cutoff, s": 0.7,
    "memory after four visits, MB": 0.4,
    "crowd, p95, s": 0.45,
    "crowd, processor of the server, ms a visit": 0.45,
}
"""The ratios that were promised."""

Figures = dict[str, float]


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--crowd", metavar="ADDRESS", help=argparse.SUPPRESS)
    if "--crowd" in sys.argv:
        print(json.dumps(asyncio.run(crowd(sys.argv[-1]))))
        return
    options = parser.parse_args()
    folders = {"version 1": options.other.absolute(), "version 2": HERE}
    rounds: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in folders}
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for number in range(options.pairs):
            for name in list(folders)[:: 1 if number % 2 else -1]:
                for figure, value in measure(folders[name], browser).items():
                    rounds[name][figure].append(value)
    for figure, asked in ASKED.items():
        old, new = (rounds[name][figure] for name in folders)
        ratio = median(b / a for a, b in zip(old, new, strict=True))
        print(f"{figure}: {line(new)}, version 1 {line(old)}: {ratio:.2f} (asked: {asked})")


def line(values: list[float]) -> str:
    """The median, and how far the values lie apart."""
    return f"{median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def measure(folder: Path, browser: Browser) -> Figures:
    """One round: a server, four visits, a crowd."""
    figures = {}
    began = time.perf_counter()
    with serve(folder) as (address, server):
        with visit(browser, address):
            figures["cold chart, s"] = time.perf_counter() - began
            wait_until_idle(server)
        seconds = []
        for _ in range(N_WARM):
            began = time.perf_counter()
            with visit(browser, address) as page:
                seconds.append(time.perf_counter() - began)
                wait_until_idle(server)
                if len(seconds) == N_WARM:
                    moved = [move_cutoff(page, server, cutoff) for cutoff in CUTOFFS]
        figures["warm chart, s"] = median(seconds)
        figures["moved cutoff, s"] = median(moved)
        processes = [server, *server.children(recursive=True)]
        n_bytes = sum(process.memory_full_info().pss for process in processes)
        figures["memory after four visits, MB"] = n_bytes / 2**20
        wait_until_idle(server)
        before = sum(server.cpu_times()[:2])
        command = ["nice", "-n", "15", sys.executable, __file__, "--crowd", address]
        waits = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        wait_until_idle(server)
        taken = sum(server.cpu_times()[:2]) - before
        figures["crowd, p95, s"] = quantiles(waits, n=20)[-1]
        figures["crowd, processor of the server, ms a visit"] = 1000 * taken / N_VISITORS
    print(folder, {name: round(value, 3) for name, value in figures.items()}, flush=True)
    return figures


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A server with an empty store."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    options = ["--server.headless=true", "--server.address=127.0.0.1", f"--server.port={port}"]
    with tempfile.TemporaryDirectory() as store:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=folder,
            env={**os.environ, "CLSVIZ_STORE": store, "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while True:
                assert process.poll() is None, "the server has ended"
                with suppress(OSError), urllib.request.urlopen(address, timeout=60):
                    break
                time.sleep(0.02)
            yield address, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def visit(browser: Browser, address: str) -> Iterator[Page]:
    """A page with its live chart, for a browser that has nothing cached."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address, wait_until="commit")
        page.locator(CHART).first.wait_for(state="attached")
        yield page


def wait_until_idle(server: psutil.Process) -> None:
    """Wait until the server has had nothing to do for a while."""
    while server.cpu_percent(interval=0.7) > 5:
        pass


def move_cutoff(page: Page, server: psutil.Process, cutoff: int) -> float:
    """Seconds from the key to a chart with fewer points."""
    slider = page.get_by_role("slider", name="cutoff")
    n_points = page.evaluate(N_POINTS)
    if slider.count():
        slider.first.focus()
    else:
        page.get_by_role("spinbutton", name="Token cutoff").fill(str(cutoff))
    began = time.perf_counter()
    page.keyboard.press("ArrowLeft" if slider.count() else "Enter")
    page.wait_for_function(f"({N_POINTS})() < {n_points}")
    seconds = time.perf_counter() - began
    wait_until_idle(server)
    return seconds


async def crowd(address: str) -> list[float]:
    """Seconds that each of a hundred visitors, at addresses of their own, waits for the page."""
    visitors = [come(address, f"127.0.1.{number}") for number in range(1, N_VISITORS + 1)]
    return await asyncio.gather(*visitors)


async def come(address: str, own: str) -> float:
    """Ask for the page, connect, and run it, as a browser does."""
    began = time.perf_counter()
    cookie = await asyncio.to_thread(ask, address, own)
    message = BackMsg()
    message.rerun_script.context_info.url = address
    async with websockets.connect(
        f"ws{address.removeprefix('http')}/_stcore/stream",
        origin=websockets.Origin(address),
        subprotocols=[websockets.Subprotocol("streamlit"), websockets.Subprotocol(cookie)],
        additional_headers={"Cookie": f"_streamlit_xsrf={cookie}"},
        local_addr=(own, 0),
        max_size=None,
        open_timeout=60,
    ) as connection:
        await connection.send(message.SerializeToString())
        answer = ForwardMsg()
        while answer.WhichOneof("type") != "script_finished":
            answer.ParseFromString(await connection.recv())
        return time.perf_counter() - began


def ask(address: str, own: str) -> str:
    """Ask for what a browser asks before it connects; returns the cookie of the server."""
    cookies: SimpleCookie = SimpleCookie()
    host = address.removeprefix("http://")
    connection = HTTPConnection(host, timeout=60, source_address=(own, 0))
    for path in ("/", "/_stcore/health", "/_stcore/host-config"):
        connection.request("GET", path, headers={"Sec-Fetch-Mode": "navigate"})
        answer = connection.getresponse()
        answer.read()
        for header in answer.headers.get_all("Set-Cookie", []):
            cookies.load(header)
    connection.close()
    return cookies["_streamlit_xsrf"].value


if __name__ == "__main__":
    main()
