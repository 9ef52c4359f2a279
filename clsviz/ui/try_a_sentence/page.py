"""The laboratory: what a model makes of the visitor's own sentences."""

import streamlit as st

from clsviz import models
from clsviz.measurements import Kind
from clsviz.measuring import State
from clsviz.ui import controls
from clsviz.ui.markdown import escape
from clsviz.ui.parts import own, share
from clsviz.ui.state import session, url, watching
from clsviz.ui.try_a_sentence import downloads as laboratory_files
from clsviz.ui.try_a_sentence import laboratory
from clsviz.ui.try_a_sentence import pairs as laboratory_pairs
from clsviz.ui.try_a_sentence import sections as laboratory_sections

PAGE = "try-a-sentence"


_POLL_SECONDS = 1.0


_NOTHING_YET = {
    State.WAITING: "Press Run in the sidebar: the model, or the corpus, has to be fetched or built first.",
    State.FAILED: "Nothing was measured. The sidebar says why.",
    State.CANCELLED: "Stopped before the model was there. Press Continue in the sidebar to go on.",
}


def page() -> None:
    """The page, drawn anew at every run."""
    url.restore(PAGE)

    laboratory.settle()

    experiment, jobs = watching.begin(PAGE, Kind.NORMS, *([Kind.VECTORS] if st.session_state.nearest else []))

    jobs = laboratory_pairs.begin(jobs)

    outlines = [controls.status.outline(job) for job in jobs]

    with st.sidebar:
        controls.sample.show(jobs[0])
        controls.status.show(jobs[0], outlines[0])
        controls.view.show(jobs[0].work.found, laboratory.POOLINGS)

    experiment = session.experiment()  # the view may have been brought back to what the model has

    every = _POLL_SECONDS if any(job.state.is_active for job in jobs) else None

    model = models.label(experiment.model)

    controls.notes.show(jobs[0])

    st.title(escape(f"What does {model} make of a sentence?"), anchor=False)

    answer_place, tools_place = st.container(), st.container(horizontal=True, horizontal_alignment="distribute")

    own.box()

    typed = laboratory.measure(jobs[0], experiment)

    if typed is None:
        if jobs[0].work.found is None:  # else the box has said what is wrong
            answer_place.markdown(_NOTHING_YET.get(jobs[0].state, "Looking for the model. It takes a moment."))
        url.write(experiment, PAGE, **laboratory.query())
        st.stop()

    found = jobs[0].work.found

    assert found is not None  # as something was measured with its weights

    at = laboratory_sections.choose_sentence(typed)

    with answer_place:
        st.fragment(laboratory_sections.answer, run_every=every)(typed, at, jobs, experiment)

    laboratory_sections.tokens(typed, at)

    st.subheader("Norm of [CLS] after every layer", anchor=False)

    st.fragment(laboratory_sections.path, run_every=every)(typed, at, jobs, experiment)

    st.subheader("Grow it, word by word", anchor=False)

    word = laboratory_sections.choose_word(typed.sentences[at])

    grown = laboratory.grow(jobs[0], experiment, typed.sentences[at], word)

    if grown is not None:
        st.fragment(laboratory_sections.growth, run_every=every)(grown, jobs, experiment)

    st.subheader("Raw [CLS] beside the pooler output", anchor=False)

    st.fragment(laboratory_sections.pooler, run_every=every)(typed, at, jobs, experiment, model)

    if len(typed.sentences) > 1:
        laboratory_pairs.pairs(typed, experiment)

    laboratory_pairs.toggle(jobs[0], experiment)

    if len(jobs) > 1:
        if jobs[1].state is not State.DONE:
            controls.status.show(jobs[1], outlines[1], name="vectors")
        st.fragment(laboratory_pairs.near, run_every=every)(typed, at, jobs[1], experiment)

    query = url.write(experiment, PAGE, **laboratory.query())

    with tools_place.container(horizontal=True, width="content"):
        share.copy_link(experiment, found, query)
        laboratory_files.downloads(typed, at, grown, jobs, experiment, found)
