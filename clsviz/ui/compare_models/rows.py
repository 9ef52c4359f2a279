"""What is known of the compared models: what to call them, and a row of each as it is measured."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis, models
from clsviz.experiment import Experiment
from clsviz.measuring import Found, Job, State
from clsviz.settings import Precision
from clsviz.ui.state import session

if TYPE_CHECKING:
    from clsviz.analysis.comparison import Norms, Row


def labels(names: Sequence[str]) -> list[str]:
    """What to call the models in a text, no two of them alike."""
    short = [models.label(name) for name in names]
    counts = Counter(short)
    return [label if counts[label] == 1 else name for label, name in zip(short, names, strict=True)]


def rows_of(
    experiment: Experiment, names: Sequence[str], norms: Sequence[Job], vectors: Sequence[Job]
) -> "list[analysis.comparison.Row]":
    """What is known of every model so far."""
    asked = [replace(experiment, model=name) for name in names]
    founds = [session.found(job, of) for job, of in zip(norms, asked, strict=True)]
    indices = iter(analysis.comparison.common([found.measurements for found in founds if found], experiment))
    is_settled = not any(job.state.is_active for job in norms)  # else which sentences are compared may change
    rows = []
    for label, of, job, of_vectors, found in zip(labels(names), asked, norms, vectors, founds, strict=True):
        row = analysis.comparison.Row(of.model, label, problem=str(job.error or of_vectors.error or ""))
        if found is not None:
            index = next(indices)
            row = _with_norms(row, job, found, of, index)
            if is_settled and of_vectors.state is State.DONE and of_vectors.extraction.found:
                row = _with_profile(row, of_vectors.extraction.found, of, index)
        rows.append(row)
    return rows


def _with_norms(row: "Row", job: Job, found: Found, experiment: Experiment, index: NDArray[np.intp]) -> "Row":
    key = (*_key(found, experiment, index), len(found.measurements), experiment.layer, experiment.pooling)
    rate = job.extraction.sentences_per_second or _rate(found.weights.fingerprint, len(found.measurements))
    return replace(
        row,
        n_sampled=len(found.sentences),
        is_whole=not found.n_missing,
        norms=_norms(key, found, experiment, index),
        sentences_per_second=rate,
        n_parameters=found.weights.n_parameters,
    )


def _with_profile(row: "Row", found: Found, experiment: Experiment, index: NDArray[np.intp]) -> "Row":
    """The row with what is read of the vectors so far; that goes on for as long as somebody looks on."""
    index = index[index < len(found.measurements)]
    key = ("compare", *_key(found, experiment, index), len(found.sentences))  # every layer is read, whichever is shown
    task = session.tasks().open(key, lambda: analysis.comparison.read_vectors(found, experiment, index))
    return replace(row, profile=task.result, is_read=task.is_done, problem=str(task.error or row.problem))


def _key(found: Found, experiment: Experiment, index: NDArray[np.intp]) -> tuple[object, ...]:
    """What the norms and the vectors of the sentences of `index` have in common, with their lengths."""
    of = (found.weights.fingerprint, found.corpus.fingerprint, experiment.seed)
    return (*of, experiment.unit, experiment.lengths, hashlib.sha256(index.tobytes()).hexdigest())


@st.cache_resource(max_entries=24, show_spinner=False)
def _norms(key: tuple[object, ...], _found: Found, _experiment: Experiment, _index: NDArray[np.intp]) -> "Norms":

    return analysis.comparison.norms_of(_found, _experiment, _index)


@st.cache_resource(max_entries=24, show_spinner=False)
def _rate(fingerprint: str, n_measured: int) -> float | None:
    """Sentences per second at which the model was last measured here, looked up whenever there are more."""
    return session.jobs().store.rate(fingerprint, Precision.EXACT.numbers)
