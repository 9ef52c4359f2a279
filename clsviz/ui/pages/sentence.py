"""Try a sentence: its tokens, its norm among others, word by word, and the nearest sentences."""

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from clsviz import figures
from clsviz.errors import ClsvizError
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import Measured, measure, measure_texts
from clsviz.measurements import Arrays, Vectors
from clsviz.results.anatomy import EXAMPLE
from clsviz.results.norms import answer
from clsviz.results.numbers import counted, percent, seconds
from clsviz.results.result import Result
from clsviz.results.select import POOLINGS, kind_of
from clsviz.results.typed import Trace, cosine, cosines_of, nearest, trace, vector_of
from clsviz.results.typed import typed as typed_result
from clsviz.sources import corpora
from clsviz.ui import cards, chart, layout, progress, share, sidebar, typed, work
from clsviz.ui.app import PAGES
from clsviz.ui.server import server, session

HEIGHT = 400

ANSWER_SECONDS = 1.5
TRACE_SECONDS = 2.0
"""What takes longer comes with another redraw."""

LONGEST = 2000

experiment: Experiment = st.session_state.experiment
machine, kind = server(), kind_of(experiment)

prepared = work.prepared(experiment, HEIGHT)
weights, precision = prepared.weights, experiment.precision

sentences = typed.show(weights, experiment)
text = next(iter(typed.texts()), EXAMPLE)

tracing: Job[Trace] = machine.model.ask(
    ("trace", weights.fingerprint, precision, text),
    lambda job: trace(job, weights, precision, text, machine.worker, machine.results),
    session(),
    model=weights.fingerprint,
    is_urgent=True,
)
typed.leave_last("trace", tracing)
measuring: Job[Measured] = machine.model.ask(
    ("measure", kind, sidebar.measurement_of(experiment)),
    lambda job: measure(job, prepared, experiment, kind, machine.chunks, machine.worker),
    session(),
    model=weights.fingerprint,
)
measured = progress.require(
    machine.model,
    measuring,
    "Measuring",
    f"The server measures {counted(len(prepared.sample))} to compare with.",
    HEIGHT,
)
progress.wait(tracing, TRACE_SECONDS)
traced = progress.require(
    machine.model,
    tracing,
    "Measuring your sentence",
    f"The server loads {weights.label}, and measures the sentence word by word.",
    HEIGHT,
)

key = measured.key, len(measured.norms), experiment
norms: Result | None = None
if measured.is_complete:
    answering: Job[Result] = machine.analysis.ask(
        ("norms", *key),
        lambda job: answer(job, measured, experiment, machine.results),
        session(),
    )
    norms = progress.wait(answering, ANSWER_SECONDS)
try:
    norms = norms or work.points(*key, measured)
    result = typed_result(traced, norms, measured, experiment)
except ClsvizError as error:
    layout.error(error)
    st.stop()
if measured.is_complete:
    progress.follow(machine.analysis, answering, "Computing the answer", answering.result)

if text == EXAMPLE:
    st.caption("This is an example: type a sentence of your own above.")
layout.head(result)
typed.show_tokens(traced.anatomy)

own = result.table.iloc[-1]
example = {"sentence": text, "length": int(own["length"]), "norm": float(own["norm"])}
stars = replace(norms, picture={**norms.picture, "typed": sentences or [example]})
is_private = text != EXAMPLE or corpora.is_file(experiment.corpus)
left, right = st.columns(2)
with left:
    st.markdown("**Where it lies**")
    chart.show(
        figures.DRAW[norms.kind](stars).to_json(),
        key="typed-scatter",
        alt=f"{result.question} {result.verdict}",
        height=HEIGHT,
        is_private=is_private,
    )
with right:
    st.markdown("**Norm word by word**")
    chart.show(
        figures.DRAW[result.kind](result).to_json(),
        key="typed-growth",
        alt="The norm after each word, and the range of the corpus",
        height=HEIGHT,
        is_private=is_private,
    )
st.caption(
    "A blue point is a sentence of the corpus. The norm is the vector’s size. Word by word, each"
    " point is the sentence up to there."
)
share.show(result, share.revisions_of(measured), sentences)
layout.caveats(result)
labels = {name: name for name in ("text", "n_tokens", "length", "norm")}
cards.show_table("Word by word as a table", result.table, labels, "The norm after each word")

vector = f"the {POOLINGS[experiment.pooling]}".replace("[CLS]", "[CLS] vector")
cosines: NDArray[np.float64] | None = None
with st.container(border=True):
    st.markdown(f"**Nearest sentences**, by the cosine of {layout.escape(vector)}")
    n_vectors = min(experiment.probe_size, len(prepared.sample))
    duration = work.estimate(work.count_weights(weights.folder), n_vectors, precision)
    cost = f" about {seconds(duration)}" if duration else " a while"
    wanted = ("vectors", sidebar.measurement_of(experiment))
    if st.session_state.get("nearest") != wanted:
        st.caption(
            f"This takes the vectors of {counted(n_vectors)}. The first time, measuring them takes"
            f"{cost}; then they are stored."
        )
        if st.button("Measure", key="measure-vectors", icon=":material/play_arrow:"):
            st.session_state.nearest = wanted
            st.rerun()
    else:
        vectors: Job[Measured] = machine.model.ask(
            ("measure", "vectors", sidebar.measurement_of(experiment)),
            lambda job: measure(
                job, prepared, experiment, "vectors", machine.chunks, machine.worker
            ),
            session(),
            model=weights.fingerprint,
        )
        found = progress.wait(vectors, ANSWER_SECONDS)
        progress.follow(machine.model, vectors, "Measuring vectors", found)
        if found is not None:
            try:
                cosines = cosines_of(traced, found, experiment)
                table = nearest(cosines, found, experiment)
                st.dataframe(table, hide_index=True, alt="The nearest sentences of the corpus")
            except ClsvizError as error:
                layout.error(error)
            if not found.is_complete:
                st.caption(f"Among the first {counted(len(found.norms))}, so far.")

with st.container(border=True):
    st.markdown(f"**Two sentences**, by the cosine of {layout.escape(vector)}")
    second = st.text_input(
        "A second sentence, to compare with",
        key="second",
        max_chars=LONGEST,
        persist_state="session",
    )
    if second and second.strip():
        comparing: Job[Arrays] = machine.model.ask(
            ("typed", weights.fingerprint, precision, "vectors", (second,)),
            lambda job: measure_texts(
                job, weights, experiment, "vectors", [second], machine.worker
            ),
            session(),
            model=weights.fingerprint,
            is_urgent=True,
        )
        typed.leave_last("second", comparing)
        arrays = progress.wait(comparing, TRACE_SECONDS)
        progress.follow(machine.model, comparing, "Measuring the second sentence", arrays)
        if arrays is not None:
            try:
                other = Vectors.from_chunks([arrays]).of(experiment.pooling, experiment.layer)[0]
                similarity = cosine(vector_of(traced, experiment), other)
                lower = "" if cosines is None else percent(float((cosines < similarity).mean()))
                rank = f", above the cosine of the first and {lower} of the corpus" * bool(lower)
                st.markdown(f"Their cosine is **{similarity:.3f}**{rank}.")
            except ClsvizError as error:
                layout.error(error)

st.page_link(PAGES / "model.py", label="How does it do that?", icon=":material/arrow_forward:")
