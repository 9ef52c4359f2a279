"""Page: what a model makes of the visitor's own sentences."""

import pandas as pd
import streamlit as st

from clsviz import words
from clsviz.analysis.typed import EXAMPLE, TypedSentences
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Found, MeasuringJob, State
from clsviz.ui import controls
from clsviz.ui.parts import head, own, preview, share, strip
from clsviz.ui.state import server, session, url, watching
from clsviz.ui.state.pace import part
from clsviz.ui.try_a_sentence import choices, downloads, growth, layers, measured, nearest, picture, pooler, tokens

PAGE = "try-a-sentence"


_NOTHING_YET = {
    State.WAITING: "Press Run. The model or the corpus has to be downloaded or built first.",
    State.FAILED: "Nothing was measured; the error says why.",
    State.CANCELLED: "Stopped before the model was ready. Press Continue to resume.",
}

_NOT_YET = "Nothing is known of this sentence yet."


def page() -> None:
    """Draw the page; called on every run."""
    url.restore(PAGE)
    choices.reset_for_new_text()
    experiment, jobs = watching.begin(PAGE, Kind.NORMS, *([Kind.VECTORS] if st.session_state.nearest else []))
    jobs = nearest.start_if_wanted(jobs)
    outlines = [controls.status.outline(job) for job in jobs]
    with st.sidebar:
        controls.sample.show(jobs[0], outlines[0])
    controls.view.fit(jobs[0].work.found, choices.POOLINGS)
    experiment = session.experiment()  # the view may have been brought back to what the model has
    controls.status.show_on_a_phone(jobs[0], outlines[0])
    controls.notes.show(jobs[0])
    controls.notes.show_of_view()
    preview.show(jobs[0])
    question = words.question_of_sentence(experiment)
    if words.is_imported(experiment):
        head.show(question, words.imported.NO_SENTENCE)
        url.write(experiment, PAGE, **choices.query())
        return
    # A height makes them there while they are empty; the style says which.
    answer_place = st.container(key="head_place", height=1, border=False)
    picture_place = st.container(key="picture_place", height=1, border=False)
    own.one_or_several()
    measuring_place = st.container()
    with strip.place(3):
        strip.show_view(jobs[0].work.found, choices.POOLINGS)
    tools_place = st.container(key="tools", height=40, border=False, horizontal=True, horizontal_alignment="right")
    every = _every(jobs)
    sentences = own.typed()
    found = jobs[0].work.found
    typed, at = None, 0
    if found is not None:
        with measuring_place:  # where it says that it is being measured, or why it cannot be
            typed = measured.typed_sentences(found, experiment.view, sentences or [EXAMPLE])
    with answer_place:
        if found is None:
            head.show(question, _nothing_yet(jobs[0]), terms=words.glossary.TRY_A_SENTENCE)
        elif typed is None:
            head.show(question, _NOT_YET, terms=words.glossary.TRY_A_SENTENCE)
        else:
            at = choices.sentence_of(len(typed.sentences))
            part(_answer, every)(question, typed, at, jobs, experiment, is_example=not sentences)
    with picture_place:
        part(picture.show, every)(typed, jobs, experiment)
    if found is None or typed is None:
        url.write(experiment, PAGE, **choices.query())
        return
    grown = _below(typed, at, jobs, outlines, experiment, found)
    query = url.write(experiment, PAGE, **choices.query())
    with tools_place.container(horizontal=True, width="content"):
        share.copy_link(experiment, found, query)
        downloads.show(typed, at, grown, jobs, experiment, found)


def _below(
    typed: TypedSentences,
    at: int,
    jobs: list[MeasuringJob],
    outlines: list[tuple[bool, bool, bool]],
    experiment: Experiment,
    found: Found,
) -> pd.DataFrame | None:
    """What stands below the controls; returns the table of the sentence as it grows, None while there is none."""
    every = _every(jobs)
    choices.choose_sentence(typed.sentences)
    tokens.show(typed, at)
    st.subheader("Norm of [CLS] after every layer", anchor=False)
    part(layers.show, every)(typed, at, jobs, experiment)
    grown = growth.show(found, typed.sentences[at], jobs, experiment, every)
    st.subheader("Raw [CLS] and the pooler output", anchor=False)
    part(pooler.show, every)(typed, at, jobs, experiment)
    nearest.toggle(jobs[0], experiment)
    if len(jobs) > 1:
        if jobs[1].state is not State.DONE:
            controls.status.show(jobs[1], outlines[1], name="vectors")
        part(nearest.show, every)(typed, at, jobs[1], experiment)
    return grown


def _nothing_yet(job: MeasuringJob) -> str:
    """Why nothing is known of the model."""
    place = server.jobs().place_of(job)
    if place and place.n_ahead:
        return f"{words.waiting.in_queue(place)}. Then the model is loaded."
    return _NOTHING_YET.get(job.state, "Looking for the model; this takes a moment.")


def _every(jobs: list[MeasuringJob]) -> float | None:
    """How often what depends on the corpus is redrawn, in seconds."""
    return server.every() if any(job.state.is_active for job in jobs) else None


def _answer(
    question: str, typed: TypedSentences, at: int, jobs: list[MeasuringJob], experiment: Experiment, *, is_example: bool
) -> None:
    """What was measured of one sentence, and how it compares with the corpus."""
    corpus = measured.corpus_context(jobs, experiment)
    said = words.try_a_sentence.answer(typed, at, corpus, experiment.view)
    about = words.try_a_sentence.EXAMPLE if is_example else ""
    head.show(question, said, about, terms=words.glossary.TRY_A_SENTENCE)
