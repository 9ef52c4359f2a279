from pathlib import Path

import pytest

import clsviz
from clsviz.store import Store


@pytest.fixture(scope="session")
def api_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that the tests of the API share: what one has measured another does not."""
    return tmp_path_factory.mktemp("api") / "store"


@pytest.fixture
def opened(api_store: Path) -> Store:
    return Store(api_store)


@pytest.fixture(scope="session")
def result(tiny_folder: Path, text_file: Path, api_store: Path) -> clsviz.NormResult:
    return clsviz.measure(str(tiny_folder), text_file, n=200, store=api_store, length_cutoff=20, layer=1)


@pytest.fixture(scope="session")
def probed(tiny_folder: Path, text_file: Path, api_store: Path) -> clsviz.ProbeResult:
    return clsviz.probe(str(tiny_folder), text_file, n=150, store=api_store)


@pytest.fixture(scope="session")
def compared(tiny_folder: Path, text_file: Path, api_store: Path) -> clsviz.Comparison:
    names = [str(tiny_folder), f"untrained:{tiny_folder}"]
    return clsviz.compare(names, text_file, n=200, store=api_store, layer=1, probe_size=150)
