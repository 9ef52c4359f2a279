"""What is measured for this page: the visitor's sentences, the same as they grow, and the corpus beside them."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from clsviz import analysis
from clsviz.analysis import CorpusContext
from clsviz.analysis.typed import TypedSentences
from clsviz.experiment import Experiment, View
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Lengths, Pooling
from clsviz.ui.parts import own
from clsviz.ui.state import server, watching


def typed_sentences(found: Found, view: View, sentences: list[str]) -> TypedSentences | None:
    """The measured sentences; None, with the reason shown here, while they are not there.

    While another sentence is measured, the last one by the same model is shown: nothing need flicker as one types.
    """
    typed = own.try_sentences(
        "typed", found.weights, sentences, lambda encoder: analysis.typed.measure(encoder, sentences)
    )
    last: tuple[str, TypedSentences] | None = st.session_state.get("typed_last")
    if typed is not None:
        st.session_state.typed_last = found.weights.fingerprint, typed
    elif last is not None and last[0] == found.weights.fingerprint and own.is_measuring("typed"):
        typed = last[1]
    if typed is None or not typed.has(view):  # then the controls are about to follow the model
        return None
    return typed


def growth(found: Found, experiment: Experiment, sentence: str, word: str) -> pd.DataFrame | None:
    """The norms while the sentence grows, as in `analysis.typed.with_norms`; None, with the reason shown here."""
    texts = analysis.typed.growth_texts(sentence, seed=experiment.seed, word=word)
    prefixes = texts["text"].tolist()
    vectors = own.try_sentences(
        "growth", found.weights, prefixes, lambda encoder: analysis.typed.measure_norms(encoder, prefixes)
    )
    return None if vectors is None else analysis.typed.with_norms(texts, vectors, experiment.view)


def corpus_context(jobs: list[MeasuringJob], experiment: Experiment) -> CorpusContext | None:
    """The corpus as far as the jobs, for norms and possibly vectors, have measured it; None while there is nothing.

    Lengths are always the sentences' own: shuffling is a control for R², which this page does not show.
    """
    experiment = replace(experiment, lengths=Lengths.TRUE)
    needed = Pooling.POOLER if experiment.pooling is Pooling.POOLER else Pooling.CLS
    found = watching.found(jobs[0], replace(experiment, pooling=needed))
    if found is None:
        return None
    vectors = watching.found(jobs[1], experiment) if len(jobs) > 1 else None
    key = "corpus context", found.key, vectors and vectors.key, experiment.view
    return server.cache().get_or_compute(key, lambda: analysis.corpus_context(found, vectors, experiment.view))
