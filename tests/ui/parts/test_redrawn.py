"""A part of a page that draws itself anew, and the settings that go with it."""

import functools
from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from support.app import figures, finish, redraw, settle

PAGE = """
import streamlit as st
from clsviz.ui.parts import redrawn

state = st.session_state
state.n_pages = state.get("n_pages", 0) + 1
state.setdefault("is_active", False)

def draw():
    state.n_drawn = state.get("n_drawn", 0) + 1
    st.number_input("View", key="view")
    st.number_input("Corpus", key="corpus")

redrawn.show(draw, lambda: state.get("corpus", 0), lambda: state.is_active)
"""


def opened() -> AppTest:
    """The page, which is not run yet."""
    return AppTest.from_string(PAGE)


@pytest.fixture
def polled(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How often each fragment asked to be run again."""
    seconds: list[float | None] = []
    fragment = st.fragment

    def watched(draw: Callable[[], None], run_every: float | None = None) -> Callable[[], None]:
        seconds.append(run_every)
        return fragment(draw, run_every=run_every)

    monkeypatch.setattr(st, "fragment", watched)
    return seconds


def counts(page: AppTest) -> tuple[int, int]:
    return page.session_state.n_pages, page.session_state.n_drawn


def test_a_change_of_the_view_draws_this_part_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, polled: list[float | None]
) -> None:
    page = opened().run()
    page.run()
    assert counts(page) == (2, 2)
    page.number_input(key="view").set_value(3)
    redraw(page, monkeypatch)
    assert counts(page) == (2, 3)
    assert page.session_state.view == 3
    assert not any(polled)


def test_a_change_of_what_the_rest_depends_on_draws_the_whole_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened().run()
    page.run()
    page.number_input(key="corpus").set_value(3)
    redraw(page, monkeypatch)
    assert counts(page) == (3, 3)  # once, and not in vain before
    assert page.session_state.corpus == 3
    redraw(page, monkeypatch)
    assert counts(page) == (3, 4)


def test_while_there_is_more_to_come_it_is_drawn_again_and_at_the_end_the_whole_page(
    monkeypatch: pytest.MonkeyPatch, polled: list[float | None]
) -> None:
    page = opened()
    page.session_state.is_active = True
    page.run()
    assert polled[0]
    redraw(page, monkeypatch)
    assert counts(page) == (1, 2)
    page.session_state.is_active = False
    redraw(page, monkeypatch)
    assert counts(page)[0] == 2
    assert polled[1:] == [None]
    n_drawn = counts(page)[1]
    page.session_state.is_active = True
    redraw(page, monkeypatch)  # a control of this part has begun something
    assert counts(page) == (3, n_drawn + 2)
    assert polled[-1]


def test_a_look_that_finds_no_news_draws_nothing(monkeypatch: pytest.MonkeyPatch, polled: list[float | None]) -> None:
    page = AppTest.from_string(PAGE.replace("state.is_active)", "state.is_active, lambda: state.news)"))
    page.session_state.is_active, page.session_state.news = True, 1
    page.run()
    assert [bool(seconds) for seconds in polled] == [False, True]  # the part itself, and the look
    look = list(page._fragment_storage._fragments)[-1]

    def look_again() -> tuple[int, int]:
        with monkeypatch.context() as patch:
            of_look = functools.partial(RerunData, fragment_id=look)
            patch.setattr("streamlit.testing.v1.local_script_runner.RerunData", of_look)
            page.run()
        return counts(page)

    assert look_again() == (1, 1)
    page.session_state.news = 2
    assert look_again() == (2, 2)
    assert look_again() == (2, 2)
    redraw(page, monkeypatch)  # a control of the part is moved
    assert counts(page) == (2, 3)
    page.session_state.is_active = False
    assert look_again() == (3, 4)
    assert polled[-1] is None


def test_a_change_of_the_view_alone_is_in_the_address_and_in_the_links_of_all_pages(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = settle(finish(open_page()))
    before, written = figures(page), page.session_state.written
    linked: list[dict[str, str]] = []
    link = page.session_state.link_pages
    page.session_state.link_pages = lambda query: (linked.append(query), link(query))
    page.select_slider(key="length_cutoff").set_value(15)
    redraw(page, monkeypatch, "clsviz.ui.norm_vs_length")
    assert not page.exception
    assert page.query_params["length_cutoff"] == "15"
    assert page.session_state.written.query == written.query | {"length_cutoff": "15"}
    assert linked == [page.session_state.written.query]
    assert figures(page)["Sentences"] != before["Sentences"]
    page.run()
    links = page.sidebar.get("page_link")
    assert len(links) == 6
    assert all("length_cutoff=15" in link.proto.query_string for link in links)
