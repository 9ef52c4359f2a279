"""Runs of one session: what the last one drew reaches the browser before another begins.

Streamlit drops what a run has drawn and the event loop has not yet taken if the browser asks for a fragment just as the
run ends: it then makes another runner, and no longer listens to the one before. In a crowd the loop is behind, and a
page stays half drawn for ever, without the fragments that would have looked for more.
"""

import asyncio

from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner

_begin = AppSession._create_scriptrunner


def hear_out() -> None:
    """See to it for all sessions of this process; to be called when the server starts."""
    AppSession._create_scriptrunner = _begin_once_heard  # type: ignore[method-assign, assignment]


def _begin_once_heard(session: AppSession, asked: RerunData) -> None:
    """Begin a run; if the last runner has ended by itself, not before the loop has taken what it sent until then."""
    last = session._scriptrunner
    if last is None:
        _begin(session, asked)
    else:
        asyncio.get_running_loop().call_soon(_begin_after, session, last, asked)


def _begin_after(session: AppSession, last: ScriptRunner, asked: RerunData) -> None:
    now = session._scriptrunner
    if now is None or now is last or not now.request_rerun(asked):  # another run may have begun meanwhile
        _begin(session, asked)
