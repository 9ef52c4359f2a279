"""How long a visitor waits, and what the server takes for it, beside version 1.

python -m benchmarks.page --other FOLDER [--pairs N]: FOLDER is a checkout of version 1. Each round
starts a server of each with an empty store, so that both open on shipped results.
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
CUTOFFS = (75, 70, 65)  # the slider of version 1 moves by 5

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


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    folders = {"version 1": options.other.absolute(), "version 2": ROOT}
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in folders}
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for number in range(options.pairs):
            for name in list(folders)[:: 1 if number % 2 else -1]:
                rounds[name].append(measure(folders[name], browser))
    for figure, asked in ASKED.items():
        old, new = ([figures[figure] for figures in rounds[name]] for name in folders)
        ratio = median(b / a for a, b in zip(old, new, strict=True))
        lines = (f"{median(v):.3g} ({min(v):.3g} to {max(v):.3g})" for v in (new, old))
        print(f"{figure}: {', version 1 '.join(lines)}: {ratio:.2f} (asked: {asked})")


def measure(folder: Path, browser: Browser) -> dict[str, float]:
    """One round: a server, four visits, a crowd."""
    figures = {}
    began = time.perf_counter()
    with serve(folder) as (address, server, _):
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


if __name__ == "__main__":
    if sys.argv[1] == "--crowd":
        visits = asyncio.run(crowd(sys.argv[2], [Visit() for _ in range(N_VISITORS)]))
        print(json.dumps([visit.seconds("run") for visit in visits]))
    else:
        main()
