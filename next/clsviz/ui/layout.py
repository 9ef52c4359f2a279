"""The parts that every page has."""

import re

import streamlit as st

from clsviz.errors import ClsvizError
from clsviz.results.result import Result


def escape(text: str) -> str:
    """Text from a link, a corpus or a visitor, as Markdown that shows it and does nothing else.

    A word joiner keeps addresses from coming to life; numbers have none.
    """
    escaped = re.sub(r"([\\`*_{}\[\]<>&()#+\-.!|:$~])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<=[\w/@])(\\[:.])(?=\S)(?!(?<=\d\\\.)\d)", "\\1\N{WORD JOINER}", escaped)


def head(result: Result) -> None:
    """The question, the answer, and the numbers behind it."""
    st.header(escape(result.question), anchor=False)
    st.subheader(escape(result.verdict), anchor=False)
    if result.advice:
        st.markdown(escape(f"→ {result.advice}"))
    st.caption(escape(result.numbers))


def caveats(result: Result) -> None:
    """The limits of the answer, in a quiet list."""
    if result.caveats:
        st.caption("\n".join(f"- {escape(caveat)}" for caveat in result.caveats))


def error(error: Exception) -> None:
    """What went wrong: the message where it is meant for the user, else where to find it."""
    is_known = isinstance(error, ClsvizError)
    message = str(error) if is_known else "Something went wrong. The server’s log says what."
    st.error(escape(message), icon=":material/error:")
