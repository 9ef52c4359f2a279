"""The page itself: the answer, the map, and what each section shows below."""

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found, MeasuringJob
from clsviz.settings import Pooling
from clsviz.ui import controls
from clsviz.ui.controls import folded
from clsviz.ui.length_and_search import joined, remedies
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, head, plot, redrawn, share, strip, toggle
from clsviz.ui.parts.covered import covered
from clsviz.ui.state import server, session, url, watching

if TYPE_CHECKING:
    from clsviz.analysis.search import Similarity

_HEIGHT = 470

_POOLINGS = list(Pooling)

_N_TABLES = 3
"""That can be downloaded of what the page opens with."""


def show(job: MeasuringJob, page: str) -> None:
    """Draw it all; while anything is being computed it redraws itself, as there is more to show."""
    redrawn.show(
        lambda: _show(job, page),
        lambda: (session.measured(), _needs_vectors(job)),
        lambda: _is_active(job, session.experiment()),
        lambda: _news(job, session.experiment()),
    )


def _compare(found: Found, experiment: Experiment) -> "Analysis[Similarity]":
    return server.analyse(analysis.search.compare, found, experiment.view)


def is_kept(found: Found, experiment: Experiment) -> bool:
    """Whether all that the page shows is there without the vectors."""
    view = experiment.view
    has_joined = not st.session_state.joined or server.is_stored(analysis.search.join, found, view)
    return has_joined and server.is_stored(analysis.search.compare, found, view)


def _needs_vectors(job: MeasuringJob) -> bool:
    """Whether what came with clsviz no longer suffices."""
    return watching.lacks_vectors(job, lambda found: is_kept(found, session.experiment()))


def _is_active(job: MeasuringJob, experiment: Experiment) -> bool:
    """Whether there is more to come."""
    return job.state.is_active or any(analysis.state.is_active for analysis in _analyses(job, experiment))


def _news(job: MeasuringJob, experiment: Experiment) -> Hashable:
    """Changes when there is more to show."""
    found = covered(job, experiment)
    return (job.state, found.key) if found else watching.news(job), watching.news_of(_analyses(job, experiment))


def _analyses(job: MeasuringJob, experiment: Experiment) -> list[Analysis[Any]]:
    """All that the page shows; they go on for as long as they are asked for."""
    found = covered(job, experiment)
    if found is None:
        return []
    compared = _compare(found, experiment)
    if job.state.is_active or compared.state.is_active or not st.session_state.joined or found.weights.imported:
        return [compared]
    return [compared, joined.of(found, experiment)]


def _show(job: MeasuringJob, page: str) -> None:
    controls.view.fit(job.work.found, _POOLINGS)
    experiment = session.experiment()  # the view may have been brought back to what the model has
    query = url.write(experiment, page, joined="yes" if st.session_state.joined else "")
    controls.notes.show_of_view()
    found = covered(job, experiment)
    compared = _compare(found, experiment) if found else None
    similarity = compared.work.result if compared else None
    if compared is None:
        answer, numbers = words.waiting.for_points(job, server.jobs().place_of(job)), ""
    elif similarity is None:
        answer, numbers = str(compared.error or "Comparing…"), ""
    else:
        answer = words.similarity.answer(similarity, experiment)
        numbers = words.similarity.quiet_line(similarity, experiment)
    terms = words.glossary.of_page(words.glossary.LENGTH_AND_SEARCH, experiment)
    head.show(words.similarity.QUESTION, answer, numbers, terms=terms)
    _map(similarity, experiment)
    with strip.place(3):
        strip.show_view(job.work.found, _POOLINGS)
    _tools(job, experiment, query, found, similarity)
    if found is None or similarity is None:
        return
    remedies.show(similarity, is_imported=words.is_imported(experiment))
    found_more_often = partial(remedies.times_found, similarity, experiment)
    folded.show(folded.Box("Which lengths are found more often?", "times_found", found_more_often))
    assert compared is not None
    if not (job.state.is_active or compared.state.is_active):  # else they would be other sentences every time, and wait
        with st.expander("What if sentences are joined?", expanded=st.session_state.joined):
            joined.show(found, experiment)
    rows = words.similarity.settings(experiment, found, similarity)
    share.explain(words.similarity.HOW_TO_READ, partial(share.provenance, rows, experiment, found, "similarity"))


def _tools(
    job: MeasuringJob,
    experiment: Experiment,
    query: dict[str, str],
    found: Found | None,
    similarity: "Similarity | None",
) -> None:
    """The control of shuffled lengths, the link and the downloads."""
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        with st.container(horizontal=True, width="content"):
            toggle.shuffled_lengths(experiment)
        if found is None or similarity is None:
            return
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            share.copy_link(experiment, found, query)
            draw = partial(_downloads, experiment, found, similarity, is_active=job.state.is_active)
            share.menu(draw, _N_TABLES)


def _downloads(experiment: Experiment, found: Found, similarity: "Similarity", *, is_active: bool) -> None:
    name = share.file_name(experiment, found)

    def about() -> dict[str, object]:
        return share.about(experiment, found)

    tables: dict[str, Any] = {
        "Map": ("by-length", lambda: export.similarity.pairs(similarity)),
        "Remedies": ("remedies", lambda: export.similarity.ways(similarity, is_imported=words.is_imported(experiment))),
        "Neighbours": ("neighbours", lambda: export.similarity.neighbours(found, similarity)),
    }
    for label, (ending, table) in tables.items():
        share.table_downloads(label, f"{name}-{ending}", table, about)
    rows = (
        joined.of(found, experiment).work.result
        if st.session_state.joined and not (is_active or found.weights.imported)
        else None
    )
    if rows:
        share.table_downloads("Joined", f"{name}-joined", lambda: export.similarity.joined(rows), about)


def _map(similarity: "Similarity | None", experiment: Experiment) -> None:
    """Mean cosines by length; its place is kept until there are any."""
    if similarity is None:
        st.container(height=_HEIGHT, border=True)
        return

    def draw() -> Any:
        return figures.length_map(
            similarity.bias.cosine_by_length,
            [words.similarity.span(ends) for ends in similarity.ranges],
            chart.palette(),
            experiment.unit,
        )

    plot.show(
        plot.once(("map", similarity, experiment.unit), draw),
        height=_HEIGHT,
        key="map",
        alt="Mean cosine of two sentences by the tenths that their lengths are in.",
    )
    st.caption(escape(words.similarity.ABOUT_MAP))
