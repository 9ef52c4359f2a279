"""The page “Does length bend my search?”: searches whose right texts are known, by fifths of the texts' lengths."""

import json
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from clsviz import export, figures, words
from clsviz.analysis.search_test import TESTED, Correction, Example, Neighbours, SearchTest
from clsviz.errors import CorpusError, SettingError, UnsearchableError
from clsviz.experiment import Experiment
from clsviz.figures import static
from clsviz.jobs import Analysis, Found, State
from clsviz.settings import SEARCH_DEFAULTS, Pooling, SimilarityFunction
from clsviz.sources import catalogue, models, tables
from clsviz.sources.local_files import place_of
from clsviz.ui import search_jobs, sidebar, status, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import layout, plot, redrawn, share
from clsviz.ui.search_jobs import Asked, SearchJobs
from clsviz.ui.state import server, session, url, visitor, watching

PAGE = "length-and-search"

_POOLINGS = (*TESTED, Pooling.MAX)

_PATIENCE_SECONDS, _POLL_SECONDS = 0.7, 0.5

_ABOUT_SIMILARITIES = (
    "Cosine compares directions. The dot product is of vectors as they are pooled, so larger vectors are found more "
    "often."
)

_SIMILARITIES = {SimilarityFunction.COSINE: "Cosine", SimilarityFunction.DOT: "Dot"}

_HEIGHT_OF_MAP, _ROW = 470, 35

_MARKED = "background-color: rgba(212, 160, 23, 0.2)"
"""Of the right text, in both themes."""


def page() -> None:
    """Draw the page; its picture is of one test as a whole, or stays as it was until there is one."""
    url.restore(PAGE)
    visitor.check(session.experiment())
    watching.watch()
    before = _ask()
    server.wait_while(lambda: before.asked.state.is_active, _PATIENCE_SECONDS)  # what is stored is there in a moment
    asked = before.asked.work.result
    if asked and asked.found:
        view.fit(asked.found, _POOLINGS)
    now = _ask()  # of the layer and the vector that there are
    with st.sidebar:
        sidebar.show_model(now.error)
        corpus = replace(asked.corpus, columns=_columns()) if asked and not now.asked.state.is_active else None
        of_corpus = None if isinstance(now.error, UnsearchableError) else now.error  # which the headline is
        sidebar.show_corpus(of_corpus, corpus, is_failed=now.asked.state is State.FAILED)
        _show_searches(asked)
        _show_status("")
    with st.container():
        if not now.is_done:
            with st.container(key="phone"):
                _show_status("-phone")
    sidebar.show_notes_of_view()

    def chosen() -> object:
        return session.measured(), session.experiment().view, _of_searches()

    redrawn.show(_show, chosen, lambda: _ask().is_active, lambda: _ask().news())


def _of_searches() -> tuple[str, str]:
    """The column of titles and the file of searches, each "" if none is chosen."""
    return st.session_state.titles, st.session_state.searches


def _ask() -> SearchJobs:
    """The jobs of what the controls ask for."""
    return search_jobs.ask(session.experiment(), *_of_searches())


def _show_status(name: str) -> None:
    """How far the test is, with the button that starts or stops it; it keeps itself up to date."""

    def draw() -> None:
        with st.container(key=f"status{name}"):
            jobs = _ask()
            job: Analysis[Any] = jobs.test or jobs.asked
            asked = jobs.asked.work.result
            if job.state is State.QUEUED and jobs.test:
                st.progress(0.0, words.waiting.in_queue(server.jobs().n_ahead(job)))
            elif job.state.is_active:
                left = (
                    f" · {words.duration(job.seconds_left)} left" if job.seconds_left is not None and job.rate else ""
                )
                text = (
                    f"{job.stage} {job.done:,} of {job.total:,}{left}" if job.total else f"{job.stage or 'Starting'}…"
                )
                st.progress(min(1.0, job.done / job.total) if job.total else 0.0, escape(text))
            if jobs.test and job.state.is_active:
                if st.button("Cancel", icon=":material/stop_circle:", key=f"cancel{name}", width="stretch"):
                    jobs.stop()
                    st.rerun()
            elif job.state is State.DONE and jobs.test and asked:
                st.caption(f":material/check: {asked.n_searches:,} searches among {asked.n_texts:,} texts tested")
            elif isinstance(jobs.error, UnsearchableError | SettingError):  # the headline says why, and what to do
                return
            elif (not job.state.is_active and asked) or jobs.error:
                _measure_button(jobs, f"run{name}", width="stretch")
            status.show_error(jobs.error, *status.OF_THE_RUN)

    before = _ask()
    redrawn.follow(draw, lambda: _ask().news(), before.news(), _POLL_SECONDS if before.is_active else None)


def _measure_button(jobs: SearchJobs, key: str, width: Literal["content", "stretch"] = "content") -> None:
    """Starts the test, or starts it again after an error."""
    asked = jobs.asked.work.result
    cost = f" · about {words.duration(asked.cost.seconds)}" if asked and asked.cost.seconds and not jobs.error else ""
    label = f"Measure{cost}"
    if st.button(label, icon=":material/play_arrow:", type="primary", key=key, width=width, on_click=jobs.start):
        st.rerun()  # the whole page


def _columns() -> tuple[str, ...]:
    """The columns of a file of one's own that hold text."""
    selection, folder = session.experiment().selection, server.jobs().store.corpora
    if not catalogue.is_own(selection.corpus):
        return ()
    try:
        return tables.open_table(*place_of(selection, folder), reading=selection.reading).columns
    except CorpusError:  # as its job says
        return ()


def _show_searches(asked: Asked | None) -> None:
    """Where the searches come from: a column of titles, or a file with right texts."""
    state, columns = st.session_state, _columns()
    if catalogue.is_own(state.corpus) and (len(columns) > 1 or state.titles):
        detect = f"Detect ({asked.titles})" if asked and asked.titles and not state.titles else "Detect"
        view.select(
            "Titles",
            "titles",
            ["", *columns],
            lambda column: column or detect,
            help="The column whose titles search for their texts. Without one, halves of texts search for each other.",
        )

    def take(name: str) -> None:
        state.searches = name

    def draw() -> None:
        about = "A table of query and text, or of query and ids, separated by spaces, of the corpus’s column id."
        is_taken = sidebar.uploader("Searches with right texts", "searches_upload", take, about)
        if is_taken and state.searches:
            st.button("Use no file of searches", on_click=state.update, args=[{"searches": ""}], width="stretch")

    layout.box("Use your own searches", "own_searches", draw, height=234, chosen=_of_searches)


def _show() -> None:
    """The answer, the picture with its controls, what to do, and the cards."""
    state, now = st.session_state, _ask()
    experiment, similarity = session.experiment(), state.similarity
    titles, judged = _of_searches()
    extras = {"similarity": "" if similarity is SimilarityFunction.COSINE else similarity.value}
    extras |= {"titles": titles, "searches": judged}
    query = url.write(experiment, PAGE, **extras)
    asked, test = now.asked.work.result, now.result
    if test is not None:
        state.search_seen = test
    caveat = ""
    if test and asked and asked.found and similarity is not SimilarityFunction.COSINE:
        caveat = words.search.normalizes(test, asked.found.weights.label)
    terms = words.glossary.of_page(words.glossary.LENGTH_AND_SEARCH, experiment)
    layout.head(words.search.QUESTION, *_answer(now, asked, test, similarity), caveat, terms=terms)
    error = now.asked.error
    if isinstance(error, UnsearchableError | CorpusError) and experiment.corpus != SEARCH_DEFAULTS["corpus"]:
        go, to = sidebar.choose_corpus, [SEARCH_DEFAULTS["corpus"]]
        st.button(words.search.OFFER, type="primary", on_click=go, args=to, icon=":material/search:")
    with st.container(key="advice"):
        if test is not None:
            advice = words.search.what_to_do(test, similarity)
            st.markdown(f":material/arrow_forward: **{escape(advice)}**")
        elif asked and now.test is None and not now.error:
            _measure_button(now, "measure")
        elif asked:
            st.markdown(escape(words.search.titles_of(asked.task, asked.titles)))
    before = state.get("search_seen")
    instead = "" if test else words.waiting.SETTINGS_BEFORE if before else words.search.EXAMPLE
    with st.container(key="dimmed" if instead else "undimmed"):
        if (seen := test or before or search_jobs.opening()) is None:
            st.container(height=figures.SEARCH_HEIGHT, border=True)
        else:
            lines = figures.by_fifth(words.search.lines(seen, similarity))
            plot.show(
                figures.exposure_by_fifth(lines, words.search.spans(seen), figures.Palette()),
                key="exposure",
                alt=f"Exposure and recall by fifths of the texts’ lengths. {words.search.verdict(seen, similarity)}",
                height=figures.SEARCH_HEIGHT,
            )
            st.caption(escape(instead or words.search.ABOUT_EXPOSURE))
    with view.strip(3):
        view.choice(
            "Compared by", "similarity", SimilarityFunction, _SIMILARITIES.__getitem__, help=_ABOUT_SIMILARITIES
        )
        view.layer(asked.found if asked else None)
        view.choice("Vector", "pooling", _POOLINGS, lambda pooling: words.POOLINGS[pooling].short)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        with st.container(width="content"):
            sidebar.own_text("search_upload", words.search.OWN_TEXT)
        if test is not None and asked is not None and asked.found is not None:
            with st.container(horizontal=True, horizontal_alignment="right", width="content"):
                share.copy_link(experiment, asked.found, query)
                _downloads(experiment, asked.found, test, similarity)
    if test is None or asked is None or asked.found is None:
        return
    _show_cards(test, similarity)
    extras["similarity"] = similarity.value if similarity is SimilarityFunction.DOT else ""
    extras["searches"] = "FILE" if judged else ""

    def how(found: Found = asked.found, titles: str = asked.titles) -> None:
        share.facts(words.search.settings(test, found, titles))
        share.command(words.search.command(experiment, found, extras))
        made_by = words.search.command(*words.shareable(experiment, found), extras)
        share.cite(experiment, found, query, "search", made_by)

    share.explain(words.search.HOW_TO_READ, how)


def _answer(
    now: SearchJobs, asked: Asked | None, test: SearchTest | None, similarity: SimilarityFunction
) -> tuple[str, str]:
    """The headline and the quiet line: a verdict once all of it is computed, and until then what is going on."""
    if test is not None:
        return words.search.verdict(test, similarity), words.search.quiet_line(test, similarity)
    if now.error is not None:
        return words.search.cannot_tell(str(now.error)), ""
    if asked is None or now.asked.state.is_active:
        return "Reading the texts…", ""
    if now.test is not None and now.test.state.is_active:
        label = models.label(st.session_state.model)
        return words.search.measuring(f"{asked.n_texts:,} texts with {label}"), ""
    cost = asked.cost
    of = asked.task, asked.n_searches, asked.n_texts
    return words.search.ready(*of, cost.seconds, cost.megabytes), ""


def _downloads(experiment: Experiment, found: Found, test: SearchTest, similarity: SimilarityFunction) -> None:
    name, of = f"{share.file_name(experiment, found)}-search", test.consequences[similarity]

    def image(kind: str) -> bytes:
        drawn = static.Exposures(figures.by_fifth(words.search.lines(test, similarity)), words.search.spans(test))
        question, verdict = words.search.QUESTION, words.search.verdict(test, similarity)
        return static.image(drawn, question, verdict, words.sharing.SITE, kind=kind)

    def draw() -> None:
        share.picture_downloads(name, image)
        share.download("Picture (PDF)", partial(image, "pdf"), f"{name}.pdf")
        share.table_downloads(
            "Table", name, lambda: export.search.table(test, similarity), lambda: share.about(experiment, found)
        )
        if of.correction is not None:
            text = _as_json(of.correction).encode()
            share.download("Correction (JSON)", lambda: text, f"{name}-correction.json")

    share.menu(draw, 4)


def _as_json(correction: Correction) -> str:
    """A correction for a program to read."""
    of = {"fix": correction.fix, "formula": correction.formula, "coefficients": dict(correction.coefficients)}
    return json.dumps(of, indent=2, ensure_ascii=False)


def _show_cards(test: SearchTest, similarity: SimilarityFunction) -> None:
    """What else is known: each with its finding as its title."""
    of, search = test.consequences[similarity], words.search

    def show_correction(correction: Correction) -> None:
        if cost := search.cost(test, similarity, correction.fix):
            st.markdown(cost)
        st.code(correction.formula, language=None, wrap_lines=True)
        st.code(search.python_lines(correction), language="python")
        if correction.coefficients:
            st.code(_as_json(correction), language="json")

    def show_rankings() -> None:
        rankings = [*test.rankings.values(), test.bm25]
        names = [*(search.ranker(one.pooling, one.similarity) for one in test.rankings), search.BM25]
        more = {"nDCG": [ranking.ndcg_at_10 for ranking in rankings]}
        _show_table("Ranking", names, rankings, more, "Every vector and similarity", "rankings_table")
        st.caption(search.ABOUT_RANKINGS)

    def show_fixes() -> None:
        fixes = sorted(of.fixes.items(), key=lambda one: -one[1].ranking.recall_at_10)
        names, results = [search.FIXES[fix] for fix, _ in fixes], [result for _, result in fixes]
        intervals = [f"{100 * low:+.1f} to {100 * high:+.1f}" for low, high in (result.interval for result in results)]
        more: dict[str, list[Any]] = {
            "Change": [100 * result.difference for result in results],
            "Interval": [interval.replace("-", "−") for interval in intervals],
        }
        rankings = [result.ranking for result in results]
        _show_table("Fix", names, rankings, more, "Every fix that was tried", "fixes_table")
        st.caption(search.ABOUT_FIXES)

    def show_threshold() -> None:
        shares = [100 * share for share in of.threshold.shares]
        table = pd.DataFrame({"Tokens of the text": search.spans(test), "Pass": shares})
        bars = st.column_config.ProgressColumn(format="%.1f%%", min_value=0, max_value=max(2.0, *shares), width="large")
        st.dataframe(
            table, hide_index=True, column_config={"Pass": bars}, alt="Unrelated pairs that pass", key="threshold_table"
        )
        st.caption(search.ABOUT_THRESHOLD)

    def show_neighbours(neighbours: Neighbours) -> None:
        spans = [words.similarity.span(ends) for ends in neighbours.spans]
        figure = figures.length_map(np.array(neighbours.cosines), spans, figures.Palette())
        alt = "Mean cosine of two texts by the tenths that their lengths are in."
        plot.show(figure, key="map", alt=alt, height=_HEIGHT_OF_MAP)
        st.caption(escape(search.ABOUT_NEIGHBOURS))
        st.markdown(escape(search.times_found(neighbours)))

    if of.correction is not None:
        layout.box(search.apply(of.correction), "correction", partial(show_correction, of.correction))
    st.subheader(search.MISSED, anchor=False)
    st.caption(search.ABOUT_MISSED if of.examples else search.NONE_MISSED)
    st.session_state.setdefault("example_0", True)  # open at first
    for number, example in enumerate(of.examples[:5]):
        label = search.example(example)
        layout.box(label, f"example_{number}", partial(_show_example, example, number))
    st.subheader("What else is known", anchor=False)
    layout.box(search.rankings(test), "rankings", show_rankings)
    layout.box(search.fixes(of), "fixes", show_fixes)
    layout.box(search.threshold(of.threshold), "threshold", show_threshold)
    if test.neighbours is not None:
        layout.box(search.neighbours(test.neighbours), "neighbours", partial(show_neighbours, test.neighbours))


def _show_example(example: Example, number: int) -> None:
    """The ten that were found and the right one, their lengths as bars; a table’s cells are text, whatever it is."""
    st.markdown(f"**Query:** {escape(example.query)}")
    texts = [*example.found, example.right]
    ranks = [*map(str, range(1, len(example.found) + 1)), f"{example.right_rank:,} (right)"]
    rows = pd.DataFrame(
        {"Rank": ranks, "Tokens": [text.n_tokens for text in texts], "Text": [text.text for text in texts]}
    )
    longest = int(rows["Tokens"].max())
    st.dataframe(
        rows.style.apply(lambda row: [_MARKED if row.name == len(rows) - 1 else ""] * len(row), axis=1),
        hide_index=True,
        height=_ROW * (len(rows) + 1) + 3,
        column_config={
            "Rank": st.column_config.TextColumn(width=75),
            "Tokens": st.column_config.ProgressColumn(format="%d", min_value=0, max_value=longest, width=130),
            "Text": st.column_config.TextColumn(width=600),
        },
        key=f"example_table_{number}",
        alt=f"Search {number + 1}: the ten texts that were found, and the right one, with their lengths",
    )


def _show_table(
    title: str, names: list[str], rankings: list[Any], more: dict[str, list[Any]], alt: str, key: str
) -> None:
    """Rankings: how many right texts each finds, what more is known of it, and what each fifth of the texts gets."""
    recall = {"Recall": [100 * ranking.recall_at_10 for ranking in rankings]}
    exposures = {
        name.capitalize(): [ranking.exposure[place] for ranking in rankings]
        for place, name in enumerate(words.search.FIFTHS)
    }
    number = st.column_config.NumberColumn
    st.dataframe(
        pd.DataFrame({title: names} | recall | more | exposures),
        hide_index=True,
        column_config={
            "Recall": number(format="%.0f%%", width=70),
            "Change": number(format="%+.1f", width=70),
            **dict.fromkeys(["nDCG", *exposures], number(format="%.2f", width=80)),
        },
        placeholder="–",
        alt=alt,
        key=key,
    )
