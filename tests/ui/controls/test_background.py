"""Runs that were left for other settings."""

import threading
from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import finish, job_of, texts
from support.waiting import wait_for

from clsviz.encoder import Encoder
from clsviz.measuring import Cost, Extraction, State
from clsviz.ui.state import identity, server


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Measuring does not go on beyond its first parts before this is set, and every run waits for Run."""
    opened, measure = threading.Event(), Encoder.measure

    def gated(self: Encoder, sentences: list[str], on_batch: Callable[[int], None] | None = None) -> object:
        while on_batch and len(sentences) > 32 and not opened.wait(0.01):
            on_batch(0)
        return measure(self, sentences, on_batch)

    monkeypatch.setattr(Encoder, "measure", gated)
    look_up = Extraction.look_up

    def costly(self: Extraction, progress: object) -> Cost:
        return Cost(240.0) if look_up(self, progress).seconds else Cost(0)

    monkeypatch.setattr(Extraction, "look_up", costly)
    return opened


def started(open_page: Callable[..., AppTest]) -> AppTest:
    page = finish(open_page())
    page.button(key="run").click().run()
    wait_for(lambda: job_of(page).state is State.RUNNING)
    wait_for(lambda: job_of(page).work.found is not None and len(job_of(page).work.found.measurements) > 0)
    return page


def test_a_run_goes_on_while_other_settings_are_looked_at_and_is_found_again(
    open_page: Callable[..., AppTest], gate: threading.Event
) -> None:
    page = started(open_page)
    job = job_of(page)
    assert "In the background" not in texts(page.run())
    page.session_state.seed = 4
    page.run()
    assert job_of(page) is not job
    assert job.state is State.RUNNING
    assert "In the background: tiny-bert on Uploaded file" in texts(page)
    assert "of 300 sentences." in texts(page)

    page.button(key="show_0").click().run()
    assert page.session_state.seed == 0
    assert job_of(page) is job
    assert job.state is State.RUNNING
    assert "In the background" not in texts(page)
    gate.set()
    finish(page)
    assert job.state is State.DONE
    assert len(job.work.found.measurements) == 300


def test_it_can_be_cancelled_from_there(open_page: Callable[..., AppTest], gate: threading.Event) -> None:
    page = started(open_page)
    job = job_of(page)
    page.session_state.sample_size = 200
    page.run()
    page.button(key="cancel_background_0").click().run()
    assert job.state is State.CANCELLED
    assert "In the background" not in texts(page)
    assert not gate.is_set()


def test_whoever_waits_does_not_wait_for_what_nobody_watches(
    open_page: Callable[..., AppTest], gate: threading.Event
) -> None:
    page = started(open_page)
    job = job_of(page)
    page.session_state.seed = 4
    page.run()
    page = finish(page)
    page.button(key="run").click().run()
    order = []
    for one, name in ((job, "left"), (job_of(page), "watched")):
        run = one.work.run
        one.work.run = lambda progress, run=run, name=name: (run(progress), order.append(name))
    gate.set()
    finish(page)
    wait_for(lambda: not job.state.is_active)
    assert order[0] == "watched"
    assert job.state is State.DONE


def test_a_public_server_stops_it_as_it_says(
    open_page: Callable[..., AppTest], gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    st.cache_resource.clear()
    page = finish(open_page(model="minilm"))
    page.button(key="run").click().run()
    job = job_of(page)
    wait_for(lambda: job.state is State.RUNNING)
    page.session_state.seed = 4
    page.run()
    assert job.state is State.CANCELLED
    assert server.jobs().left_running(identity.of(server.limits())) == []
    assert not gate.is_set()
