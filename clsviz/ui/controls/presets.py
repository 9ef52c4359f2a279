"""Where a newcomer starts: two experiments, one that shows at once, and the original's."""

import streamlit as st

from clsviz import corpora, models, words
from clsviz.experiment import Experiment
from clsviz.progress import Progress
from clsviz.ui.markdown import escape
from clsviz.ui.state import server, session

INSTANT = Experiment()


ORIGINAL = Experiment(
    model="bert-base-uncased",
    corpus="bookcorpus",
    sample_size=100_000,
    length_cutoff=80,
)


_MEGABYTES = models.download_megabytes(ORIGINAL.model, Progress()) + corpora.download_megabytes(
    ORIGINAL.corpus, ORIGINAL.sample_size
)


_POLL_SECONDS = 2.0


def show() -> None:
    """The two buttons, and what the second costs on this machine."""
    with st.container(horizontal=True):
        _button("Instant", "bolt", INSTANT, "The built-in model on the docstrings of this Python. It needs no network.")
        _button(
            "The original",
            "history_edu",
            ORIGINAL,
            f"BERT base on {ORIGINAL.sample_size:,} sentences of BookCorpus, those of fewer than 80 tokens: the "
            "experiment of 2021. It does not start before you press Run.",
        )
    was_known = server.jobs().estimate(ORIGINAL) is not None
    is_in_browser = False

    def keep_up() -> None:
        nonlocal is_in_browser
        cost = server.jobs().estimate(ORIGINAL)
        takes = words.cost(cost) if cost else f"downloads up to {_MEGABYTES:,} MB; its time here is being found out"
        st.caption(escape(f"The original {takes}."))
        if is_in_browser and not was_known and cost:
            st.rerun()  # so that nothing is asked any more; not at once, as that would break the page off
        is_in_browser = True

    st.fragment(keep_up, run_every=None if was_known else _POLL_SECONDS)()


def _button(label: str, icon: str, experiment: Experiment, about: str) -> None:
    st.button(
        label,
        icon=f":material/{icon}:",
        on_click=session.choose,
        args=[experiment],
        width="stretch",
        help=about,
    )
