"""Does length bend my search?: how often texts of every length are found, and what helps."""

from typing import Final

import streamlit as st

from clsviz.analyses.search import Plan, Rankings, index, key_of, plan, run
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.numbers import counted
from clsviz.results.result import Result
from clsviz.results.search import Search, fix_table, fix_title, misled, misled_title
from clsviz.results.search import result as search_result
from clsviz.sources.searches import Searches
from clsviz.ui import cards, chart, layout, progress, share, sidebar, work
from clsviz.ui.server import server

HEIGHT = 520

READING = (
    "Exposure is how often texts of a fifth are among the first ten, over how often they are "
    "right: 1 is a fair share, and the band is close to it. Recall is the share of right texts "
    "among the first ten; that of an advised fix is tested on the half of the searches that did "
    "not choose it."
)

TASKS: Final = {
    "titles": "Each title searches for its text.",
    "halves": "The first half of each text searches for the second.",
    "cloze": "A sentence searches for the sentences around it.",
}

COLUMNS: Final = ("search_titles", "search_column")
"""Settings of the columns of a table."""

LABELS: Final = {
    "query": "Query",
    "right": "Right text",
    "right_tokens": "Tokens",
    "first": "First found",
    "first_tokens": "Tokens found",
    "mean_tokens": "Tokens of ten",
    "right_rank": "Right at",
}
"""Columns of the tables."""

WIDTHS: Final = {
    label: st.column_config.TextColumn(width=190)
    if name in ("query", "right", "first")
    else st.column_config.NumberColumn(width=95, format="%.0f")
    for name, label in LABELS.items()
}
"""Texts are cut, so that their lengths stand next to them."""


def store(job: Job[bool], planned: Plan, view: Experiment) -> Steps:
    """Measure texts and queries into the store, from where the answer reads them."""
    stores = machine.measurements, machine.worker
    yield from index(job, planned.searches, planned.weights, view, *stores)
    job.result = True


def answer(job: Job[Result], planned: Plan, view: Experiment, search: Search) -> Steps:
    """Rank texts by vectors in the store, and answer."""
    weights, searches = planned.weights, planned.searches
    ranking: Job[Rankings] = Job()
    stores = machine.measurements, machine.worker, machine.results
    yield from run(ranking, searches, weights, view, search.length_power, *stores)
    assert ranking.result is not None  # it has taken its last step
    job.result = search_result(searches, ranking.result, view, search, weights)


def choose_columns() -> None:
    """Take the columns that were chosen, or the likeliest where none were."""
    for name in COLUMNS:
        sidebar.change(name, st.session_state.get(f"read-{name}") or "")


def show_reading(searches: Searches, corpus: str) -> None:
    """Draw how a file of one's own was read; other columns are a click away."""
    reading, titles = searches.texts.reading, searches.titles
    names = list(dict.fromkeys(filter(None, [reading.column, titles, *reading.columns])))
    with st.container(border=True):
        st.markdown(f"**How {layout.escape(searches.texts.label)} are searched**")
        for place, label, key, name in zip(
            st.columns(2) if len(names) > 1 else (),
            ("Column that searches", "Column that is searched"),
            COLUMNS,
            (titles, reading.column),
            strict=False,
        ):
            place.selectbox(
                label,
                names,
                names.index(name) if name else None,
                key=f"read-{key}",
                placeholder="none: halves of texts search",
                on_change=choose_columns,
            )
        texts, queries = (some.table["sentence"] for some in (searches.texts, searches.queries))
        n = min(cards.N_FIRST, len(searches.relevant))
        pairs = {
            "Query": queries[:n].to_pylist(),
            "Right text": [texts[int(relevant[0])].as_py() for relevant in searches.relevant[:n]],
        }
        cards.show_first(pairs, "The first searches of the file", corpus)


machine = server()
view = sidebar.search()
titles = st.session_state.get("search_titles") or ""
search = Search(titles=titles, similarity=st.session_state.similarity or "cosine")

question = "searches", view, titles
planning: Job[Plan] = progress.start(machine.fetch, question, plan, view, machine.root, titles)
if planning.error and (view.column or titles):
    st.button("Take the likeliest columns", on_click=choose_columns)
reason = "The server looks for the model, and makes searches of the corpus."
planned = progress.require(machine.fetch, planning, "Preparing", reason, HEIGHT)
weights, searches = planned.weights, planned.searches
n_texts, n_searches = searches.texts.table.num_rows, len(searches.relevant)
if cards.is_new_file(view.corpus):
    show_reading(searches, view.corpus)

key = key_of(searches, weights.fingerprint, view, search.length_power)
if machine.results.find(key, Rankings) is None:
    storing: Job[bool] = progress.start(
        machine.model, ("vectors", *key), store, planned, view, weights=weights
    )
    reason = f"The server loads {weights.label}, and measures {counted(n_texts, 'text')} and "
    reason += f"{n_searches:,} queries{work.cost(weights, n_texts + n_searches, view)}."
    progress.require(machine.model, storing, "Measuring", reason, HEIGHT)
answer_key = "search", key, search, view  # its command names the file, which may be a visitor's
answering: Job[Result] = progress.start(machine.analysis, answer_key, answer, planned, view, search)
progress.wait(answering, progress.ANSWER_SECONDS)
reason = f"The server ranks {counted(n_texts, 'text')} by every way to search."
result = progress.require(machine.analysis, answering, "Searching", reason, HEIGHT)

layout.head(result)
chart.show(
    work.picture(answer_key, result),
    key="search-fifths",
    alt=f"{result.question} {result.verdict}",
    height=HEIGHT,
)
st.caption(f"{TASKS.get(searches.task, '')} {READING}")
share.show(result, {"model": weights.revision, "search_corpus": searches.texts.reading.revision})
layout.caveats(result)
with st.expander(layout.escape(fix_title(result)), key="fixes", on_change="rerun") as box:
    if box.open:
        st.dataframe(fix_table(result), hide_index=True, alt="Recall and exposure with every fix")
        if correction := result.details["correction"]:
            coefficients = correction["coefficients"].items()
            numbers = ", ".join(f"{name} = {x:.4g}" for name, x in coefficients)
            st.code(f"{correction['formula']}\n{numbers}".strip(), language=None, wrap_lines=True)
rows = misled(result)
with st.expander(layout.escape(misled_title(rows)), key="misled", on_change="rerun") as box:
    if box.open and not rows.empty:
        table = rows[list(LABELS)].rename(columns=LABELS)
        st.dataframe(
            table, hide_index=True, alt="Searches, and what each found first", column_config=WIDTHS
        )
cards.show_table("All searches as a table", result.table, LABELS, "Every search", WIDTHS)
method = f"{counted(n_texts, 'text')}, {n_searches:,} queries, seed {view.seed}"
cards.show_method(result, weights, searches.texts, method)
