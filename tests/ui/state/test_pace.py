import functools
import math
from collections.abc import Callable

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from clsviz.ui.state import server

NESTED = """
import streamlit as st
from clsviz.ui.state.pace import part

def inner():
    st.write("inner")

def outer():
    part(inner, st.session_state.get("every", 0.25))()

part(outer, 1.0)()
"""

PAGE = """
import streamlit as st
from clsviz.ui.state.pace import Pace

pace = Pace(0.5, is_first=True)

def look():
    pace.keep()
    st.session_state.n_looks = st.session_state.get("n_looks", 0) + 1

st.fragment(look, run_every=pace.seconds)()
"""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """How often the browser was told to run which fragment."""
    told: list[tuple[str, float]] = []
    enqueue = ScriptRunContext.enqueue

    def noting(self: ScriptRunContext, message: ForwardMsg) -> None:
        if message.WhichOneof("type") == "auto_rerun":
            told.append((message.auto_rerun.fragment_id, message.auto_rerun.interval))
        if message.WhichOneof("type") == "stop_auto_rerun":
            told.extend((fragment, math.inf) for fragment in message.stop_auto_rerun.fragment_ids)
        enqueue(self, message)

    monkeypatch.setattr(ScriptRunContext, "enqueue", noting)
    return told


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a fragment of a page as the browser has it run: the only one, if none is named."""

    def look(page: AppTest, fragment: str = "") -> None:
        if not fragment:
            (fragment,) = page._fragment_storage._fragments
        with monkeypatch.context() as patch:
            of_look = functools.partial(RerunData, fragment_id=fragment)
            patch.setattr("streamlit.testing.v1.local_script_runner.RerunData", of_look)
            assert not page.run().exception

    return look


def test_a_part_of_another_one_looks_no_more_once_that_was_drawn_without_a_reason_to(
    told: list[tuple[str, float]], look: Callable[..., None]
) -> None:
    page = AppTest.from_string(NESTED).run()
    (outer, _), (inner, seconds) = told
    assert seconds == 0.25

    def draw(fragment: str) -> list[tuple[str, float]]:
        told.clear()
        look(page, fragment)
        return told

    assert draw(outer) == [(inner, 0.25)]
    page.session_state.every = None
    assert draw(outer) == [(inner, math.inf)]
    assert draw(inner) == [(inner, math.inf)]  # also where it was asked for before the browser knew
    page.session_state.every = 0.25
    assert draw(outer) == [(inner, 0.25)]


def test_a_page_that_was_there_before_the_crowd_looks_less_often_once_there_is_one(
    told: list[tuple[str, float]], look: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = 1
    monkeypatch.setattr(type(server.jobs()), "n_watchers", property(lambda _: crowd))
    page = AppTest.from_string(PAGE).run()
    ((fragment, seconds),) = told
    assert seconds == 0.5
    look(page)
    assert len(told) == 1  # nothing has changed
    crowd = 50
    look(page)
    assert told[1:] == [(fragment, 0.5 * 50 / 8)]
    crowd = 55
    look(page)
    assert len(told) == 2  # hardly anything has
    crowd = 3
    look(page)
    assert told[2:] == [(fragment, 0.5)]
    assert page.session_state.n_looks == 5


def test_what_does_not_come_soon_is_looked_for_less_often(
    told: list[tuple[str, float]], look: Callable[..., None]
) -> None:
    page = AppTest.from_string(PAGE.replace("0.5, is_first=True", "0.3")).run()
    for _ in range(4):
        look(page)
    assert [seconds for _, seconds in told] == pytest.approx([0.3, 0.6, 1.0])
