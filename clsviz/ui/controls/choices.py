"""What a list offers, and what happens to a name that is chosen from it or typed."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import streamlit as st

from clsviz.errors import ClsvizError
from clsviz.experiment import parse_setting
from clsviz.ui.markdown import escape
from clsviz.ui.state import session

T = TypeVar("T")


def including(chosen: T, options: Iterable[T], *, in_order: bool = False) -> list[T]:
    """The options, with the chosen one added if it is not among them: a link may hold any value in range."""
    found = list(options)
    if chosen not in found:
        found.append(chosen)
        if in_order:
            found.sort(key=lambda option: (isinstance(option, str), option))
    return found


def take_name(setting: str, problem_of: Callable[[str], str]) -> bool:
    """Whether the name in the control of `setting` can be used; if not, go back to the one before and say why.

    problem_of: why this visitor may not ask for a name, or "".
    """
    try:
        name = parse_setting(setting, str(st.session_state[setting]))
        problem = problem_of(name)
    except ClsvizError as error:
        problem = str(error)
    st.session_state[f"{setting}_message"] = problem
    st.session_state[setting] = getattr(session.before(), setting) if problem else name
    return not problem


def show_message(setting: str) -> None:
    """Why what was last chosen for `setting` was refused, if it was."""
    if message := st.session_state.get(f"{setting}_message", ""):
        st.error(escape(message))
