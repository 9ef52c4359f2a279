"""The visitor's own sentences: measured at once, and set beside those of the corpus."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from clsviz import figures, statistics
from clsviz.corpora.segmentation import MAX_CHARACTERS
from clsviz.experiment import Experiment
from clsviz.measurements import Measurements
from clsviz.measuring import Analysis, MeasuringJob, State
from clsviz.models import Weights
from clsviz.settings import Precision, Unit
from clsviz.statistics import lengths_in
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session
from clsviz.words import number

if TYPE_CHECKING:
    from clsviz.analysis import Shown
    from clsviz.encoder import Encoder

T = TypeVar("T")


_POLL_SECONDS, _PATIENCE_SECONDS = 0.5, 0.1

_MOST_SENTENCES, _MOST_IN_FULL = 20, 3


_MOST_CHARACTERS_SHOWN, _MOST_TOKENS_SHOWN = 500, 80


@dataclass(frozen=True, eq=False)
class Own:
    """Sentences of the visitor, with their tokens, their measurements, and of the view lengths and norms (n,)."""

    sentences: list[str]
    tokens: list[list[str]]
    measurements: Measurements
    unit: Unit
    lengths: NDArray[np.int32]
    norms: NDArray[np.float32]

    def points(self) -> "figures.Points":
        """As the picture marks them."""
        return figures.Points(figures.labels_of(self.sentences), self.lengths, self.norms)


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
        return jobs.try_sentences(key, lambda: work(jobs.encoders.get(weights, precision)))

    job = ask()
    if st.session_state.get(f"asked_{name}") != key:
        st.session_state[f"asked_{name}"] = key
        _wait_a_moment(job)
    if job.state is State.DONE and job.work.result is not None:
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


def box() -> None:
    """Where the visitor types."""
    st.subheader("Your own sentence")
    st.text_area(
        "Type a sentence, or several, one a line",
        value=st.session_state.text,
        key="text",
        on_change=_untick,
        height=80,
        max_chars=MAX_CHARACTERS,
        placeholder="The quick brown fox jumps over the lazy dog.",
        help="Press Ctrl+Enter, or click outside the box. What you type is not kept, and goes into the link only if "
        "you tick the box.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Measure", icon=":material/straighten:")  # to leave the box is to hand over what was typed
        st.checkbox(
            "Put it into the link",
            value=st.session_state.with_text,
            key="with_text",
            disabled=not st.session_state.text.strip(),
        )


def _untick() -> None:
    """What the visitor types in place of a link's sentences does not take over their tick."""
    if st.session_state.pop("text_of_link", ""):
        st.session_state.with_text = False


def measure(job: MeasuringJob, experiment: Experiment) -> Own | None:
    """Measure what the visitor typed; None where that is nothing, or cannot be done yet, and then says why."""
    sentences = [line.strip() for line in st.session_state.text.splitlines() if line.strip()]
    if not sentences:
        return None
    if len(sentences) > _MOST_SENTENCES:
        st.caption(f"The first {_MOST_SENTENCES} of {len(sentences):,} lines are measured.")
        sentences = sentences[:_MOST_SENTENCES]
    found = session.found(job, experiment)
    if found is None:
        st.caption("It is measured as soon as the first sentences of the corpus are.")
        return None

    def work(encoder: "Encoder") -> tuple[list[list[str]], Measurements]:
        return [encoder.tokens(sentence) for sentence in sentences], encoder.measure(sentences)

    measured = try_sentences("own", found.weights, sentences, work, found.precision)
    if measured is None:
        return None
    tokens, measurements = measured
    lengths = lengths_in(experiment.unit, sentences, measurements.n_tokens)
    norms = measurements.norms(experiment.pooling, experiment.layer)
    return Own(sentences, tokens, measurements, experiment.unit, lengths, norms)


def show(own: Own, view: "Shown") -> None:
    """What was measured, beside what the line and the corpus have for the same length."""
    if len(own.sentences) > _MOST_IN_FULL:
        _table(own, view)
        return
    for index, sentence in enumerate(own.sentences):
        length, norm = int(own.lengths[index]), float(own.norms[index])
        facts = [f"**{length:,} {own.unit.singular if length == 1 else own.unit}**", f"norm **{norm:.4f}**"]
        if view.fit:
            line = float(view.fit.predict(length))
            facts.append(f"the line says {line:.4f} for this length ({number(norm - line, sign='+')})")
        if among := statistics.percentile_at_length(length, norm, view.lengths, view.norms):
            facts.append(f"higher than {among[0]:.0f}% of the {among[1]:,} corpus sentences of about this length")
        else:
            facts.append("too few corpus sentences of about this length to compare with")
        if len(view.lengths) and length > view.lengths.max():
            facts.append(":orange[longer than any sentence in the picture, so it may lie outside]")
        if own.measurements.truncated[index]:
            facts.append(":orange[the model reads only its beginning]")
        with st.container(border=True):
            prefix = f"{index + 1}. " if len(own.sentences) > 1 else ""
            st.text(
                prefix
                + (sentence if len(sentence) <= _MOST_CHARACTERS_SHOWN else f"{sentence[:_MOST_CHARACTERS_SHOWN]}…")
            )
            st.markdown(" · ".join(facts))
            st.code(_cut(own.tokens[index]), language=None, wrap_lines=True)


def _table(own: Own, view: "Shown") -> None:

    lengths = own.lengths
    among = [
        statistics.percentile_at_length(int(length), float(norm), view.lengths, view.norms)
        for length, norm in zip(lengths, own.norms, strict=True)
    ]
    st.dataframe(
        pd.DataFrame(
            {
                "": np.arange(1, len(own.sentences) + 1),
                "Sentence": own.sentences,
                own.unit.capitalize(): lengths,
                "Norm": own.norms,
                "Norm on the line": view.fit.predict(lengths) if view.fit else np.nan,
                "Percentile of its length": [entry[0] if entry else np.nan for entry in among],
                "As the model cuts it": [_cut(tokens) for tokens in own.tokens],
            }
        ),
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("Norm", "Norm on the line")}
        | {"Percentile of its length": st.column_config.NumberColumn(format="%.0f")},
        alt="Your sentences with their tokens and norms",
    )


def _cut(tokens: list[str]) -> str:
    rest = len(tokens) - _MOST_TOKENS_SHOWN
    return "  ".join(tokens[:_MOST_TOKENS_SHOWN]) + (f"  … and {rest:,} more" if rest > 0 else "")
