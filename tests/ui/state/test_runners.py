"""What a run drew reaches the browser, also if it asks for a fragment in the moment in which the run ends."""

import asyncio
from pathlib import Path

import pytest
from streamlit.components.lib.local_component_registry import LocalComponentRegistry
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.session_manager import SessionClient
from support import coroutines

from clsviz.ui.state import runners

_PAGE = """
import streamlit as st

@st.fragment(run_every=1)
def look():
    st.text("a look")

look()
st.text("the end of the page")
"""


class Browser(SessionClient):
    """Keeps what it is sent. finished: how each run ended, as the browser was told."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.fragments: list[str] = []
        self.finished: list[int] = []
        self.changed = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        kind = msg.WhichOneof("type")
        if kind == "delta" and msg.delta.new_element.WhichOneof("type") == "text":
            self.texts.append(msg.delta.new_element.text.body)
        elif kind == "auto_rerun":
            self.fragments.append(msg.auto_rerun.fragment_id)
        elif kind == "script_finished":
            self.finished.append(msg.script_finished)
            self.changed.set()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.setattr(AppSession, "_create_scriptrunner", AppSession._create_scriptrunner)  # as it was, afterwards
    monkeypatch.setattr(Runtime, "_instance", None)
    page = tmp_path / "page.py"
    page.write_text(_PAGE, encoding="utf-8")
    return Runtime(
        RuntimeConfig(
            str(page),
            MemoryMediaFileStorage("/media"),
            MemoryUploadedFileManager("/upload"),
            component_registry=LocalComponentRegistry(),
        )
    )


def _ask(fragment: str = "") -> BackMsg:
    message = BackMsg()
    message.rerun_script.fragment_id, message.rerun_script.is_auto_rerun = fragment, bool(fragment)
    return message


def _hold_until_ended(session: AppSession) -> None:
    """Hold up the event loop, in which this is called, until the run has ended."""
    runner = session._scriptrunner
    assert runner is not None
    assert runner._script_thread is not None
    runner._script_thread.join(60)
    assert not runner._script_thread.is_alive()


def test_a_look_that_comes_as_a_run_ends_takes_nothing_from_it(runtime: Runtime) -> None:
    runners.hear_out()

    async def visit() -> Browser:
        await runtime.start()
        browser = Browser()
        name = runtime.connect_session(browser, {})
        session = runtime.get_app_session(name)
        assert session is not None

        async def finished(status: int) -> None:
            while status not in browser.finished:
                browser.changed.clear()
                await browser.changed.wait()

        runtime.handle_backmsg(name, _ask())
        await finished(ForwardMsg.FINISHED_SUCCESSFULLY)
        (fragment,) = browser.fragments
        browser.texts.clear()
        runtime.handle_backmsg(name, _ask())  # the whole page once more
        _hold_until_ended(session)
        runtime.handle_backmsg(name, _ask(fragment))
        runtime.handle_backmsg(name, _ask(fragment))
        await finished(ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
        runtime.stop()
        await runtime.stopped
        return browser

    browser = coroutines.run(visit())
    assert browser.texts.count("the end of the page") == 1
    assert browser.texts[-1] == "a look"
    assert len(browser.fragments) == 2
    assert browser.finished[:2] == [ForwardMsg.FINISHED_SUCCESSFULLY] * 2
