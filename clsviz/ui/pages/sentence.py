"""Try a sentence: its tokens, its norm among others, word by word, and the nearest sentences."""

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import figures
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job
from clsviz.measurements import Vectors
from clsviz.results.anatomy import EXAMPLE
from clsviz.numbers import counted, percent
from clsviz.results.select import POOLINGS
from clsviz.results.typed import Trace, cosine, cosines_of, nearest, trace, vector_of
from clsviz.results.typed import typed as typed_result
from clsviz.sources import corpora
from clsviz.ui import cards, chart, layout, progress, share, sidebar, typed, work
from clsviz.ui.server import server

HEIGHT = 400

experiment: Experiment = st.session_state.experiment
machine = server()
prepared = work.prepared(experiment, HEIGHT)
weights, precision = prepared.weights, experiment.precision

sentences = typed.show(weights, experiment)
text = next(iter(typed.texts()), EXAMPLE)
inputs = weights, precision, text, machine.worker, machine.results
tracing: Job[Trace] = progress.start_now("trace", (precision, text), weights, trace, *inputs)
reason = f"The server measures {counted(len(prepared.sample))} to compare with"
measured = work.measured(prepared, experiment, reason, HEIGHT)
progress.wait(tracing, progress.ANSWER_SECONDS)
reason = f"The server loads {weights.label}, and measures the sentence word by word."
traced = progress.require(machine.model, tracing, "Measuring your sentence", reason, HEIGHT)
norms = work.answered(measured, experiment)
with layout.showing_errors(stops=True):
    result = typed_result(traced, norms, measured, experiment)

if text == EXAMPLE:
    st.caption("This is an example: type a sentence of your own above.")
layout.head(result)
typed.show_tokens(traced.anatomy)
typed.show_measured(sentences[1:], norms)

own = result.table.iloc[-1]
example = {"sentence": text, "length": int(own["length"]), "norm": float(own["norm"])}
stars = replace(norms, picture={**norms.picture, "typed": sentences or [example]})
look: dict[str, Any] = {
    "height": HEIGHT,
    "is_private": text != EXAMPLE or corpora.is_file(experiment.corpus),
}
places = st.columns(2)
with places[0]:
    st.markdown("**Where it lies**")
    figure = figures.DRAW[norms.kind](stars).to_json()
    chart.show(figure, key="typed-scatter", alt=f"{result.question} {result.verdict}", **look)
with places[1]:
    st.markdown("**Norm word by word**")
    figure = figures.DRAW[result.kind](result).to_json()
    alt = "The norm after each word, and the range of the corpus"
    chart.show(figure, key="typed-growth", alt=alt, **look)
st.caption(
    "A blue point is a sentence of the corpus. The norm is the vector’s size. Word by word, each"
    " point is the sentence up to there."
)
share.show(result, share.revisions_of(measured), sentences)
layout.caveats(result)
columns = ["text", "n_tokens", "length", "norm"]
cards.show_table("Word by word as a table", result.table, columns, "The norm after each word")

vector = f"the {POOLINGS[experiment.pooling]}".replace("[CLS]", "[CLS] vector")
cosines: NDArray[np.float64] | None = None
with st.container(border=True):
    st.markdown(f"**Nearest sentences**, by the cosine of {layout.escape(vector)}")
    n_vectors = min(experiment.probe_size, len(prepared.sample))
    question = sidebar.measurement_of(experiment)
    if st.session_state.get("nearest") != question:
        cost = work.cost(weights, n_vectors, experiment)
        st.caption(
            f"This takes the vectors of {counted(n_vectors)}. The first time, measuring them takes "
            f"a while{cost}; then they are stored."
        )
        if st.button("Measure", key="measure-vectors", icon=":material/play_arrow:"):
            st.session_state.nearest = question
            st.rerun()
    else:
        storing = work.measuring(prepared, experiment, "vectors")
        stored = progress.wait(storing, progress.ANSWER_SECONDS)
        progress.follow(machine.model, storing, "Measuring vectors", stored)
        if stored is not None:
            with layout.showing_errors():
                cosines = cosines_of(traced, stored, experiment)
                table = nearest(cosines, stored, experiment)
                st.dataframe(table, hide_index=True, alt="The nearest sentences of the corpus")
            if not stored.is_complete:
                st.caption(f"Among the first {counted(len(stored.norms))}, so far.")

with st.container(border=True):
    st.markdown(f"**Two sentences**, by the cosine of {layout.escape(vector)}")
    second = st.text_input(
        "A second sentence, to compare with",
        key="second",
        max_chars=typed.LONGEST,
        persist_state="session",
    )
    if second and second.strip():
        arrays = typed.measure("second", weights, experiment, [second], "vectors")
        if arrays is not None:
            with layout.showing_errors():
                other = Vectors.from_slices([arrays]).of(experiment.pooling, experiment.layer)[0]
                similarity = cosine(vector_of(traced, experiment), other)
                lower = "" if cosines is None else percent(float((cosines < similarity).mean()))
                rank = f", above the cosine of the first and {lower} of the corpus" * bool(lower)
                st.markdown(f"Their cosine is **{similarity:.3f}**{rank}.")
