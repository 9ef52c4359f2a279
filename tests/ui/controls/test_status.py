"""What the sidebar says of a run, and what stops it."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import answer, figures, finish, job_of, texts
from support.waiting import wait_for

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.measuring import Cost, Extraction, State
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


@pytest.mark.usefixtures("slow")
def test_a_run_says_what_becomes_of_it_when_its_page_is_closed(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    wait_for(lambda: job_of(page).state is State.RUNNING)
    assert "It goes on if you close this page or choose other settings, until you cancel it." in texts(page.run())
    server.jobs().close()
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = open_page(model="minilm", seed="1")
    wait_for(lambda: job_of(page).state is State.RUNNING)
    assert "It stops if you choose other settings, or soon after you close this page." in texts(page.run())


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


def test_what_takes_long_states_its_cost_and_waits_for_run(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Extraction, "look_up", lambda self, progress: Cost(240.0))
    page = finish(open_page())
    assert job_of(page).state is State.WAITING
    assert page.button(key="run").label == "Run · about 4 min"
    assert "Press Run" in answer(page)
    assert re.search("300 sentences, about [0-9,]+ tokens; keeps .* kB", texts(page))
    page.button(key="run").click().run()
    finish(page)
    assert figures(page)["Sentences"] == "300"


def test_a_model_that_has_to_be_downloaded_waits_for_run(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(model="bert-base-uncased"))
    assert re.fullmatch(r"Run · about \d+ (s|min)", page.button(key="run").label)
    assert "Downloads about 441 MB first." in texts(page)


def test_cancelling_keeps_the_picture(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    measure = Encoder.measure

    def slow(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> Any:
        while on_batch and len(sentences) > 32:
            on_batch(0)
            time.sleep(0.01)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", slow)
    page = open_page()
    job = job_of(page)
    while job.work.found is None or len(job.work.found.measurements) < 64:
        time.sleep(0.01)
    page.run()
    page.button(key="cancel").click().run()
    assert not page.exception
    assert job.state is State.CANCELLED
    assert "64 of 300 sentences measured so far." in texts(page)
    assert figures(page)["Sentences"] == "64"
    monkeypatch.setattr(Encoder, "measure", measure)
    page.button(key="run").click().run()
    finish(page)
    assert figures(page)["Sentences"] == "300"
