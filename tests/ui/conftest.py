"""A page of the dashboard, with models that run in this process."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from clsviz.jobs.worker import InProcess
from clsviz.measurements import Arrays
from clsviz.settings import Precision
from clsviz.sources.models import Weights
from clsviz.ui import server

APP = Path(__file__).parents[2] / "app.py"
SECONDS = 240.0
SMALL = {"sample_size": "40"}

Visit = Callable[..., AppTest]


class Runner(InProcess):
    """Runs models, while its gate is open, and counts.

    error: is raised instead, where there is one. texts: what was run, a list for each call.
    """

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.n_loads = 0
        self.texts: list[list[str]] = []

    def load(self, *inputs: Any) -> None:
        self.n_loads += 1
        if self.error:
            raise self.error
        self.gate.wait(SECONDS)
        super().load(*inputs)

    def run(
        self, weights: Weights, precision: Precision, sentences: Sequence[str], *inputs: Any
    ) -> Arrays:
        self.texts.append(list(sentences))
        return super().run(weights, precision, sentences, *inputs)


def _forget() -> None:
    server._server.cache_clear()
    streamlit.cache_resource.clear()


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """The runner of a new server with an empty store."""
    runner = Runner()
    monkeypatch.setattr("clsviz.ui.server.Worker", lambda: runner)
    monkeypatch.setattr("clsviz.ui.sidebar.is_at_this_machine", lambda: True)
    monkeypatch.setenv("CLSVIZ_STORE", str(tmp_path))
    _forget()
    yield runner
    runner.gate.set()
    _forget()


@pytest.fixture
def visit(runner: Runner, tiny_model: Path, corpus_file: Path) -> Visit:
    """Open a page of a link; the tiny model and its corpus, where the link has no others."""

    def visit(path: str = "", **link: str) -> AppTest:
        page = AppTest.from_file(APP, default_timeout=SECONDS)
        for name, text in {"model": str(tiny_model), "corpus": str(corpus_file), **link}.items():
            page.query_params[name] = text
        page.run()
        return page.switch_page(f"clsviz/ui/pages/{path}.py").run() if path else page

    return visit


def redraw(page: AppTest, until: Callable[[AppTest], object]) -> AppTest:
    """Draw a page until something holds, as its bar would."""
    end = time.monotonic() + SECONDS
    while not until(page):
        assert time.monotonic() < end, [page.main, page.exception]
        time.sleep(0.05)
        page.run()
    return page


def is_done(page: AppTest) -> bool:
    """True if no bar follows a job."""
    return not page.get("progress")


def is_answered(page: AppTest) -> bool:
    """True if the page has its last answer."""
    return is_done(page) and bool(page.subheader)


def words(elements: Iterable[Any]) -> str:
    """What elements say, as it is read."""
    text = " ".join(element.value for element in elements)
    return text.replace("\\", "").replace("\N{WORD JOINER}", "")
