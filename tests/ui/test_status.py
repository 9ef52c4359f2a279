"""What the sidebar says of a run, and what stops it."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import finish, job_of, texts

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.measuring import State
from clsviz.ui.state import server


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring does not go on beyond its first parts."""
    measure = Encoder.measure

    def slow(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> object:
        while on_batch and len(sentences) > 32:
            on_batch(0)
            time.sleep(0.01)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", slow)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.mark.usefixtures("slow")
def test_a_run_says_what_becomes_of_it_when_its_page_is_closed(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    wait_for(lambda: job_of(page).state is State.RUNNING)
    assert "It goes on if you close this page, until you cancel it." in texts(page.run())
    server.jobs().close()
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = open_page(model="minilm", seed="1")
    wait_for(lambda: job_of(page).state is State.RUNNING)
    assert "It stops soon after you close this page." in texts(page.run())


@pytest.mark.usefixtures("slow")
def test_a_run_that_nobody_watches_any_more_can_be_stopped_by_whoever_waits_for_it(
    open_page: Callable[..., AppTest], tiny_folder: Path, corpus: str
) -> None:
    left = server.jobs().open(Experiment(model=str(tiny_folder), corpus=corpus, sample_size=300, seed=5))
    wait_for(lambda: left.state is State.RUNNING)
    is_there = True
    left.watch("somebody", lambda: is_there)
    page = open_page(seed="6")
    wait_for(lambda: job_of(page).state is State.QUEUED)
    assert "stop" not in [button.key for button in page.run().button]
    is_there = False
    stop = page.run().button(key="stop")
    assert stop.label == "Stop the run ahead"
    assert "tiny\\-bert on Uploaded file" in stop.help
    stop.click().run()
    assert left.state is State.CANCELLED
    wait_for(lambda: job_of(page).state is State.RUNNING)
    job_of(page).cancel()
    finish(page)
