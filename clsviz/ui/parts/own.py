"""The visitor's own sentences: the box, and a job that does something with them."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from clsviz import analysis, export, words
from clsviz.errors import TooManyError
from clsviz.jobs import Analysis, State, encoder_of
from clsviz.settings import Precision, Unit
from clsviz.sources.models import Weights
from clsviz.sources.segmentation import MAX_CHARACTERS
from clsviz.ui import view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import redrawn
from clsviz.ui.state import server

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clsviz.analysis import ViewData
    from clsviz.encoder import Encoder

T = TypeVar("T")

MOST_SENTENCES = 20
"""How many of the visitor's sentences are measured."""

_IN_LINK = "Include it in the link"

_LABEL_OF_SEVERAL = "Your own sentences"

_HEIGHT, _HEIGHT_IN_STRIP = 80, 68

_MOST_CARDS, _MOST_CHARACTERS = 4, 300
"""More of the visitor's sentences are listed in a table; of each at most so much is shown."""

_POLL_SECONDS, _PATIENCE_SECONDS = 0.5, 0.1


def line() -> None:
    """Where the visitor types a sentence, or sees those of a link or of another page.

    It is taken as it is typed. So nothing is left to be sent when the visitor clicks on the link to another page: what
    a part that draws itself anew sends after such a click has Streamlit empty the new page.
    """
    if "\n" in st.session_state.text.strip():
        _area(_LABEL_OF_SEVERAL, _HEIGHT_IN_STRIP, "Press Ctrl+Enter to measure them.")
    else:
        _field("text_line", "Your own sentence", st.session_state.text.strip("\n"), "Type to see its norm")


def one_or_several() -> None:
    """Where the visitor types one sentence, or two to compare, measured meanwhile; after a switch, any number."""
    lines = st.session_state.text.splitlines()
    has_many = len(lines) > 2
    st.session_state.several = has_many or st.session_state.get("several", False)
    if st.session_state.several:
        _area("Your own sentences, one per line", _HEIGHT, "Press Ctrl+Enter or click Measure.")
    else:
        first, second = (*lines, "", "")[:2]
        with st.grid(2, min_column_width=280):
            of_both = "text_line", "text_second"
            _field("text_line", "Your sentence", first, "Type to see its norm", of_both)
            _field("text_second", "Another, to compare", second, "Type to see how similar the two are", of_both)
    with st.container(horizontal=True, vertical_alignment="center", key="how_many"):
        if st.session_state.several:  # a click leaves the box, which submits what was typed
            st.button("Measure", icon=":material/straighten:")
        view.switch(
            "More than two",
            "several",
            disabled=has_many,
            help="One per line. Leave two or fewer to go back to measuring as you type.",
        )
        offer_for_link()


def _field(key: str, label: str, text: str, placeholder: str, fields: Sequence[str] = ("text_line",)) -> None:
    """One sentence, taken as it is typed; fields: the keys of all that are there."""
    if st.session_state.get(key) != text:  # typed elsewhere, or of a link
        st.session_state[key] = text
    st.text_input(
        label,
        value=text,
        key=key,
        persist_state="session",
        on_change=_take_fields,
        args=tuple(fields),
        max_chars=MAX_CHARACTERS,
        placeholder=placeholder,
        live=True,
        help=f"Measured as you type. It is not stored, and goes into the link only if you tick “{_IN_LINK}”.",
    )


def offer_for_link() -> None:
    """Whether the sentences become part of the link."""
    st.checkbox(
        _IN_LINK,
        value=st.session_state.with_text,
        key="with_text",
        persist_state="session",
        disabled=not st.session_state.text.strip(),
    )


def _area(label: str, height: int, how: str) -> None:
    if st.session_state.get("text_area") != st.session_state.text:
        st.session_state.text_area = st.session_state.text
    st.text_area(
        label,
        value=st.session_state.text_area,
        height=height,
        key="text_area",
        on_change=lambda: _take(st.session_state.get("text_area", st.session_state.text)),  # none if the page is left
        max_chars=MAX_CHARACTERS,
        placeholder="The quick brown fox jumps over the lazy dog.",
        help=f"{how} What you type is not stored, and goes into the link only if you tick “{_IN_LINK}”.",
    )


def _take_fields(*keys: str) -> None:
    """Take what was typed into the fields, unless the page is being left, which takes it away."""
    if all(key in st.session_state for key in keys):
        first, *others = (str(st.session_state[key]) for key in keys)
        _take("\n".join([first, *filter(str.strip, others)]))


def _take(text: str) -> None:
    """Take what was typed; it goes into the next link only if asked for, also where it replaces that of a link."""
    st.session_state.text = text
    if st.session_state.pop("text_of_link", ""):
        st.session_state.with_text = False


def typed() -> list[str]:
    """The sentences in the box, as many as are measured, and a note if that is not all."""
    sentences = [line.strip() for line in st.session_state.text.splitlines() if line.strip()]
    if len(sentences) > MOST_SENTENCES:
        st.caption(f"Only the first {MOST_SENTENCES} of {len(sentences):,} lines are measured.")
    return sentences[:MOST_SENTENCES]


def show_measured(
    sentences: list[str],
    tokens: Sequence[list[str]],
    lengths: "NDArray[np.int32]",
    norms: "NDArray[np.float32]",
    is_truncated: "NDArray[np.bool_]",
    unit: Unit,
    shown: "ViewData | None",
) -> None:
    """A card for each of the visitor's sentences, or a table of many: its length, its norm, and those of the corpus.

    tokens: those to list, of each. shown: the corpus, where its norms are known.
    """
    if len(sentences) > _MOST_CARDS and shown is not None:
        st.dataframe(
            export.tables.typed(sentences, tokens, lengths, norms, unit, shown),
            hide_index=True,
            column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("Norm", "Norm on the line")}
            | {"Percentile at this length": st.column_config.NumberColumn(format="%.0f")},
            alt="Your sentences with their tokens and norms",
        )
        return
    with st.grid(min(len(sentences), 2), min_column_width=280):
        for at, sentence in enumerate(sentences):
            with st.container(border=True, gap="xsmall", height="stretch"):
                number = f"{at + 1}. " if len(sentences) > 1 else ""
                is_long = len(sentence) > _MOST_CHARACTERS
                st.text(number + (f"{sentence[:_MOST_CHARACTERS]}…" if is_long else sentence))
                of_one = int(lengths[at]), float(norms[at]), unit, shown
                st.markdown(words.try_a_sentence.facts(*of_one, is_truncated=bool(is_truncated[at])))
                if tokens[at]:
                    st.code(words.try_a_sentence.token_list(tokens[at]), language=None, wrap_lines=True)


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
        asked = analysis.sentences_key(name, weights, precision, list(sentences))
        known = partial(server.cache().get, asked)
        visitor = server.visitor()
        admit = partial(server.crowd().take_sentences, visitor, len(sentences))
        return jobs.try_sentences(
            key, lambda: work(encoder_of(weights, jobs.encoders, jobs.store, precision)), known, visitor, admit
        )

    try:
        job = ask()
    except TooManyError as error:
        st.session_state[f"measuring_{name}"] = False
        st.info(escape(error))
        return None
    if st.session_state.get(f"asked_{name}") != key:
        st.session_state[f"asked_{name}"] = key
        server.wait_while(lambda: job.state.is_active, _PATIENCE_SECONDS)  # in memory it takes milliseconds
    st.session_state[f"measuring_{name}"] = job.state.is_active
    if job.state is State.DONE and job.work.result is not None:
        if not server.jobs().encoders.has(weights, precision):  # it came with clsviz; the visitor’s own will not
            server.soon(lambda: server.jobs().encoders.get(weights, precision))
        st.session_state[f"tried_{name}"] = key, job.work.result
        return job.work.result
    if job.state is State.FAILED:
        st.error(escape(job.error))
    else:
        _show_measuring(ask, weights.label)
    return None


def before(name: str, weights: Weights) -> Any:
    """What `try_sentences` of that name gave last with this model, while more is still to come, and otherwise None.

    With it, nothing need flicker as one types.
    """
    kept = st.session_state.get(f"tried_{name}")
    is_measuring = st.session_state.get(f"measuring_{name}", False)
    return kept[1] if kept is not None and is_measuring and kept[0][2] == weights.fingerprint else None


def _show_measuring(ask: "Callable[[], Analysis[T]]", model: str) -> None:
    """Say that the job is running, and draw the page again once it has ended."""

    def draw() -> None:
        with st.container(border=True):
            st.caption(f":material/hourglass_top: Measuring with {escape(model)}…")

    def is_active() -> bool:
        try:
            return ask().state.is_active  # again and again, as it runs only while somebody asks
        except TooManyError:  # it was let go meanwhile
            return False

    redrawn.follow(draw, is_active, True, _POLL_SECONDS)
