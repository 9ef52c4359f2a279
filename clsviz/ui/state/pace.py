"""How often a part of a page looks for news: less often in a crowd, also where that comes later."""

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState, get_script_run_ctx

from clsviz.ui.state import server

_WORTH_TELLING = 1.5
"""A pace that is so many times another is told to the browser."""


_SELDOM_SECONDS = 1.0
"""The pace of what did not come soon: looking more often would only take the time that it needs."""


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
