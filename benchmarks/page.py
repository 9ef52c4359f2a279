"""How long a visitor waits: python -m benchmarks.page [--sentences N] [--browser].

On the server's side, for a sample of N sentences of the package documentation, measured first if they are not stored:
reopening it, and moving the length cutoff, from the arrays to the JSON that goes to the browser; with the memory that
it takes. With --browser also what a visitor sees, in a real browser on this machine: from a cold start of the server
with an empty store to the first picture of each page, as an image in the server’s HTML and as Plotly draws it,
the same for a second visitor, and from Measure to the first points once the model is loaded; and after each touch until
the page is still, with 5,000 sentences and with N.
"""

import argparse
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import Browser, sync_playwright

from benchmarks import touch
from clsviz import analysis, figures
from clsviz.experiment import Experiment, View
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.progress import Progress
from clsviz.statistics import lengths
from clsviz.store import Store

_ROUNDS = 7


def main() -> None:
    """Print a line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    measure_server(Experiment(corpus="package-docs", sample_size=options.sentences), Store(options.store))
    if options.browser:
        measure_browser(Store(options.store), options.sentences)


def measure_server(experiment: Experiment, store: Store) -> None:
    """What the server does for a stored sample."""
    if Extraction(experiment, store, Encoders()).look_up(Progress()).seconds:
        print("Measuring the sample first; run this again for the figure of memory.")
        Extraction(experiment, store, Encoders()).run(_Bar())
    before = _resident_megabytes()
    found = reopen(experiment, store)
    n = len(found.measurements)
    report(f"reopen {n:,} stored sentences", lambda: reopen(experiment, store))
    labels = figures.labels_of(found.sentences)
    cutoffs = iter(range(40, 80))
    report(f"move the cutoff at {n:,} sentences", lambda: draw(found, labels, next(cutoffs)))
    kept = _resident_megabytes() - before
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at the peak, of which "
          f"{kept:.0f} MB came with the {n:,} sentences ({kept * 2**20 / n:.0f} bytes each)")  # fmt: skip


def reopen(experiment: Experiment, store: Store) -> Found:
    """As the page does after a restart: fingerprint the model, read the corpus, draw the sample, read the parts."""
    extraction = Extraction(experiment, store, Encoders())
    extraction.look_up(Progress())
    assert extraction.found is not None
    assert not extraction.found.n_missing
    return extraction.found


def draw(found: Found, labels: figures.Labels, cutoff: int) -> bytes:
    """As the page does when the cutoff moves: select, regress, summarise, draw, and turn into JSON."""
    shown = analysis.select(found, View(length_cutoff=cutoff))
    drawn = figures.drawn(shown.lengths, shown.norms, len(found.measurements))
    numbers = shown.index[drawn.points]
    points = figures.Points(labels[numbers], shown.lengths[drawn.points], shown.norms[drawn.points])
    bins = lengths.bins(shown.lengths, shown.norms)
    axes, palette = figures.Axes(), figures.Palette()
    figure = figures.scatter(points, axes, palette, density=drawn.density, fit=shown.fit, bins=bins)
    return figures.sent(figure, numbers, shown.fit, has_labels=False).encode()


_PICTURES = {
    "": ".gl-canvas",
    "where_length_lives": ".scatterlayer .trace",
    "length_and_search": ".scatterlayer .trace",
    "try_a_sentence": ".scatterlayer .trace",
    "compare_models": ".main-svg .trace",
    "inside_the_model": ".barlayer .point",
}
"""What tells on each page that its first picture is drawn."""


def measure_browser(store: Store, n_sentences: int) -> None:
    """What a visitor sees; every round of the first part begins with an empty store.

    n_sentences: how many are in `store`, for the touches of a large picture.
    """
    from tests.support.visit import launch, serve

    warm = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for name, picture in _PICTURES.items():
            still: list[float] = []
            first: list[float] = []
            second: list[float] = []
            server: list[float] = []
            for _ in range(3):
                began, started = time.perf_counter(), time.time()
                with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as address:
                    for seconds in (first, second):
                        page = browser.new_page()
                        page.set_default_timeout(120_000)
                        page.goto(f"{address}{name}")
                        page.locator(f".js-plotly-plot {picture}").first.wait_for(state="attached")
                        seconds.append(time.perf_counter() - began)
                        if seconds is first:
                            server.append(_server_seconds())
                            still.append(page.evaluate(_FIRST_PAINT) / 1000 - started)
                        page.close()
                        began = time.perf_counter()
            print(f"{name or 'the main page'}, from the start of the server: {_line(first)}; again: {_line(second)}")
            print(f"    the picture before the first drawing: {_line(still)}")
            print(f"    processor time of the server until then: {_line(server)}")
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as address:
                warm.append(_seconds_to_new_points(browser, address))
        print(f"new sentences, the model loaded, to the first points: {_line(warm)}")
        touch.report(browser, store.root, n_sentences)
        browser.close()


def _seconds_to_new_points(browser: Browser, address: str) -> float:
    """From another seed, so other sentences, to the first of their points."""
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}?seed=1")
    page.get_by_text("5,000 sentences measured").first.wait_for()  # the model is loaded now
    page.get_by_text("Settings", exact=True).click()
    seed = page.get_by_role("spinbutton", name="Seed")
    seed.fill("2")
    began = time.perf_counter()
    seed.press("Enter")
    page.wait_for_function(_FEWER_MEASURED)
    seconds = time.perf_counter() - began
    page.close()
    return seconds


def _server_seconds() -> float:
    """Processor seconds that the server has taken so far."""
    servers = [child for child in psutil.Process().children() if "streamlit" in child.cmdline()]
    return sum(times.user + times.system for times in (server.cpu_times() for server in servers))


_FIRST_PAINT = """() => {
    const [first] = performance.getEntriesByName("first-contentful-paint")
    return performance.timeOrigin + first.startTime
}"""
"""When the browser painted the server’s HTML, in milliseconds since 1970: the picture stands in it."""


_FEWER_MEASURED = r"""() => {
    const counted = document.querySelector(".st-key-numbers")?.innerText.match(/([\d,]+) of ([\d,]+) sentences/)
    return counted && counted[2] != "5,000" && document.querySelector(".js-plotly-plot .gl-canvas")
}"""


def report(name: str, action: Callable[[], object]) -> None:
    """Print how long `action` takes: the median of a few rounds, and how far they lie apart."""
    action()
    seconds = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - began)
    print(f"{name}: {_line(seconds)}")


def _line(seconds: list[float]) -> str:
    def shown(value: float) -> str:
        return f"{value:.1f} s" if value >= 1 else f"{1000 * value:.0f} ms"

    return f"{shown(median(seconds))} ({shown(min(seconds))} to {shown(max(seconds))}, {len(seconds)} rounds)"


def _resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


class _Bar(Progress):
    """Progress on the terminal."""

    def advance(self, done: int) -> None:
        super().advance(done)
        print(f"\r{self.stage} {done:,} of {self.total:,} · {self.rate:,.0f}/s ", end="", file=sys.stderr)


if __name__ == "__main__":
    main()
