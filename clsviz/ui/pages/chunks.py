"""How long may a chunk be?: how many sentences find the chunk they are in, by its length."""

from dataclasses import replace
from typing import Final

import streamlit as st

from clsviz.analyses.chunks import Containment, Plan, key_of, plan, run
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.results import chunks
from clsviz.results.chunks import ChunkTestSettings
from clsviz.numbers import counted
from clsviz.results.result import Result
from clsviz.ui import cards, chart, layout, progress, share, sidebar, work
from clsviz.ui.server import server

HEIGHT = 480

READING = (
    "Each text is cut into chunks of so many sentences, and sentences search for the chunk that "
    "contains them: the lines are the shares that come first, with bands of 95%."
)

JUDGED: Final = (
    "Right texts: the share of those right for a title that are among the first ten, by their best "
    "chunk; dotted, by texts that are not cut."
)

LABELS: Final = {
    "way": "Search by",
    "sentences": "Sentences",
    "tokens": "Tokens (median)",
    "n_chunks": "Chunks",
    "n_truncated": "Truncated",
    "recall_at_1": "Found first",
    "recall_at_10": "Among ten",
    "recall_at_1_of_200": "First of 200",
    "first_third": "First third",
    "middle_third": "Middle third",
    "last_third": "Last third",
}
"""Columns of the table."""

SHARES: Final = {
    label: st.column_config.NumberColumn(format="percent")
    for name, label in LABELS.items()
    if name.startswith("recall") or name.endswith("third")
}


def answer(job: Job[Result], planned: Plan, view: Experiment, settings: ChunkTestSettings) -> Steps:
    """Search the chunks, and answer."""
    part: Job[Containment] = Job()
    stores = machine.measurements, machine.worker, machine.results
    for _ in run(part, planned, view, settings.similarity, *stores):
        job.show(part.done, part.total, part.unit)
        yield
    assert part.result is not None  # it has taken its last step
    job.result = chunks.result(planned, part.result, view, settings)


machine = server()
searching = sidebar.search()
view = replace(searching, sample_size=chunks.DEFAULT_SENTENCES)
titles = st.session_state.get("search_titles") or ""
settings = ChunkTestSettings(titles, similarity=st.session_state.similarity or "cosine")
inputs = view, machine.root, titles, None, None, searching.sample_size
planning: Job[Plan] = progress.start(machine.fetch, ("chunks", *inputs), plan, *inputs)
reason = "The server looks for the model, and cuts the corpus into chunks."
planned = progress.require(machine.fetch, planning, "Preparing", reason, HEIGHT)
weights, cut, judged = planned.weights, planned.chunks, planned.searches
key = "chunks", *key_of(planned, view, settings.similarity), view, settings
answering: Job[Result] = progress.start(
    machine.model, key, answer, planned, view, settings, weights=weights
)
progress.wait(answering, progress.ANSWER_SECONDS)
reason = f"The server loads {weights.label}, and measures {counted(cut.n_chunks, 'chunk')} of "
reason += f"{len(cut.sizes)} sizes{work.cost(weights, cut.n_chunks, view)}"
if judged:
    reason += f"; then {counted(judged.texts.table.num_rows, 'text')}, as often cut"
result = progress.require(machine.model, answering, "Measuring", f"{reason}.", HEIGHT)

layout.head(result)
chart.show(
    work.picture(key, result),
    key="chunks",
    alt=f"{result.question} {result.verdict}",
    height=HEIGHT,
)
st.caption(READING + f" {JUDGED}" * bool(judged))
share.show(result, {"model": weights.revision, "search_corpus": cut.texts.reading.revision})
layout.caveats(result)
cards.show_table("All sizes as a table", result.table, LABELS, "Every size", SHARES)
method = f"{counted(len(cut.owners[0]))}, {len(cut.queries):,} searches, seed {view.seed}"
cards.show_method(result, weights, cut.texts, method)
