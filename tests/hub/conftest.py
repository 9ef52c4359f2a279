"""The stand-in for the Hub, and a process of real clients that ask it."""

import multiprocessing
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hub import client, standin
from hub.client import Run
from hub.standin import Request, Standin

from clsviz.sources.corpora import Corpus
from clsviz.sources.models import Weights

BUSY = 240
"""Seconds that a busy machine may take for anything."""


@dataclass
class Hub:
    """The stand-in in a test: {} in a name stands for one that no other test has."""

    serving: Standin
    run: Run
    root: Path
    name: str

    def add(self, files: dict[str, bytes], name: str = "{}", **options: Any) -> str:
        return self.serving.add(name.format(self.name), files, **options)

    def draw(self, name: str = "{}", **settings: Any) -> Corpus:
        return self.run(client.draw, self.root, name.format(self.name), **settings)

    def sentences(self, name: str = "{}", **settings: Any) -> list[str]:
        return self.draw(name, **settings).table["sentence"].to_pylist()

    def find(self, name: str = "{}", **options: Any) -> Weights:
        return self.run(client.find, name.format(self.name), **options)

    def requests_of(self, function: Run, *args: Any, **options: Any) -> tuple[Any, list[Request]]:
        """The value of a function, and the requests that it took."""
        self.serving.requests.clear()
        return function(*args, **options), list(self.serving.requests)


@pytest.fixture(scope="session")
def serving() -> Iterator[Standin]:
    with standin.serve() as hub:
        yield hub


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@contextmanager
def process(environment: dict[str, str], cache: Path) -> Iterator[Run]:
    """Runs functions in a process with some variables, which the clients read when imported."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (environment | {"HF_HOME": str(cache)}).items():
                patch.setenv(name, value)
            pool.submit(int).result(BUSY)
        yield lambda function, *args, **options: pool.submit(function, *args, **options).result(
            BUSY
        )


@pytest.fixture(scope="session")
def run(serving: Standin, cache: Path) -> Iterator[Run]:
    with process(serving.environment, cache) as run:
        yield run


@pytest.fixture
def hub(
    serving: Standin, run: Run, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Hub]:
    serving.requests.clear()
    yield Hub(serving, run, tmp_path, f"owner/test-{zlib.crc32(request.node.nodeid.encode())}")
    serving.mend()


@pytest.fixture(scope="session")
def dead_run(serving: Standin, cache: Path) -> Iterator[Run]:
    with process(serving.environment | {"HF_ENDPOINT": "http://127.0.0.1:9"}, cache) as run:
        yield run


@pytest.fixture
def dead(hub: Hub, dead_run: Run) -> Hub:
    """The same where nobody listens at the address of the Hub."""
    return Hub(hub.serving, dead_run, hub.root, hub.name)
