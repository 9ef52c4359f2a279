"""How long a visitor waits, and what the server takes for it.

python -m benchmarks.page [--rounds N]. Each round starts a server with an empty store, so that it
opens on shipped results.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.visitors import Visit, crowd, serve

ROOT = Path(__file__).parents[1]

N_VISITORS, N_WARM = 100, 3
CUTOFFS = (75, 70, 65)

CHART = ".js-plotly-plot .gl-canvas"

N_POINTS = """() => Math.max(...[...document.querySelectorAll(".js-plotly-plot")]
    .flatMap((plot) => plot.data ?? []).filter(({ mode }) => mode === "markers")
    .map(({ x }) => x.length))"""

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def main() -> None:
    """Print a line for each figure: its median over the rounds, with their range."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        rounds = [measure(browser) for _ in range(parser.parse_args().rounds)]
    for figure in rounds[0]:
        values = [figures[figure] for figures in rounds]
        print(f"{figure}: {median(values):.3g} ({min(values):.3g} to {max(values):.3g})")


def measure(browser: Browser) -> dict[str, float]:
    """One round: a server, four visits, a crowd."""
    figures = {}
    began = time.perf_counter()
    with serve(ROOT) as (address, server, _):
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
        memory = sum(process.memory_full_info().pss for process in processes)
        figures["memory after four visits, MB"] = memory / 2**20
        wait_until_idle(server)
        taken = -sum(server.cpu_times()[:2])
        command = ["nice", "-n", "15", sys.executable, "-m", "benchmarks.page", "--crowd", address]
        crowded = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        waits = json.loads(crowded.stdout)
        wait_until_idle(server)
        taken += sum(server.cpu_times()[:2])
        figures["crowd, p95, s"] = quantiles(waits, n=20)[-1]
        figures["crowd, processor of the server, ms a visit"] = 1000 * taken / N_VISITORS
    return figures


@contextmanager
def visit(browser: Browser, address: str) -> Iterator[Page]:
    """A page with its live chart, for a browser that has nothing cached."""
    with browser.new_page(viewport={"width": 1280, "height": 900}) as page:
        page.set_default_timeout(120_000)
        page.goto(address, wait_until="commit")
        page.locator(CHART).first.wait_for(state="attached")
        yield page


def wait_until_idle(server: psutil.Process) -> None:
    """Wait until the server has had nothing to do for a while."""
    while server.cpu_percent(interval=0.7) > 5:
        pass


def move_cutoff(page: Page, server: psutil.Process, cutoff: int) -> float:
    """Seconds from the key to a chart with fewer points."""
    n_points = page.evaluate(N_POINTS)
    page.get_by_role("spinbutton", name="Token cutoff").fill(str(cutoff))
    began = time.perf_counter()
    page.keyboard.press("Enter")
    page.wait_for_function(f"({N_POINTS})() < {n_points}")
    seconds = time.perf_counter() - began
    wait_until_idle(server)
    return seconds


if __name__ == "__main__":
    if sys.argv[1] == "--crowd":
        visits = asyncio.run(crowd(sys.argv[2], [Visit() for _ in range(N_VISITORS)]))
        print(json.dumps([visit.seconds("run") for visit in visits]))
    else:
        main()
