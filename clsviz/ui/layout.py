"""The parts that every page has."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from clsviz.errors import ClsvizError
from clsviz.results.result import Result

LIVELY: Final = re.compile(r"(?<=www)(?=\.)|(?<=\w@)(?=\w)|(?<=:)(?=\S)|(?<=[-<>~])(?=[-=>])", re.I)
"""Places in addresses, :icons: and arrows, which come to life even where they are escaped."""


def escape(text: str) -> str:
    """Text from a link, a corpus or a visitor, as Markdown that shows it and does nothing else."""
    line = LIVELY.sub("\N{WORD JOINER}", " ".join(text.split()))
    return re.sub(r"([\\`*_{}\[\]<>&()#+\-.!|:$~])", r"\\\1", line)


def head(result: Result) -> None:
    """Draw the question, the answer, and the numbers behind it."""
    st.header(escape(result.question), anchor=False)
    st.subheader(escape(result.verdict), anchor=False)
    if result.advice:
        st.markdown(escape(f"→ {result.advice}"))
    st.caption(escape(result.numbers))


def caveats(result: Result) -> None:
    """Draw the limits of the answer, in a quiet list."""
    if result.caveats:
        st.caption("\n".join(f"- {escape(caveat)}" for caveat in result.caveats))


def error(error: Exception) -> None:
    """Draw an error: its message where it is meant for the user, else the place of it."""
    is_known = isinstance(error, ClsvizError)
    message = str(error) if is_known else "Something went wrong. The server’s log says what."
    st.error(escape(message), icon=":material/error:")


@contextmanager
def showing_errors(*, stops: bool = False) -> Iterator[None]:
    """Draw an error where something cannot be heeded. stops: the page stops at it."""
    try:
        yield
    except ClsvizError as reason:
        error(reason)
        if stops:
            st.stop()
