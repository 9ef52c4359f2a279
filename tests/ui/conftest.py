"""A server and a corpus for every test of a page."""

import io
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2.manifest_scanner import scan_component_manifests
from streamlit.testing.v1 import AppTest, local_script_runner
from support.app import TEXT, browse_from, linked, settle
from support.hub import Hub
from support.tiny import random_sentences, write_dataset

from clsviz.encoder import Encoder, product_rate
from clsviz.jobs import Encoders
from clsviz.sources import uploads
from clsviz.ui.state import server


@pytest.fixture(scope="session")
def shared_encoders() -> Encoders:
    """Those of all tests: no model is loaded, and compared with what transformers loads, for every test anew."""
    return Encoders(capacity=6)


@pytest.fixture(scope="session", autouse=True)
def once() -> Iterator[None]:
    """Do once what each page would do anew: time this machine, and look for components among all that is installed.

    And wait for a page's thread instead of looking a thousand times a second whether it has ended.
    """
    manifests, rate = scan_component_manifests(), product_rate(0.01)
    look = local_script_runner.require_widgets_deltas

    def wait(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
        runner._script_thread.join(timeout)
        look(runner, 0.1)  # which raises an error if it has not

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", lambda: manifests)
        patch.setattr("clsviz.encoder.product_rate", lambda seconds: rate)
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


@pytest.fixture(autouse=True)
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_encoders: Encoders) -> Iterator[None]:
    """A server of its own for every test: nothing measured yet, no jobs; only the encoders may be loaded already."""
    monkeypatch.setattr("clsviz.ui.state.server.RemoteEncoders", lambda *_: shared_encoders)
    monkeypatch.setenv("CLSVIZ_STORE", str(tmp_path / "store"))
    browse_from(monkeypatch, "localhost")
    st.cache_resource.clear()
    yield
    server.jobs().close()
    st.cache_resource.clear()


@pytest.fixture(scope="session")
def store_with(
    shared_encoders: Encoders, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Mapping[str, str], str], Path]:
    """Make a store with the corpus and all that the page of a name shows of it, for tests that only look at that."""

    def store_with(query: Mapping[str, str], name: str) -> Path:
        folder = tmp_path_factory.mktemp("measured")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("clsviz.ui.state.server.RemoteEncoders", lambda *_: shared_encoders)
            patch.setenv("CLSVIZ_STORE", str(folder))
            browse_from(patch, "localhost")
            st.cache_resource.clear()
            corpus = uploads.keep_upload(io.BytesIO(TEXT), "sentences.txt", folder / "corpora")
            settle(linked({"corpus": corpus} | query, name).run())
            server.jobs().close()
            st.cache_resource.clear()
        return folder

    return store_with


@pytest.fixture(scope="session")
def norms_of_before(store_with: Callable[[Mapping[str, str], str], Path], tiny_folder: Path) -> Path:
    """A store with what the main page shows of 300 sentences by the tiny model."""
    return store_with({"model": str(tiny_folder), "sample_size": "300"}, "")


@pytest.fixture
def measured_before(norms_of_before: Path, tmp_path: Path) -> None:
    """What the main page shows of 300 sentences by the tiny model is in the store."""
    shutil.copytree(norms_of_before, tmp_path / "store", dirs_exist_ok=True)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """The name of a corpus of 400 sentences, uploaded before."""
    return uploads.keep_upload(io.BytesIO(TEXT), "sentences.txt", tmp_path / "store" / "corpora")


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str) -> Callable[..., AppTest]:
    """Open a link, by default to 300 sentences by the tiny model."""

    def open_page(**query: str) -> AppTest:
        return linked({"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"} | query).run()

    return open_page


@pytest.fixture
def original(hub: Hub, tiny_folder: Path, tmp_path: Path) -> Hub:
    """The Hub with small things in the place of the original experiment's."""
    hub.add("google-bert/bert-base-uncased", tiny_folder)
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "bookcorpus.py").write_text("raise SystemExit")
    hub.add("bookcorpus/bookcorpus", tmp_path / "script", kind="dataset")
    converted = write_dataset(tmp_path / "books", {"plain_text": {"train": random_sentences(600, seed=8)}})
    hub.add("bookcorpus/bookcorpus", converted, kind="dataset", revision="refs/convert/parquet")
    return hub


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Measuring goes on beyond its first parts when this is set."""
    gate = threading.Event()
    measure = Encoder.measure

    def gated(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> object:
        while on_batch and len(sentences) > 32 and not gate.wait(0.01):
            on_batch(0)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", gated)
    yield gate
    gate.set()
