"""A file of the visitor's own as it is read, before anything is measured."""

import os
from typing import TYPE_CHECKING

import streamlit as st

from clsviz import figures, words
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.jobs import Found, MeasuringJob, State
from clsviz.settings import ALL, Reading, Segmentation
from clsviz.sources import catalogue, files, local_files
from clsviz.sources.local_files import Preview
from clsviz.sources.segmentation import LONG_TEXT
from clsviz.ui import view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import assist, plot
from clsviz.ui.state import server, session, watching

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_EXAMPLE = 140

_HEIGHT = 190


def show(job: MeasuringJob) -> None:
    """At the top of a page, how the corpus is read, if it is a file that was just chosen and is not measured yet.

    job: one that measures it.
    """
    with st.container():
        if _comes_first(job):
            _show(job)
            assist.bring_into_view(["preview"], st.session_state.corpus)


def explain(job: MeasuringJob) -> None:
    """Below everything else, how the corpus was read, if it is a file."""
    corpus = job.work.corpus
    name = st.session_state.corpus
    if corpus is None or _comes_first(job) or corpus.selection.corpus != name or not catalogue.is_own(name):
        return
    with st.expander(f"How **{escape(corpus.label)}** is read: {words.reading.counted(corpus)}"):
        st.markdown(escape(words.reading.how(corpus)))
        with st.container(horizontal=True, gap="medium"):
            _controls(is_plain=corpus.selection.reading is not Reading.AUTO)


def offer_other_cut(found: Found) -> None:
    """A button that has the corpus’s texts cut the other way, beside how they were cut."""
    other = None if found.weights.imported else words.reading.other_cut(found.corpus)
    if other is None:
        return
    segmentation, label = other

    def choose() -> None:
        st.session_state.segmentation = segmentation
        if catalogue.is_own(st.session_state.corpus):
            session.hold()

    st.button(label, icon=":material/content_cut:", key="other_cut", on_click=choose)


def _comes_first(job: MeasuringJob) -> bool:
    return (
        session.is_held()
        and catalogue.is_own(st.session_state.corpus)
        and job.state in (State.LOOKING, State.WAITING, State.FAILED)
    )


def _show(job: MeasuringJob) -> None:
    selection = session.experiment().selection
    folder = server.jobs().store.corpora
    try:
        state = _state(selection, folder)
    except CorpusError:  # it is not there, as the sidebar says
        return
    try:
        preview = _preview(selection, state, folder)
    except CorpusError as error:  # another way of reading may help
        with st.container(border=True, key="preview"):
            st.markdown(escape(error))
            _, name = local_files.place_of(selection, folder)
            _controls(is_plain=files.is_plain_text(name))
        return
    title = f"How **{escape(preview.corpus.label)}** is read: {words.reading.counted(preview, job.work.corpus)}"
    with st.expander(title, expanded=True, key="preview"):
        st.markdown(escape(words.reading.how(preview.corpus)))
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            _controls(is_plain=preview.corpus.selection.reading is not Reading.AUTO)
            if job.state is not State.FAILED:  # or else the error has a button beside it
                cost = f" · about {words.duration(job.cost.seconds)}" if job.cost else ""
                n, n_sampled = words.reading.n_known(preview, job.work.corpus), job.work.experiment.sample_size
                label = f"Measure {n_sampled:,} of them{cost}" if n > n_sampled != ALL else f"Measure{cost}"
                icon = ":material/play_arrow:"
                st.button(label, icon=icon, type="primary", key="measure", on_click=_measure, args=[job])
        _examples(preview)


def _measure(job: MeasuringJob) -> None:
    watching.start(job)  # a callback gives nothing back


def _examples(preview: Preview) -> None:
    sentences, lengths = st.columns([3, 2], gap="medium")
    with sentences:
        examples = [
            example if len(example) <= _LONGEST_EXAMPLE else f"{example[:_LONGEST_EXAMPLE]}…"
            for example in preview.examples()
        ]
        st.caption("\n".join(f"- {escape(example)}" for example in examples))
    with lengths:
        n_words = preview.n_words
        plot.show(
            figures.histogram(n_words, "Words in a sentence", figures.Palette()),
            height=_HEIGHT,
            key="preview-lengths",
            alt=words.reading.lengths(preview),
        )


def _controls(*, is_plain: bool) -> None:
    """How it could be read otherwise; is_plain: whether the file is plain text."""
    if is_plain:
        view.choice(
            "How the file is read",
            "reading",
            Reading,
            words.reading.READINGS.__getitem__,
            on_change=session.hold,
            help="Books in plain text have their lines wrapped at some width: these are joined into paragraphs. "
            "Other files have one text on each line.",
        )
    view.choice(
        "Cut into sentences",
        "segmentation",
        Segmentation,
        words.reading.SEGMENTATIONS.__getitem__,
        on_change=session.hold,
        help="Cut texts into sentences, with rules for English. Auto does so with wrapped paragraphs, and with "
        f"texts that average more than {LONG_TEXT} characters.",
    )


def _state(selection: Selection, folder: "Path") -> tuple[int, int]:
    """Size and time of the file, which change when it does; raises CorpusError if there is none."""
    file, name = local_files.place_of(selection, folder)
    files.check(file, name)
    status = os.stat(file)
    return status.st_size, status.st_mtime_ns


@st.cache_resource(max_entries=8, show_spinner="Reading the beginning of the file…")
def _preview(selection: Selection, state: tuple[int, int], _folder: "Path") -> Preview:
    return local_files.preview(selection, _folder)
