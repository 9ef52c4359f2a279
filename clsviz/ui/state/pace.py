"""How often a part of a page looks for news: less often in a crowd or where they come late, and at last no more."""

import functools
from collections.abc import Callable
from typing import ParamSpec

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, get_script_run_ctx

from clsviz.ui.state import server

P = ParamSpec("P")

_WORTH_TELLING = 1.5
"""A pace that is so many times another is told to the browser."""


_SELDOM_SECONDS = 1.0
"""The pace of what did not come soon: looking more often would only take the time that it needs."""


def part(draw: Callable[P, None], every: float | None) -> Callable[P, None]:
    """A part of a page that draws itself anew when one of its controls is moved, and every so many seconds.

    every: None for no more. Streamlit would go on for ever in a part of another one that was drawn anew: the browser
    is told of a pace, but not that there is none from now on.
    """

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        if every is None:
            _be_still()
        draw(*args, **kwargs)

    return st.fragment(drawn, run_every=every)


def _be_still() -> None:
    """Have the browser draw the part that is being drawn no more by itself; where the whole page is, it knows that."""
    context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id
    if context is not None and fragment is not None and context.fragment_ids_this_run:
        message = ForwardMsg()  # as Streamlit writes it for a part that is gone
        message.stop_auto_rerun.fragment_ids.append(fragment)
        context.enqueue(message)


class Pace:
    """The pace of one fragment. seconds: between two looks, for the fragment’s run_every."""

    def __init__(self, seconds: float = 1.0, *, is_first: bool = False) -> None:
        """seconds: between two looks where few look on. is_first: whether the first points wait for it."""
        self._at_ease, self._is_first = seconds, is_first
        self.seconds = server.every(seconds, is_first=is_first)

    def keep(self) -> None:
        """To be called in every run of the fragment: sees to it that the pace is that of the crowd there is now."""
        if not self._is_first and self._at_ease < _SELDOM_SECONDS:
            self._at_ease = min(2 * self._at_ease, _SELDOM_SECONDS)
        now = server.every(self._at_ease, is_first=self._is_first)
        if 1 / _WORTH_TELLING < now / self.seconds < _WORTH_TELLING:
            return
        context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id
        if context is None or fragment is None:
            return
        self.seconds = now
        message = ForwardMsg()  # as Streamlit writes it for run_every; the browser takes the last one
        message.auto_rerun.interval, message.auto_rerun.fragment_id = now, fragment
        context.enqueue(message)
