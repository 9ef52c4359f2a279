"""The parts that every page has."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import streamlit as st

from clsviz.errors import ClsvizError
from clsviz.results.result import Result

LIVELY: Final = re.compile(r"(?<=www)(?=\.)|(?<=\w@)(?=\w)|(?<=:)(?=\S)|(?<=[-<>~])(?=[-=>])", re.I)
"""Places in addresses, :icons: and arrows, which come to life even where they are escaped."""

N_NUMBERS: Final = 3  # that stand below an answer; “How it was measured” has all


def escape(text: str) -> str:
    """Text from a link, a corpus or a visitor, as Markdown that shows it and does nothing else."""
    line = LIVELY.sub("\N{WORD JOINER}", " ".join(text.split()))
    return re.sub(r"([\\`*_{}\[\]<>&()#+\-.!|:$~])", r"\\\1", line)


def head(result: Result) -> None:
    """Draw the question, the answer, what to do, and the first numbers behind it."""
    st.header(escape(result.question), anchor=False)
    st.subheader(escape(result.verdict), anchor=False)
    if result.advice:
        st.success(escape(result.advice), icon=":material/arrow_forward:")
    look: dict[str, Any] = {"delta_color": "off", "delta_arrow": "off", "width": "content"}
    with st.container(horizontal=True, gap="medium"):
        for fact in result.loud_facts[:N_NUMBERS]:
            st.metric(escape(fact.label.rstrip(":")), fact.words, fact.ends or None, **look)


def caveats(result: Result) -> None:
    """Draw the first limit of the answer, and the others folded."""
    first, rest = result.caveats[:1], result.caveats[1:]
    st.caption("".join(map(escape, first)))
    if rest:
        with st.expander("What was left out, and other limits"):
            st.caption("\n".join(f"- {escape(caveat)}" for caveat in rest))


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
