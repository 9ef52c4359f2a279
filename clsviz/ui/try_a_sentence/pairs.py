"""What the laboratory shows of several sentences: how alike they are, and which of the corpus are nearest."""

from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from clsviz import figures, models, statistics, words
from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.measurements import POOLED, Kind
from clsviz.measuring import RATE_OF_VECTORS, Found, MeasuringJob, State
from clsviz.settings import Pooling, Precision
from clsviz.ui.markdown import escape
from clsviz.ui.parts.chart import palette
from clsviz.ui.state import server, watching
from clsviz.ui.try_a_sentence.laboratory import Typed
from clsviz.ui.try_a_sentence.sections import quoted

_TRAINED_ON_MEANS = ("minilm", "all-mpnet-base-v2")
"""Of the catalogue: models of sentence-transformers, whose vector of a sentence is the mean after the last layer."""


_LEAST_COLOURED = 0.3


_TYPICAL_OF = 2_000
"""Sentences, the first of the corpus's, of which pairs are said to be typical."""


_NEAREST = 10


_FEW = 5
"""Sentences in whose cells four digits have room."""


_STILL = {"displayModeBar": False}


_MEANS = "Mean cosine similarity of all pairs, by vector and layer"


_WARNING = (
    "Read these with care: the [CLS] and mean vectors of a BERT as it comes were not trained to be compared by cosine, "
    "and by its author’s word are not meant to be. They all point in about the same direction, so that most pairs look "
    "alike, whatever the sentences say. Models of sentence-transformers are trained for it, each on its own pooling: "
    "the mean after the last layer, for MiniLM-L6 and MPNet."
)


_TRAINED = "This is the vector that the model was trained to have compared by cosine: the mean after its last layer."


def similarity_table(typed: Typed, experiment: Experiment) -> pd.DataFrame:
    """The cosine similarity of every pair of sentences: first and second (numbers from 1), their texts, similarity."""
    matrix = statistics.similarities(typed.vectors.of(experiment.pooling, experiment.layer))
    n = len(typed.sentences)
    first, second = np.divmod(np.arange(n * n), n)
    return pd.DataFrame(
        {
            "first": first + 1,
            "second": second + 1,
            "first_sentence": [typed.sentences[index] for index in first.tolist()],
            "second_sentence": [typed.sentences[index] for index in second.tolist()],
            "similarity": matrix.ravel(),
        }
    )


def pairs(typed: Typed, experiment: Experiment) -> None:
    """How alike at least 2 sentences are: for the view's vector each pair, on average for every pooling and layer."""
    st.subheader("How alike are they?", anchor=False)
    matrix = statistics.similarities(typed.vectors.of(experiment.pooling, experiment.layer))
    n = len(typed.sentences)
    st.markdown(escape(_pairs_said(matrix, typed.sentences, experiment)))
    if is_trained(experiment):
        st.info(_TRAINED)
    else:
        st.warning(_WARNING)
    left, right = st.columns(2)
    with left:
        st.markdown(f"**Every pair**, {escape(_of(experiment))}")
        least = min(_LEAST_COLOURED, float(np.nanmin(matrix, initial=1)))
        digits = 4 if n <= _FEW and np.nanmin(matrix, initial=1) > 0.99 else 2
        figure = figures.similarity(matrix, typed.sentences, palette(), zmin=least, value_format=f".{digits}f")
        st.plotly_chart(figure, key="similarity", config=_STILL, alt=f"Cosine similarity of {n} sentences, every pair")
    with right:
        st.markdown("**All pairs on average**, by vector and layer")
        means = statistics.mean_similarities(typed.vectors)
        rows, columns = [words.POOLINGS[pooling].short for pooling in POOLED], list(map(str, range(means.shape[1])))
        least = min(_LEAST_COLOURED, float(np.nanmin(means, initial=1)))
        figure = figures.heat_map(means, rows, columns, palette(), marked=_place(typed, experiment), zmin=least)
        st.plotly_chart(figure, key="mean_similarity", config=_STILL, alt=_MEANS)
        st.caption("The frame is what the sidebar’s view shows: choose another vector or layer there.")


def _place(typed: Typed, experiment: Experiment) -> tuple[int, int] | None:
    """Row and column of the view's vector among the means."""
    if experiment.pooling not in POOLED:
        return None
    return POOLED.index(experiment.pooling), typed.vectors.n_layers if experiment.layer is None else experiment.layer


def _of(experiment: Experiment) -> str:
    name = words.vector_name(experiment.view)
    return f"by {name.replace('its ', '' if experiment.pooling is Pooling.CLS else 'the ', 1)}"


def is_trained(experiment: Experiment) -> bool:
    """Whether the view's vector is known to be one that was trained to be compared by cosine."""
    name = models.Name.parse(experiment.model)
    return (
        name.base in _TRAINED_ON_MEANS
        and not name.untrained
        and experiment.pooling is Pooling.MEAN
        and experiment.layer is None
    )


def _pairs_said(matrix: NDArray[np.float64], sentences: list[str], experiment: Experiment) -> str:
    upper = np.where(np.triu(np.ones(matrix.shape, bool), 1), matrix, np.nan)
    zero = [index + 1 for index in range(len(matrix)) if np.isnan(matrix[index, index])]
    no_direction = (
        f" The vector of sentence {', '.join(map(str, zero))} is zero, so it has no direction." if zero else ""
    )
    if not np.isfinite(upper).any():
        return f"No two of these vectors can be compared.{no_direction}"
    if len(sentences) == 2:
        return f"The cosine similarity of the two is {upper[0, 1]:.3f}.{no_direction}"
    highest, lowest = (np.unravel_index(at, upper.shape) for at in (np.nanargmax(upper), np.nanargmin(upper)))
    digits = 3 if upper[highest] - upper[lowest] >= 0.001 else 6
    return (
        f"Most alike are {highest[0] + 1} and {highest[1] + 1} (cosine similarity {upper[highest]:.{digits}f}), least "
        f"{lowest[0] + 1} and {lowest[1] + 1} ({upper[lowest]:.{digits}f}).{no_direction}"
    )


def nearest_table(typed: Typed, at: int, found: Found, experiment: Experiment) -> pd.DataFrame:
    """The corpus's sentences nearest to one, as of `laboratory.nearest`, among those whose vectors are measured."""
    vector = typed.vectors.of(experiment.pooling, experiment.layer)[at]
    return statistics.nearest(vector, found.vectors.of(experiment.pooling, experiment.layer), found.sentences, _NEAREST)


def toggle(job: MeasuringJob, experiment: Experiment) -> None:
    """Whether the corpus's vectors are wanted, with what they cost."""
    st.subheader("Which sentences of the corpus are nearest?", anchor=False)
    st.toggle("Nearest sentences of the corpus", value=st.session_state.nearest, key="nearest", on_change=_want)
    if not st.session_state.nearest:
        st.caption(escape(_cost(job, experiment)))


def _want() -> None:
    """Who turns it on has read what it costs; who opens a link to it has not, and presses Run where it is much."""
    st.session_state.nearest_wanted = st.session_state.nearest


def begin(jobs: list[MeasuringJob]) -> list[MeasuringJob]:
    """The jobs, with that for vectors started if the visitor has just asked for it."""
    if len(jobs) > 1 and st.session_state.pop("nearest_wanted", False):
        return [jobs[0], watching.start(jobs[1])]
    return jobs


def _cost(job: MeasuringJob, experiment: Experiment) -> str:
    n = min(experiment.sample_size, experiment.probe_size)
    said = f"For that the whole vectors of the first {n:,} sentences of the sample are measured, once"
    found = job.work.found
    if found is None:
        return said + "."
    of, store = (found.weights.fingerprint, Precision.EXACT.numbers), server.jobs().store
    norms_rate = store.rate(*of)
    rate = store.rate(*of, Kind.VECTORS) or (norms_rate and norms_rate * RATE_OF_VECTORS)
    return said + (f", which takes about {words.duration(n / rate)} unless they are there." if rate else ".")


def near(typed: Typed, at: int, job: MeasuringJob, experiment: Experiment) -> None:
    """The nearest of the corpus, as far as its vectors are measured."""
    found = watching.found(job, experiment)
    if found is None:
        if job.state is State.WAITING:
            st.caption("Press Run to measure the corpus’s vectors.")
        elif job.state.is_active:
            st.caption("The first appear as soon as some of the corpus’s vectors are measured.")
        return
    try:
        table, typical = _kept_nearest(typed, at, found, experiment)
    except SettingError as error:
        st.info(escape(error))
        return
    said = f"Nearest to {quoted(typed.sentences[at])} {_of(experiment)}, of {len(found.measurements):,} sentences."
    if np.isfinite(typical):
        said += f" For comparison: two random ones of the corpus have a similarity of {typical:.3f} on average."
    st.markdown(escape(said))
    st.dataframe(
        table.rename(columns={"sentence": "Sentence", "similarity": "Similarity", "times": "Times"}),
        hide_index=True,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Similarity": st.column_config.NumberColumn(format="%.4f", width="small"),
            "Times": st.column_config.NumberColumn(
                width="small", help="How many times the corpus has this very sentence, among those compared."
            ),
        },
        alt="The sentences of the corpus whose vectors are nearest",
    )


def _kept_nearest(typed: Typed, at: int, found: Found, experiment: Experiment) -> tuple[pd.DataFrame, float]:
    """As `nearest_table`, and how alike two of the corpus are on average, without reading its vectors again."""
    of = (found.weights.fingerprint, found.corpus.fingerprint, experiment, typed.sentences[at], len(found.measurements))
    kept: tuple[Hashable, tuple[pd.DataFrame, float]] | None = st.session_state.get("laboratory_nearest")
    if kept is None or kept[0] != of:
        table = nearest_table(typed, at, found, experiment)
        first = found.vectors.head(_TYPICAL_OF).of(experiment.pooling, experiment.layer)
        kept = of, (table, statistics.typical_similarity(first))
        st.session_state.laboratory_nearest = kept
    return kept[1]
