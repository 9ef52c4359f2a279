"""The stand-in for the Hub, and a process of real clients that ask it."""

import multiprocessing
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from hub import standin
from hub.client import Run
from hub.standin import Standin


@pytest.fixture(scope="session")
def serving() -> Iterator[Standin]:
    with standin.serve() as hub:
        yield hub


@pytest.fixture
def hub(serving: Standin) -> Iterator[Standin]:
    yield serving
    serving.mend()
    serving.requests.clear()


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
            pool.submit(int).result(60)
        yield lambda function, *args, **options: pool.submit(function, *args, **options).result(60)


@pytest.fixture(scope="session")
def run(serving: Standin, cache: Path) -> Iterator[Run]:
    with process(serving.environment, cache) as run:
        yield run


@pytest.fixture(scope="session")
def dead(serving: Standin, cache: Path) -> Iterator[Run]:
    """The same where nobody listens at the address of the Hub."""
    with process(serving.environment | {"HF_ENDPOINT": "http://127.0.0.1:9"}, cache) as run:
        yield run


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for a repository that no other test has."""
    return f"owner/test-{zlib.crc32(request.node.nodeid.encode())}"
