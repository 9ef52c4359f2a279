"""How long a visitor with a browser waits.

python -m benchmarks.page [--rounds N]. Each round starts a server with an empty store, so that it
opens on shipped results.
"""

import argparse
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.visitors import memory, serve, spread, wait_until_idle

ROOT = Path(__file__).parents[1]

N_WARM = 3
CUTOFFS = (75, 70, 65)

CHART = ".js-plotly-plot .gl-canvas"

N_POINTS = """() => Math.max(...[...document.querySelectorAll(".js-plotly-plot")]
    .flatMap((plot) => plot.data ?? []).filter(({ mode }) => mode === "markers")
    .map(({ x }) => x.length))"""

STEPS = {
    "first words": "#first-words",
    "Streamlit": "[data-testid=stApp]",
    "settings": "[data-testid=stSidebar] input",
    "verdict": "[data-testid=stMain] h3",
    "place of the chart": "[role=figure]",
    "drawn": CHART,
}
"""What comes one after the other in a visit, by a selector."""

NOTE_STEPS = f"""window.steps = {{}}; new MutationObserver(() => {{
    for (const [name, selector] of Object.entries({STEPS}))
        if (!(name in steps) && document.querySelector(selector)) steps[name] = performance.now()
}}).observe(document, {{ childList: true, subtree: true }})"""

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
        print(f"{figure}: {spread([figures[figure] for figures in rounds])}")


def measure(browser: Browser) -> dict[str, float]:
    """One round: a server and four visits."""
    seconds: list[float] = []
    steps: list[dict[str, float]] = []
    began = time.perf_counter()
    with serve(ROOT) as (address, server, _):
        for _ in range(1 + N_WARM):
            with visit(browser, address) as page:
                seconds.append(time.perf_counter() - began)
                steps.append(page.evaluate("steps"))
                wait_until_idle(server)
                if len(seconds) > N_WARM:
                    moved = [move_cutoff(page, server, cutoff) for cutoff in CUTOFFS]
            began = time.perf_counter()
        megabytes = memory(server)
    return {
        "cold chart, s": seconds[0],
        "warm chart, s": median(seconds[1:]),
        **{f"· {name}, s": median(one[name] for one in steps[1:]) / 1000 for name in STEPS},
        "moved cutoff, s": median(moved),
        "memory after four visits, MB": megabytes,
    }


@contextmanager
def visit(browser: Browser, address: str) -> Iterator[Page]:
    """A page with its live chart, for a browser that has nothing cached."""
    with browser.new_page(viewport={"width": 1280, "height": 900}) as page:
        page.set_default_timeout(120_000)
        page.add_init_script(NOTE_STEPS)
        page.goto(address, wait_until="commit")
        page.locator(CHART).first.wait_for(state="attached")
        yield page


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
    main()
