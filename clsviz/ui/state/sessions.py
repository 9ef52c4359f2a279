"""Whose session this is, whether its browser is still there, and what each visitor has had measured lately."""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import streamlit as st

from clsviz.errors import TooManyError
from clsviz.jobs import Watcher
from clsviz.limits import Limits


@dataclass(eq=False)
class Session:
    """The connection of one browser. is_connected: False once it has left; a browser that comes back has another."""

    is_connected: bool = True


@st.cache_resource(show_spinner=False)
def _open_sessions() -> set[Session]:
    return set()


def _leave(session: Session) -> None:
    session.is_connected = False
    _open_sessions().discard(session)


@st.cache_resource(show_spinner=False, scope="session", on_release=_leave)
def current() -> Session:
    """The session of this visitor, which Streamlit keeps for as long as the browser is connected."""
    session = Session()
    _open_sessions().add(session)
    return session


def n_connected() -> int:
    """How many browsers are connected."""
    return len(_open_sessions())


MINUTE = 60.0


class Crowd:
    """The sessions of a server, and the sentences of its visitors in the last minute. Safe to share between threads."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: seconds, from any beginning."""
        self._limits = limits
        self._clock = clock
        self._sessions: set[Watcher] = set()
        self._measured: dict[Hashable, deque[tuple[float, int]]] = {}
        self._lock = threading.Lock()

    def admit(self, session: Watcher) -> bool:
        """Whether there is room for a session, which then has its place for as long as it is connected."""
        if self._limits.sessions is None:
            return True
        with self._lock:
            if session not in self._sessions:
                self._sessions = {other for other in self._sessions if other.is_connected}
            if session not in self._sessions and len(self._sessions) >= self._limits.sessions:
                return False
            self._sessions.add(session)
            return True

    def take_sentences(self, visitor: Hashable, n: int) -> None:
        """Count n sentences that a visitor wants measured; raises TooManyError beyond what a minute may have."""
        most = self._limits.sentences_per_minute
        if most is None:
            return
        now = self._clock()
        with self._lock:
            for other, measured in list(self._measured.items()):
                while measured and now - measured[0][0] >= MINUTE:
                    measured.popleft()
                if not measured:
                    del self._measured[other]
            measured = self._measured.setdefault(visitor, deque())
            # The first is measured however long it is, or else it never could be.
            if measured and sum(count for _, count in measured) + n > most:
                raise TooManyError(
                    f"This server measures up to {most:,} of your own sentences a minute, counting every step of one "
                    "that grows. Wait a moment, then change the sentence or press Enter again."
                )
            measured.append((now, n))
