"""What pages say where a server has limits and many visitors."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import answer, chart, finish, job_of, linked, plain, settle, texts
from support.logs import logged
from support.waiting import Somebody, wait_for

from clsviz import figures
from clsviz.experiment import Experiment
from clsviz.jobs import Job, State
from clsviz.ui.state import identity, server


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Start the server anew with these limits."""

    def limit(**limits: object) -> None:
        server.jobs().close()
        for name, value in limits.items():
            monkeypatch.setenv(f"CLSVIZ_LIMIT_{name.upper()}", str(value))
        st.cache_resource.clear()

    return limit


def test_a_server_without_room_says_so_and_does_nothing_else(
    open_page: Callable[..., AppTest], limit: Callable[..., None]
) -> None:
    limit(sessions=1)
    somebody = Somebody()
    assert server.crowd().admit(somebody)
    page = open_page()
    assert not page.exception
    assert page.title[0].value == "This demo is busy. Back in a minute?"
    assert "It serves up to 1 open page at a time" in texts(page)
    assert "watched" not in page.session_state
    assert server.jobs().is_idle
    assert not page.button
    somebody.is_connected = False
    page.run()
    assert "Does tiny-bert encode the length" in texts(finish(page))


def test_a_server_that_is_set_up_wrongly_says_so_in_its_log(
    open_page: Callable[..., AppTest],
    limit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit(sessions="many")
    with logged() as log:
        page = open_page()
    assert not page.exception
    assert "its log says what is wrong" in texts(page)
    assert "CLSVIZ_LIMIT_SESSIONS is “many”" in log.getvalue()
    monkeypatch.delenv("CLSVIZ_LIMIT_SESSIONS")


def test_a_page_that_waits_says_how_many_come_first(
    open_page: Callable[..., AppTest], tiny_folder: Path, corpus: str, gate: threading.Event
) -> None:
    experiment = Experiment(model=str(tiny_folder), corpus=corpus, sample_size=300, seed=5)
    first = server.jobs().open(experiment, visitor="somebody")
    wait_for(lambda: first.state is State.RUNNING)
    page = open_page(seed="6")
    wait_for(lambda: job_of(page).state is State.QUEUED)
    page.run()
    assert answer(page) == "One run comes first. The first points appear soon after that."
    assert plain(page.sidebar.get("progress")[0].proto.text) == "One run comes first"
    gate.set()
    finish(page)


def test_a_visitor_with_as_many_runs_as_one_may_have_is_told_so(
    open_page: Callable[..., AppTest], tiny_folder: Path, corpus: str, gate: threading.Event, limit: Callable[..., None]
) -> None:
    limit(visitor_jobs=1)
    experiment = Experiment(model=str(tiny_folder), corpus=corpus, sample_size=300, seed=5)
    first = server.jobs().open(experiment, visitor=identity.of(server.limits()))
    wait_for(lambda: first.state is State.RUNNING)
    page = open_page(seed="6")
    wait_for(lambda: job_of(page).state is State.WAITING)
    page.run()
    said = "Not queued: you have a run going or waiting, as many as one visitor may have on this server. "
    assert said in texts(page)
    assert answer(page).startswith("You have as many runs as one visitor may have on this server.")
    page.button(key="run").click().run()
    assert job_of(page).state is State.WAITING
    assert said in texts(page)
    gate.set()
    wait_for(lambda: first.state is State.DONE)
    page.button(key="run").click().run()
    finish(page)
    assert job_of(page).state is State.DONE
    assert said not in texts(page)


def test_a_page_with_more_runs_than_a_visitor_may_have_gets_all_of_them_one_after_another(
    tiny_folder: Path, corpus: str, limit: Callable[..., None]
) -> None:
    limit(visitor_jobs=1)
    query = {"models": f"{tiny_folder},untrained:{tiny_folder}", "corpus": corpus, "sample_size": "100"}
    page = linked(query, "compare_models").run()
    jobs: list[Job] = []

    def is_done() -> bool:
        nonlocal jobs
        page.run()  # as its status does whenever a run has ended
        assert not page.exception
        jobs = list(page.session_state.watched.values())
        assert sum(job.state in (State.QUEUED, State.RUNNING) for job in jobs) <= 1
        return all(job.state is State.DONE for job in jobs)

    wait_for(is_done)
    assert len(jobs) == 4
    assert "Not queued" not in texts(page)


def test_one_figure_of_a_view_is_shared_by_all_who_look_at_it(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = settle(finish(open_page()))
    first = chart(page)["data"]
    drawn: list[object] = []
    scatter = figures.scatter
    monkeypatch.setattr(figures, "scatter", lambda *args, **named: (drawn.append(args), scatter(*args, **named))[1])
    other = open_page()
    assert chart(other)["data"] == first
    assert not drawn
    other.text_input(key="text_line").set_value("A sentence of the visitor’s own.").run()
    settle(other)
    assert len(drawn) > 0
    assert len(chart(other)["data"]) > len(first)
    n = len(drawn)
    assert chart(page.run())["data"] == first  # and nobody else gets it
    assert len(drawn) == n


def test_own_sentences_beyond_those_of_a_minute_are_not_measured(
    open_page: Callable[..., AppTest], limit: Callable[..., None]
) -> None:
    limit(sentences_per_minute=2)
    page = finish(open_page())
    said = "up to 2 of your own sentences a minute"
    for sentence in ("The first one.", "The second one."):
        page.text_input(key="text_line").set_value(sentence).run()
        wait_for(lambda: server.jobs().is_idle)
        page.run()
        assert not page.info
    page.text_input(key="text_line").set_value("The third one.").run()
    assert not page.exception
    assert said in page.info[0].value
    page.text_input(key="text_line").set_value("The first one.").run()
    assert not page.info  # it is known
