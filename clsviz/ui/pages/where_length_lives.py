"""Where length lives: the errors of probes by layer, and what checks say about them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import measure
from clsviz.sources.prepared import Measured, Prepared
from clsviz.numbers import counted
from clsviz.results.probes import (
    PENDING,
    SEEDS,
    ControlProbes,
    ProbeScores,
    check,
    find,
    findings,
    read,
)
from clsviz.results.probes import probes as probes_result
from clsviz.sources.models import UNTRAINED
from clsviz.ui import cards, chart, layout, progress, share, sidebar, work
from clsviz.ui.server import server

HEIGHT = 440

READING = (
    "A probe predicts the length of sentences that it has not seen from their vectors: the lower, "
    "the better length can be read. R² is the share of the differences between lengths that it "
    "accounts for. A click on a point takes its layer."
)

LABELS = {
    "vector": "Vector",
    "layer": "Layer",
    "probe_error": "Probe misses by",
    "probe_r_squared": "R² of the probe",
    "probe_r_squared_low": "R² from",
    "probe_r_squared_high": "R² to",
    "norm_error": "Norm misses by",
    "norm_r_squared": "R² of the norm",
    "random_low": "Random weights from",
    "random_high": "Random weights to",
}
"""Columns of the table."""

Numbers = tuple[ProbeScores, ControlProbes]


def fit(job: Job[Numbers], prepared: Prepared, view: Experiment) -> Steps:
    """Fit probes to vectors in the store."""
    part: Job[Measured] = Job()
    yield from measure(part, prepared, view, "vectors", machine.measurements, machine.worker)
    assert part.result is not None  # it has taken its last step
    yield from read(job, part.result, view, machine.results)


def read_random(job: Job[list[ProbeScores]], random: Sequence[Prepared], view: Experiment) -> Steps:
    """Measure with random weights of every seed, and fit probes."""
    scores: list[ProbeScores] = []
    for prepared in random:
        n = min(len(prepared.sample), view.probe_size)
        done, total = len(scores) * n, len(random) * n
        job.model = prepared.weights.fingerprint
        stored = find(prepared, view, machine.results)
        if stored is None:
            storing: Job[bool] = Job()
            for _ in work.store_vectors(storing, prepared, view, machine):
                job.show(done + storing.done, total, "sentences")
                yield
            fitting: Job[Numbers] = Job()
            for _ in fit(fitting, prepared, view):
                job.show(done + n, total, "sentences")
                yield
            stored = fitting.result
        assert stored is not None  # it has taken its last step
        scores.append(stored[0])
    job.result = scores


experiment: Experiment = st.session_state.experiment
machine = server()
prepared = work.prepared(experiment, HEIGHT)
weights, corpus = prepared.weights, prepared.sample.corpus
n_vectors = min(len(prepared.sample), experiment.probe_size)
sources = weights.fingerprint, corpus.fingerprint

with layout.showing_errors(stops=True):
    check(experiment)
    numbers = find(prepared, experiment, machine.results)
if numbers is None or numbers[1] is PENDING:
    key = "vectors", *sources, sidebar.measurement_of(experiment)
    inputs = prepared, experiment, machine
    queue, what = machine.model, "Measuring"
    job = progress.start(queue, key, work.store_vectors, *inputs, weights=weights)
    reason = f"The server loads {weights.label}, and measures the vectors of "
    reason += f"{counted(n_vectors)}{work.cost(weights, n_vectors, experiment)}."
    if progress.wait(job):
        queue, what, reason = machine.analysis, "Fitting probes", "The server fits probes."
        job = progress.start(queue, ("probes", *sources, experiment), fit, prepared, experiment)
        fitted: Numbers | None = progress.wait(job)
        progress.follow(queue, job, what, fitted)
        numbers = fitted or numbers
    else:
        progress.follow(queue, job, what, None)
    if numbers is None:
        progress.stop(queue, job, reason, HEIGHT)

name = UNTRAINED + experiment.model.removeprefix(UNTRAINED)
preparing: Job[list[Prepared]] = progress.start(
    machine.fetch,
    ("random", *sources, sidebar.source_of(experiment)),
    work.prepare_others,
    prepared,
    [(name, seed) for seed in SEEDS],
)
untrained = progress.wait(preparing) or []
view = replace(experiment, layer=None, pooling="cls")
stored = list(filter(None, (find(one, view, machine.results) for one in untrained)))
random = [scores for scores, _ in stored] if len(stored) == len(SEEDS) else []
is_measured = st.session_state.get("random") == (sources, view)
if not random and untrained and is_measured:
    reading: Job[list[ProbeScores]] = progress.start(
        machine.model, ("random", *sources, view), read_random, untrained, view
    )
    random = progress.wait(reading, 0) or []
    progress.follow(machine.model, reading, "Measuring random weights", reading.result)

result = probes_result(prepared, numbers, experiment, random)
cards.show_reading(corpus, experiment)
layout.head(result)
names = zip(result.table["layer"], result.table["vector"], strict=True)
chart.show(
    work.picture((*sources, experiment, numbers[1] is PENDING, bool(random)), result),
    key="probes",
    alt=f"{result.question} {result.verdict}",
    height=HEIGHT,
    table="-".join(sources),
    on_pick=partial(
        sidebar.take_layer,
        [str(layer) if vector == "cls" else vector for layer, vector in names],
    ),
)
st.caption(READING)
share.show(result, share.revisions_of(prepared))
layout.caveats(result)
for title, text in findings(result):
    with st.expander(layout.escape(title)):
        st.markdown(layout.escape(text))
if not random:
    with st.expander("Would random weights do as well?"):
        n = len(SEEDS) * n_vectors
        st.markdown(
            f"The same architecture, before any training. Measuring {counted(n)}, with random "
            f"weights of {len(SEEDS)} seeds, adds a band to the picture"
            f"{work.cost(weights, n, experiment)}; then it is stored."
        )
        icon = ":material/play_arrow:"
        if st.button("Measure", key="measure-random", icon=icon, disabled=is_measured):
            st.session_state.random = sources, view
            st.rerun()
cards.show_table("All vectors as a table", result.table, LABELS, "The errors of every vector")
method = f"the first {counted(n_vectors)} drawn, seed {experiment.seed}"
cards.show_method(result, weights, corpus, method)
