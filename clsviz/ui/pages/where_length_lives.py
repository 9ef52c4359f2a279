"""Where length lives: the errors of probes by layer, and what checks say about them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared, measure
from clsviz.results.numbers import counted
from clsviz.results.probes import SEEDS, UNCHECKED, Checks, Readings, check, find, findings, read
from clsviz.results.probes import probes as probes_result
from clsviz.sources import models
from clsviz.ui import cards, chart, layout, progress, share, sidebar, work
from clsviz.ui.app import PAGES
from clsviz.ui.server import server, session

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

Numbers = tuple[Readings, Checks]


def fit(job: Job[Numbers], prepared: Prepared, view: Experiment) -> Steps:
    """Fit probes to vectors in the store."""
    part: Job[Measured] = Job()
    yield from measure(part, prepared, view, "vectors", machine.chunks, machine.worker)
    assert part.result is not None  # it has taken its last step
    yield from read(job, part.result, view, machine.results)


def prepare_random(job: Job[list[Prepared]], prepared: Prepared, model: str) -> Steps:
    """Prepare the same architecture with random weights of every seed."""
    name = models.UNTRAINED + model.removeprefix(models.UNTRAINED)
    yield
    job.result = [replace(prepared, weights=models.find(name, seed, job.show)) for seed in SEEDS]


def read_random(job: Job[list[Readings]], random: Sequence[Prepared], view: Experiment) -> Steps:
    """Measure with random weights of every seed, and fit probes."""
    readings = []
    for number, prepared in enumerate(random):
        n = min(len(prepared.sample), view.probe_size)
        job.model = prepared.weights.fingerprint
        stored = find(prepared, view, machine.results)
        if stored is None:
            storing: Job[bool] = Job()
            for _ in work.store_vectors(storing, prepared, view, machine):
                job.show(number * n + storing.done, len(random) * n, "sentences")
                yield
            fitting: Job[Numbers] = Job()
            for _ in fit(fitting, prepared, view):
                job.show(number * n + n, len(random) * n, "sentences")
                yield
            stored = fitting.result
        assert stored is not None  # it has taken its last step
        readings.append(stored[0])
    job.result = readings


experiment: Experiment = st.session_state.experiment
machine = server()
prepared = work.prepared(experiment, HEIGHT)
weights, corpus = prepared.weights, prepared.sample.corpus
n_vectors = min(len(prepared.sample), experiment.probe_size)
sources = weights.fingerprint, corpus.fingerprint

try:
    check(experiment)
    numbers = find(prepared, experiment, machine.results)
except SettingError as error:
    layout.error(error)
    st.stop()
if numbers is None or numbers[1] is UNCHECKED:
    storing: Job[bool] = machine.model.ask(
        ("vectors", *sources, sidebar.measurement_of(experiment)),
        lambda job: work.store_vectors(job, prepared, experiment, machine),
        session(),
        model=weights.fingerprint,
    )
    if progress.wait(storing, progress.PATIENCE_SECONDS):
        fitting: Job[Numbers] = machine.analysis.ask(
            ("probes", *sources, experiment),
            lambda job: fit(job, prepared, experiment),
            session(),
        )
        fitted = progress.wait(fitting, progress.PATIENCE_SECONDS)
        progress.follow(machine.analysis, fitting, "Fitting probes", fitted)
        numbers = fitted or numbers
        if numbers is None:
            progress.stop(machine.analysis, fitting, "The server fits probes.", HEIGHT)
    else:
        progress.follow(machine.model, storing, "Measuring", None)
        if numbers is None:
            reason = f"The server loads {weights.label}, and measures the vectors of "
            reason += f"{counted(n_vectors)}{work.cost(weights, n_vectors, experiment)}."
            progress.stop(machine.model, storing, reason, HEIGHT)

preparing: Job[list[Prepared]] = machine.fetch.ask(
    ("random", *sources, sidebar.source_of(experiment)),
    lambda job: prepare_random(job, prepared, experiment.model),
    session(),
)
untrained = progress.wait(preparing, progress.PATIENCE_SECONDS) or []
view = replace(experiment, layer=None, pooling="cls")
stored = list(filter(None, (find(one, view, machine.results) for one in untrained)))
random = [readings for readings, _ in stored] if len(stored) == len(SEEDS) else []
if not random and untrained and st.session_state.get("random") == (sources, view):
    reading: Job[list[Readings]] = machine.model.ask(
        ("random", *sources, view),
        lambda job: read_random(job, untrained, view),
        session(),
    )
    random = progress.wait(reading, 0) or []
    progress.follow(machine.model, reading, "Measuring random weights", reading.result)

result = probes_result(prepared, numbers, experiment, random)
cards.show_reading(corpus, experiment)
layout.head(result)
chart.show(
    work.picture((*sources, experiment, numbers[1] is UNCHECKED, bool(random)), result),
    key="probes",
    alt=f"{result.question} {result.verdict}",
    height=HEIGHT,
    table="-".join(sources),
    on_pick=partial(
        sidebar.take_layer,
        [
            str(layer) if vector == "cls" else vector
            for layer, vector in zip(result.table["layer"], result.table["vector"], strict=True)
        ],
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
        if st.button(
            "Measure",
            key="measure-random",
            icon=":material/play_arrow:",
            disabled=st.session_state.get("random") == (sources, view),
        ):
            st.session_state.random = sources, view
            st.rerun()
cards.show_table("All vectors as a table", result.table, LABELS, "The errors of every vector")
sample = f"the first {counted(n_vectors)} drawn, seed {experiment.seed}"
cards.show_method(result, weights, corpus, sample)
st.page_link(PAGES / "search.py", label="Does it matter?", icon=":material/arrow_forward:")
