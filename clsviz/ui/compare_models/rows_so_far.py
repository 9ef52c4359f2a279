"""What is known of each compared model so far, as rows of the comparison."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import analysis
from clsviz.analysis.compare import Norms, Row
from clsviz.experiment import Experiment, View
from clsviz.measuring import Found, MeasuringJob, State
from clsviz.settings import Precision
from clsviz.ui.state import server, watching


def rows_of(
    experiment: Experiment, names: Sequence[str], norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob]
) -> list[Row]:
    """One row per model, in the order of their names."""
    experiments = [replace(experiment, model=name) for name in names]
    founds = [watching.found(job, of) for job, of in zip(norms, experiments, strict=True)]
    indices = iter(analysis.compare.common([found.measurements for found in founds if found], experiment.view))
    is_settled = not any(job.state.is_active for job in norms)  # until then, which sentences are compared may change
    labels = analysis.compare.labels(names)
    rows = []
    for label, of, job, of_vectors, found in zip(labels, experiments, norms, vectors, founds, strict=True):
        row = Row(of.model, label, problem=str(job.error or of_vectors.error or ""))
        if found is not None:
            index = next(indices)
            row = _with_norms(row, job, found, of.view, index)
            vectors_found = of_vectors.work.found
            if is_settled and of_vectors.state is State.DONE and vectors_found:
                if need_vectors(of, norms, [of_vectors]):
                    row = replace(row, is_read=False)
                else:
                    row = _with_profile(row, vectors_found, of.view, index)
        rows.append(row)
    return rows


def _with_norms(row: Row, job: MeasuringJob, found: Found, view: View, index: NDArray[np.intp]) -> Row:
    rate = job.work.sentences_per_second or _rate(found.weights.fingerprint, len(found.measurements))
    return replace(
        row,
        n_sampled=len(found.sentences),
        is_whole=not found.n_missing,
        norms=_norms(found, view, index),
        sentences_per_second=rate,
        n_parameters=found.weights.n_parameters,
    )


def _with_profile(row: Row, found: Found, view: View, index: NDArray[np.intp]) -> Row:
    """The row with the probes so far; they continue only while somebody is looking."""
    index = index[index < len(found.measurements)]
    view = view.of_all_vectors  # every layer is probed, whichever is shown
    read, of = analysis.compare.read_vectors, analysis.digest(index)
    analysed = server.analyse_as(read, found, view, lambda: read(found, view, index), of)
    is_read = not analysed.state.is_active
    return replace(row, profile=analysed.work.result, is_read=is_read, problem=str(analysed.error or row.problem))


def need_vectors(experiment: Experiment, norms: Sequence[MeasuringJob], vectors: Sequence[MeasuringJob]) -> bool:
    """Whether the next run of the page will measure vectors, as what is kept turned out not to suffice."""
    done = [job for job in vectors if job.state is State.DONE]
    return any(watching.lacks_vectors(job, lambda found: is_kept(found, experiment, norms)) for job in done)


def is_kept(found: Found, experiment: Experiment, norms: Sequence[MeasuringJob | None]) -> bool:
    """Whether the probes of a model are there without its vectors.

    norms: the jobs of all models. Until they have ended, nobody knows which sentences are compared: then perhaps.
    """
    known = [job.work.found.measurements for job in norms if job and job.work.found]
    if not known or any(job is None or job.state.is_active for job in norms):
        return True
    index = analysis.compare.common(known, experiment.view)[0]
    index = index[index < len(found.measurements)]
    of = analysis.digest(index)
    return server.is_stored(analysis.compare.read_vectors, found, experiment.view.of_all_vectors, of)


def _norms(found: Found, view: View, index: NDArray[np.intp]) -> Norms:
    key = "norms of", found.key, view, analysis.digest(index)
    return server.cache().get_or_compute(key, lambda: analysis.compare.norms_of(found, view, index, server.cache()))


@st.cache_resource(max_entries=24, show_spinner=False)
def _rate(fingerprint: str, n_measured: int) -> float | None:
    """Sentences per second when the model was last measured on this machine; looked up again when there are more."""
    return server.jobs().store.rate(fingerprint, Precision.EXACT.numbers)
