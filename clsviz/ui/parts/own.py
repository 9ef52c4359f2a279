"""The visitor's own sentences: the box, and a job that does something with them."""

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from clsviz import analysis
from clsviz.corpora.segmentation import MAX_CHARACTERS
from clsviz.measuring import Analysis, State
from clsviz.models import Weights
from clsviz.settings import Precision
from clsviz.ui.markdown import escape
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.encoder import Encoder

T = TypeVar("T")

MOST_SENTENCES = 20
"""How many of the visitor's sentences are measured."""

_IN_LINK = "Include it in the link"

_POLL_SECONDS, _PATIENCE_SECONDS = 0.5, 0.1


def box() -> None:
    """Where the visitor types."""
    st.subheader("Your own sentence")
    st.text_area(
        "Type one or more sentences, one per line",
        value=st.session_state.text,
        key="text",
        on_change=_untick,
        height=80,
        max_chars=MAX_CHARACTERS,
        placeholder="The quick brown fox jumps over the lazy dog.",
        help="Press Ctrl+Enter or click Measure. What you type is not stored, and goes into the link only if you tick "
        f"“{_IN_LINK}”.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Measure", icon=":material/straighten:")  # a click on it leaves the box, which submits what was typed
        st.checkbox(
            _IN_LINK,
            value=st.session_state.with_text,
            key="with_text",
            disabled=not st.session_state.text.strip(),
        )


def _untick() -> None:
    """Sentences typed in place of those of a link are not put into the next link unasked."""
    if st.session_state.pop("text_of_link", ""):
        st.session_state.with_text = False


def typed() -> list[str]:
    """The sentences in the box, as many as are measured, and a note if that is not all."""
    sentences = [line.strip() for line in st.session_state.text.splitlines() if line.strip()]
    if len(sentences) > MOST_SENTENCES:
        st.caption(f"Only the first {MOST_SENTENCES} of {len(sentences):,} lines are measured.")
    return sentences[:MOST_SENTENCES]


def try_sentences(
    name: str,
    weights: Weights,
    sentences: Sequence[str],
    work: "Callable[[Encoder], T]",
    precision: Precision = Precision.EXACT,
) -> T | None:
    """What `work` computes from the visitor's sentences with the model, or None until it is there.

    It runs as a job: until it ends, this place says so, and then the page is drawn again; if it fails, this place says
    why. The result is kept for as long as the arguments stay the same.

    name: what is computed; it tells several computations with the same sentences apart.
    """
    key = ("try sentences", name, weights.fingerprint, precision, *sentences)
    kept: tuple[Hashable, T] | None = st.session_state.get(f"tried_{name}")
    if kept is not None and kept[0] == key:
        return kept[1]

    def ask() -> Analysis[T]:
        jobs = server.jobs()
        asked = analysis.question_of_sentences(name, weights, precision, list(sentences))
        known = partial(server.kept().get, asked)
        return jobs.try_sentences(key, lambda: work(jobs.encoders.get(weights, precision)), known)

    job = ask()
    if st.session_state.get(f"asked_{name}") != key:
        st.session_state[f"asked_{name}"] = key
        _wait_a_moment(job)
    if job.state is State.DONE and job.work.result is not None:
        if not server.jobs().encoders.has(weights, precision):  # it came with clsviz; the visitor’s own will not
            server.soon(lambda: server.load(weights, precision))
        st.session_state[f"tried_{name}"] = key, job.work.result
        return job.work.result
    if job.state is State.FAILED:
        st.error(escape(job.error))
    else:
        _show_measuring(ask, weights.label)
    return None


def _wait_a_moment(job: "Analysis[T]") -> None:
    """With the model in memory a sentence takes milliseconds: then nothing need flicker."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while job.state.is_active and time.monotonic() < deadline:
        time.sleep(0.005)


def _show_measuring(ask: "Callable[[], Analysis[T]]", model: str) -> None:
    """Say that the job is running, and draw the page again once it has ended."""
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        job = ask()  # again and again, as it runs only while somebody does
        with st.container(border=True):
            st.caption(f":material/hourglass_top: Measuring with {escape(model)}…")
        if is_in_browser and not job.state.is_active:
            st.rerun()
        is_in_browser = True

    st.fragment(keep_up, run_every=_POLL_SECONDS)()
