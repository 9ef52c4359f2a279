"""Does length bend my search?: how often texts of every length are found, and what helps."""

from dataclasses import replace
from typing import Final

import streamlit as st

from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Prepared
from clsviz.jobs.search import Plan, Rankings, key_of, plan, run
from clsviz.results.numbers import counted
from clsviz.results.result import Result
from clsviz.results.search import Search, fix_table, fix_title, misled, misled_title
from clsviz.results.search import result as search_result
from clsviz.sources import corpora
from clsviz.sources.searches import Searches
from clsviz.ui import cards, chart, layout, progress, share, sidebar, work
from clsviz.ui.app import PAGES
from clsviz.ui.server import server, session

HEIGHT = 520

ANSWER_SECONDS = 2.0
"""An answer that takes longer lets the page wait."""

READING = (
    "Exposure is how often texts of a fifth are among the first ten, over how often they are "
    "right: 1 is a fair share, and the band is close to it. Recall is the share of right texts "
    "among the first ten."
)

TASKS: Final = {
    "titles": "Each title searches for its text.",
    "halves": "The first half of each text searches for the second.",
    "cloze": "A sentence searches for the sentences around it.",
}

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
    """Measure texts and queries into the store."""
    for sample in planned.searches.samples:
        all_of_it = replace(view, probe_size=len(sample))
        yield from work.store_vectors(job, Prepared(planned.weights, sample), all_of_it, machine)
    job.result = True


def answer(job: Job[Result], planned: Plan, view: Experiment, search: Search) -> Steps:
    """Rank texts by vectors in the store, and answer."""
    weights, searches = planned.weights, planned.searches
    ranking: Job[Rankings] = Job()
    stores = machine.chunks, machine.worker, machine.results
    yield from run(ranking, searches, weights, view, search.length_power, *stores)
    assert ranking.result is not None  # it has taken its last step
    job.result = search_result(searches, ranking.result, view, search, weights)


def choose_columns(corpus: str) -> None:
    """Take the columns that were chosen, for this corpus alone."""
    state = st.session_state
    state[f"columns-{corpus}"] = state.search_column or "", state.search_titles or ""


def forget_columns(corpus: str) -> None:
    """Take the likeliest columns again."""
    st.session_state.pop(f"columns-{corpus}")


def show_reading(searches: Searches, corpus: str) -> None:
    """How a file of one's own was read; other columns are a click away."""
    reading = searches.texts.reading
    if not corpora.is_file(corpus) or st.session_state.get("dismissed") == corpus:
        return
    with st.container(border=True):
        st.markdown(f"**How {layout.escape(searches.texts.label)} are searched**")
        names = list(
            dict.fromkeys([*filter(None, [reading.column, searches.titles]), *reading.columns])
        )
        if len(names) > 1:
            first, second = st.columns(2)
            for column, label, key, name in (
                (first, "Column that searches", "search_titles", searches.titles),
                (second, "Column that is searched", "search_column", reading.column),
            ):
                column.selectbox(
                    label,
                    names,
                    names.index(name) if name else None,
                    key=key,
                    placeholder="none: halves of texts search",
                    on_change=choose_columns,
                    args=(corpus,),
                )
        n = range(min(cards.N_FIRST, len(searches.right)))
        texts = searches.texts.table["sentence"]
        pairs = {
            "Query": [searches.queries.table["sentence"][place].as_py() for place in n],
            "Right text": [texts[int(searches.right[place][0])].as_py() for place in n],
        }
        st.dataframe(pairs, hide_index=True, height=180, alt="The first searches of the file")
        if st.button("Dismiss", icon=":material/close:"):
            st.session_state.dismissed = corpus
            st.rerun()


machine = server()
view = sidebar.search()
column, titles = st.session_state.get(f"columns-{view.corpus}", ("", ""))
view = replace(view, column=column)
search = Search(titles=titles, similarity=st.session_state.similarity)

planning: Job[Plan] = machine.fetch.ask(
    ("searches", view, titles),
    lambda job: plan(job, view, machine.root, titles),
    session(),
)
if planning.error and (column or titles):
    st.button("Take the likeliest columns", on_click=forget_columns, args=(view.corpus,))
reason = "The server looks for the model, and makes searches of the corpus."
planned = progress.require(machine.fetch, planning, "Preparing", reason, HEIGHT)
weights, searches = planned.weights, planned.searches
n_texts, n_searches = searches.texts.table.num_rows, len(searches.right)
show_reading(searches, view.corpus)

key = key_of(searches, weights.fingerprint, view, search.length_power)
if machine.results.find(key, Rankings) is None:
    storing: Job[bool] = machine.model.ask(
        ("vectors", *key),
        lambda job: store(job, planned, view),
        session(),
        model=weights.fingerprint,
    )
    cost = work.cost(weights, n_texts + n_searches, view)
    reason = f"The server loads {weights.label}, and measures {counted(n_texts, 'text')} and "
    reason += f"{n_searches:,} queries{cost}."
    progress.require(machine.model, storing, "Measuring", reason, HEIGHT)
answering: Job[Result] = machine.analysis.ask(
    ("search", key, search),
    lambda job: answer(job, planned, view, search),
    session(),
)
progress.wait(answering, ANSWER_SECONDS)
reason = f"The server ranks {counted(n_texts, 'text')} by every way to search."
result = progress.require(machine.analysis, answering, "Searching", reason, HEIGHT)

layout.head(result)
chart.show(
    work.picture((key, search), result),
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
            table, hide_index=True, alt="The searches that length misled most", column_config=WIDTHS
        )
cards.show_table("All searches as a table", result.table, LABELS, "Every search", WIDTHS)
sample = f"{counted(n_texts, 'text')}, {n_searches:,} queries, seed {view.seed}"
cards.show_method(result, weights, searches.texts, sample)
st.page_link(
    PAGES / "compare.py", label="Is another model better?", icon=":material/arrow_forward:"
)
