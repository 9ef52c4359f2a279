"""The page “Does length bend my search?”: similarity by length, and what to do about it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.analysis.search import MOST_TEXTS, SIZES, Joined
from clsviz.experiment import Experiment
from clsviz.jobs import Analysis, Found, MeasuringJob, measure_texts
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.settings import Pooling, Precision
from clsviz.statistics.erasure import Remedy
from clsviz.ui import sidebar, view
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, layout, plot, preview, redrawn, share
from clsviz.ui.state import server, session, url, watching
from clsviz.vectors import Vectors

if TYPE_CHECKING:
    from clsviz.analysis.search import Similarity

PAGE = "length-and-search"

_POOLINGS = list(Pooling)

_N_TABLES = 3
"""That can be downloaded of what the page opens with."""

_HEIGHT_OF_MAP, _HEIGHT_OF_JOINED, _HEIGHT_OF_TIMES = 470, 340, 300


def page() -> None:
    """Draw the page; while anything is being computed what is below the notes redraws itself, as there is more."""
    _, (job,) = watching.begin(PAGE, Kind.VECTORS, suffices=_is_kept)
    sidebar.show(job, of_vectors=True)

    def chosen() -> object:
        needs_vectors = watching.lacks_vectors(job, lambda found: _is_kept(found, session.experiment()))
        return session.measured(), needs_vectors

    def is_active() -> bool:
        return job.state.is_active or any(analysis.state.is_active for analysis in _analyses(job).values())

    def news() -> object:
        found = view.covered(job, session.experiment())
        return (job.state, found.key) if found else watching.news(job), watching.news_of(_analyses(job).values())

    redrawn.show(lambda: _show(job), chosen, is_active, news)
    preview.explain(job)


def _is_kept(found: Found, experiment: Experiment) -> bool:
    """True if all that the page shows is there without the vectors."""
    has_joined = not st.session_state.joined or server.is_stored("join", found, experiment.view)
    return has_joined and server.is_stored("compare", found, experiment.view)


def _analyses(job: MeasuringJob) -> dict[str, Analysis[Any]]:
    """All that the page shows, by name; they go on for as long as they are asked for."""
    experiment = session.experiment()
    found = view.covered(job, experiment)
    if found is None:
        return {}
    compared = server.analyse("compare", analysis.search.compare, found, experiment.view)
    known: dict[str, Analysis[Any]] = {"compared": compared}
    is_settled = not (job.state.is_active or compared.state.is_active)  # until then they would be other sentences
    if is_settled and st.session_state.joined and not found.weights.imported:
        jobs, join = server.jobs(), analysis.search.join

        def measure(texts: Sequence[str]) -> Vectors:
            return measure_texts(texts, experiment, found, jobs.store, jobs.encoders, Progress())

        steps = partial(join, found, experiment.view, measure)
        known["joined"] = server.analyse_as("join", found, experiment.view, steps)
    return known


def _show(job: MeasuringJob) -> None:
    """The answer, the map with its controls, and what helps."""
    experiment = view.fit(job.work.found, _POOLINGS)
    query = url.write(experiment, PAGE, joined="yes" if st.session_state.joined else "")
    sidebar.show_notes_of_view()
    found, analyses = view.covered(job, experiment), _analyses(job)
    compared = analyses.get("compared")
    similarity: Similarity | None = compared.work.result if compared else None
    numbers = ""
    if compared is None:
        answer = words.waiting.for_points(job, server.jobs().n_ahead(job))
    elif similarity is None:
        answer = str(compared.error or "Comparing…")
    else:
        answer = words.similarity.answer(similarity, experiment)
        numbers = words.similarity.quiet_line(similarity, experiment)
    terms = words.glossary.of_page(words.glossary.LENGTH_AND_SEARCH, experiment)
    layout.head(words.similarity.QUESTION, answer, numbers, terms=terms)
    _show_map(similarity, experiment)
    with view.strip(3):
        view.controls(job.work.found, _POOLINGS)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        with st.container(horizontal=True, width="content"):
            view.toggle_shuffled_lengths(experiment)
        if found is not None and similarity is not None:
            with st.container(horizontal=True, horizontal_alignment="right", width="content"):
                share.copy_link(experiment, found, query)
                _downloads(experiment, found, similarity, analyses.get("joined"))
    if found is None or similarity is None or compared is None:
        return
    st.subheader("What helps, and what does it cost?", anchor=False)
    _show_remedies(similarity, is_imported=words.is_imported(experiment))
    layout.box("Which lengths are found more often?", "times_found", lambda: _show_times_found(similarity, experiment))
    if not (job.state.is_active or compared.state.is_active):
        with st.expander("What if sentences are joined?", expanded=st.session_state.joined):
            _show_joined(found, analyses.get("joined"))
    settings = words.similarity.settings(experiment, found, similarity)
    share.explain(words.similarity.HOW_TO_READ, lambda: share.provenance(settings, experiment, found, "similarity"))


def _show_map(similarity: "Similarity | None", experiment: Experiment) -> None:
    """Mean cosines by length; its place is kept until there are any."""
    if similarity is None:
        st.container(height=_HEIGHT_OF_MAP, border=True)
        return

    def draw() -> Any:
        spans = [words.similarity.span(ends) for ends in similarity.ranges]
        return figures.length_map(similarity.bias.cosine_by_length, spans, chart.palette(), experiment.unit)

    figure = plot.once(("map", similarity, experiment.unit), draw)
    plot.show(
        figure,
        key="map",
        alt="Mean cosine of two sentences by the tenths that their lengths are in.",
        height=_HEIGHT_OF_MAP,
    )
    st.caption(escape(words.similarity.ABOUT_MAP))


def _downloads(
    experiment: Experiment, found: Found, similarity: "Similarity", joined: "Analysis[tuple[Joined, ...]] | None"
) -> None:
    name, is_imported = share.file_name(experiment, found), words.is_imported(experiment)
    tables: dict[str, Any] = {
        "Map": ("by-length", lambda: export.similarity.pairs(similarity)),
        "Remedies": ("remedies", lambda: export.similarity.ways(similarity, is_imported=is_imported)),
        "Neighbours": ("neighbours", lambda: export.similarity.neighbours(found, similarity)),
    }
    if joined is not None and (rows := joined.work.result):
        tables["Joined"] = "joined", lambda: export.similarity.joined(rows)

    def draw() -> None:
        for label, (ending, table) in tables.items():
            share.table_downloads(label, f"{name}-{ending}", table, lambda: share.about(experiment, found))

    share.menu(draw, _N_TABLES)


def _show_remedies(similarity: "Similarity", *, is_imported: bool) -> None:
    """The correlation with and without each remedy, and the table of all ways to compare."""
    left, right = st.columns([2, 3], gap="medium")

    def draw() -> Any:
        known = {way.remedy: way.held_out for way in similarity.remedies}
        # Those that are still being computed keep their places.
        rows: list[tuple[str, float | None, bool]] = [
            (words.similarity.REMEDIES[remedy], known.get(remedy), False) for remedy in (None, *Remedy)
        ]
        by_words = similarity.by_words
        rows.append((words.similarity.SHARED_WORDS, by_words.neighbour_correlation if by_words else None, True))
        bars = pd.DataFrame(rows, columns=["name", "correlation", "is_baseline"]).astype({"correlation": float})
        return figures.remedy_bars(bars, chart.palette(), similarity.chance.neighbour_correlation_limit)

    with left:
        figure = plot.once(("remedies", similarity), draw)
        plot.show(
            figure,
            key="remedies",
            alt="The rank correlation of length and neighbours’ length, before and after each remedy.",
        )
    with right:
        table = export.similarity.ways(similarity, is_imported=is_imported)
        alone = table["remedy"] == ""
        is_plain = alone | (table["remedy"] == words.similarity.REMEDIES[None])
        remedied = table["vector"] + ", " + table["remedy"].map(words.similarity.uncapitalized)
        st.dataframe(
            pd.DataFrame(
                {
                    "Way to compare": table["vector"].where(is_plain, remedied),
                    "Correlation": table["held_out_correlation"].where(~alone, table["neighbor_length_correlation"]),
                    "Kept": 100 * table["neighbors_kept"],
                    "By length": 100 * table["length_share_of_cosine"],
                }
            ),
            hide_index=True,
            column_config={
                "Way to compare": st.column_config.TextColumn(width=150),
                "Correlation": st.column_config.NumberColumn(format="%.2f", width=80),
                "Kept": st.column_config.NumberColumn(format="%.0f%%", width=50),
                "By length": st.column_config.NumberColumn(format="%.1f%%", width=70),
            },
            placeholder="–",
            alt="All ways to compare the sentences",
        )
        for problem in dict.fromkeys(filter(None, table["problem"])):
            st.caption(escape(problem))
    st.caption(escape(words.similarity.ABOUT_REMEDIES))


def _show_times_found(similarity: "Similarity", experiment: Experiment) -> None:
    """How often a sentence of each tenth is among the ten nearest of another."""
    st.markdown(escape(words.similarity.neighbours(similarity, experiment.unit)))
    times, by_words = similarity.bias.times_found, similarity.by_words
    figure = figures.times_found(
        times,
        by_words.times_found if by_words else np.full_like(times, np.nan),
        [words.similarity.span(ends) for ends in similarity.ranges],
        chart.palette(),
        experiment.unit,
    )
    alt = "How often sentences of each tenth by length are among the ten nearest of another."
    plot.show(figure, key="times-found", alt=alt, height=_HEIGHT_OF_TIMES)


def _show_joined(found: Found, job: "Analysis[tuple[Joined, ...]] | None") -> None:
    """Joined sentences beside real ones: a switch, as this takes the model; and what was measured."""
    if found.weights.imported:
        st.caption(words.imported.NO_OTHERS)
        return
    st.toggle("Measure joined sentences", value=st.session_state.joined, key="joined")
    if job is None:
        rate = server.jobs().store.rate(found.weights.fingerprint, Precision.EXACT.numbers, Kind.VECTORS)
        n = min(MOST_TEXTS, len(found.measurements) // SIZES[-1]) * (sum(SIZES) - 1)  # as long as so many sentences
        st.caption(escape(words.similarity.joined_cost(n / rate if rate else None)))
        return
    if job.error:
        st.info(escape(job.error))
        return
    rows = job.work.result or ()
    if job.state.is_active:
        st.progress(len(rows) / len(SIZES), f"Measuring: {len(rows)} of {len(SIZES)} sizes")
    if rows:
        st.markdown(escape(words.similarity.joined(rows)))
        figure = figures.joined(export.similarity.joined(rows), chart.palette())
        alt = "Mean cosines of texts by how many sentences they are joined from."
        plot.show(figure, key="joined-lines", alt=alt, height=_HEIGHT_OF_JOINED)
        st.caption(words.similarity.ABOUT_JOINED)
