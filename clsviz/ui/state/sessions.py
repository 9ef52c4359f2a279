"""Whose session this is, and whether its browser is still there."""

from dataclasses import dataclass

import streamlit as st


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
