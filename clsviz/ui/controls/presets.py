"""Where a newcomer starts: an experiment that shows something at once, and the original one."""

import streamlit as st

from clsviz import corpora, models, words
from clsviz.experiment import Experiment
from clsviz.progress import Progress
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session
from clsviz.ui.state.pace import part

INSTANT = Experiment()

ORIGINAL = Experiment(
    model="bert-base-uncased",
    corpus="bookcorpus",
    sample_size=100_000,
    length_cutoff=80,
)


_POLL_SECONDS = 1.0


def show() -> None:
    """The two buttons, and what the original costs on this machine."""
    with st.container(horizontal=True):
        about = "The built-in model on Python’s docstrings. Needs no network."
        is_there = session.measured() == INSTANT.measurement_key
        is_chosen = _button("Instant", "bolt", INSTANT, about, disabled=is_there)
        is_chosen |= _button(
            "The original",
            "history_edu",
            ORIGINAL,
            f"BERT base on {ORIGINAL.sample_size:,} sentences of BookCorpus, keeping those under "
            f"{ORIGINAL.length_cutoff} tokens: the 2021 experiment. Nothing starts until you press Run.",
        )
    if is_chosen:
        st.rerun()  # the whole page, also where only the view changes
    was_known = server.jobs().estimate(ORIGINAL, now=False) is not None
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        cost = server.jobs().estimate(ORIGINAL)
        estimating = f"downloads up to {_megabytes():,} MB. Estimating how long it takes on this machine…"
        st.caption(escape(f"The original {words.cost(cost)}." if cost else f"The original {estimating}"))
        if is_in_browser and not was_known and cost:
            st.rerun()  # to stop polling; not at once, as that would break the page off
        is_in_browser = True

    part(keep_up, None if was_known else max(_POLL_SECONDS, server.every()))()


def _megabytes() -> int:
    """The most that the original downloads."""
    of_corpus = corpora.download_megabytes(ORIGINAL.corpus, ORIGINAL.sample_size)
    return models.download_megabytes(ORIGINAL.model, Progress()) + of_corpus


def _button(label: str, icon: str, experiment: Experiment, about: str, *, disabled: bool = False) -> bool:
    return st.button(
        label,
        icon=f":material/{icon}:",
        on_click=session.choose,
        args=[experiment],
        width="stretch",
        help=about,
        disabled=disabled,
    )
