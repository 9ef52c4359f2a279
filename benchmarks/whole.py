"""How long a stored whole corpus takes to open: python -m benchmarks.whole [--rows N] [--folder F].

In a folder that is kept for the next run it makes a text file of N made-up sentences, the corpus that clsviz keeps of
it, and norms as a measurement by the built-in model would have left them: as long as the sentences are, around a line.
Then it starts a server of its own, a few times, and opens the link to all sentences in a browser, as the first visitor
and as the next: seconds until the first picture, the server's processor seconds until then, and how much went to the
browser. With --profile it profiles what the server looks up instead.
"""

import argparse
import cProfile
import os
import platform
import pstats
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import psutil
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.census import lengths_and_noise
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Measurements
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.sources import models, sampling
from clsviz.store import Key, Store, borders

_ROUNDS = 3
_WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "ran", "home", "to", "see", "what", "was", "left")


def main() -> None:
    """Print a line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="sentences")
    parser.add_argument("--folder", type=Path, help="where file and store are made and found again")
    parser.add_argument("--profile", action="store_true", help="profile a look-up in this process, without a browser")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    folder = options.folder or Path(tempfile.gettempdir()) / "clsviz-benchmark-whole"
    folder.mkdir(parents=True, exist_ok=True)
    experiment, store = Experiment(corpus=str(folder / f"{options.rows}.txt"), sample_size=ALL), Store(folder / "store")
    prepare(experiment, store, options.rows)
    if options.profile:
        with cProfile.Profile() as profile:
            Extraction(experiment, store, Encoders()).look_up(Progress())
        pstats.Stats(profile).sort_stats("cumulative").print_stats(35)
        return
    from tests.support.visit import launch, serve

    with sync_playwright() as playwright:
        browser = launch(playwright)
        for _ in range(_ROUNDS):
            with serve(folder) as address:
                _settle()
                for name in ("the first visitor of a server", "the next"):
                    print(f"{name}: {_visit(browser, f'{address}?{urlencode(experiment.to_query())}')}", flush=True)
        browser.close()


def prepare(experiment: Experiment, store: Store, n: int) -> None:
    """Make the corpus, the norms and the census, unless they are there."""
    path = Path(experiment.corpus)
    random = np.random.default_rng(0)
    lengths, noise = lengths_and_noise(random, n)
    if not path.exists():
        of_lines = np.empty(n, np.int32)
        of_lines[sampling.sample_order(n, experiment.seed)] = lengths
        with path.open("w", encoding="utf-8") as file:
            file.writelines(_lines(of_lines))
    extraction = Extraction(experiment, store, Encoders())
    sample = sampling.find_sample(experiment.selection, ALL, experiment.seed, store.corpora, Progress())
    found = Found(models.find(experiment.model), sample, seed=experiment.seed)
    key = extraction.key_of(found)
    if not store.parts(key):
        _write(store, key, lengths, noise)
    extraction.look_up(Progress())  # which counts them
    assert extraction.found is not None
    assert extraction.found.census is not None


def _lines(lengths: NDArray[np.int32]) -> Iterator[str]:
    """Sentences of so many words, no two alike."""
    texts = [" ".join(_WORDS[index % len(_WORDS)] for index in range(n)) for n in range(int(lengths.max()) + 1)]
    return (f"{number} {texts[n]}\n" for number, n in enumerate(lengths.tolist()))


def _write(store: Store, key: Key, lengths: NDArray[np.int32], noise: NDArray[np.float32]) -> None:
    """Norms after each of seven layers and of the pooler, as parts of the usual sizes."""
    for start, stop in borders(0, len(lengths)):
        x, spread = lengths[start:stop, None], noise[start:stop, None] / np.sqrt(lengths[start:stop, None])
        layers = np.arange(7)
        norms: NDArray[np.float32] = (7 + layers - 0.004 * layers * x + 0.9 * spread).astype(np.float32)
        pooler: NDArray[np.float32] = (norms[:, -1:] / 2).astype(np.float32)
        truncated = np.zeros(stop - start, np.bool_)
        store.append(key, start, Measurements(lengths[start:stop], truncated, norms, pooler), seconds=1.0)


def _visit(browser: Browser, url: str) -> str:
    """What it takes until the picture is there."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(180_000)
    sent = _Sent(page)
    before, began = _server_seconds(), time.perf_counter()
    page.goto(url)
    page.locator(".st-key-scatter .gl-canvas").first.wait_for(state="attached")
    seconds, processor = time.perf_counter() - began, _server_seconds() - before
    until_then = sent.pages, sent.data
    page.get_by_text("sentences measured").first.wait_for(state="attached")
    page.close()
    files, data = (f"{n / 1e6:.2f} MB" for n in until_then)
    return f"{seconds:.2f} s, {processor:.2f} processor seconds of the server, {data} of data and {files} of files"


class _Sent:
    """How many bytes came to a page: of files, as they were compressed, and of data over its WebSocket."""

    def __init__(self, page: Page) -> None:
        self.pages = self.data = 0
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._loaded)
        session.on("Network.webSocketFrameReceived", self._received)

    def _loaded(self, event: dict[str, float]) -> None:
        self.pages += int(event["encodedDataLength"])

    def _received(self, event: dict[str, dict[str, str | int]]) -> None:
        frame = event["response"]
        length = len(str(frame["payloadData"]))
        self.data += length if frame["opcode"] == 1 else length * 3 // 4  # what is not text comes in base 64


def _server_seconds() -> float:
    """Processor seconds that the server has taken so far."""
    servers = [child for child in psutil.Process().children() if "streamlit" in child.cmdline()]
    return sum(times.user + times.system for times in (server.cpu_times() for server in servers))


def _settle() -> None:
    """Wait until the server has loaded what it loads before it is asked, and does nothing any more."""
    quiet = 0
    before = _server_seconds()
    while quiet < 6:
        time.sleep(0.5)
        quiet = quiet + 1 if _server_seconds() - before < 0.05 else 0
        before = _server_seconds()


if __name__ == "__main__":
    main()
