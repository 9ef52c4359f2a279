"""The results of the comparison: the answer, the table, one picture per model, and their layers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from clsviz import analysis, figures, words
from clsviz.analysis.compare import Row
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Unit
from clsviz.ui.compare_models import downloads, table
from clsviz.ui.compare_models.rows_so_far import need_vectors, rows_of
from clsviz.ui.markdown import escape
from clsviz.ui.parts import head, plot, share
from clsviz.ui.parts.chart import palette, selected_sentences
from clsviz.ui.state import forged, server, session
from clsviz.ui.state.pace import part

_MOST_DRAWN = 2_000
"""How many points each picture has at most; the numbers use all of them."""

_MOST_ADDED = 200
"""How many more, because they are selected."""


_CURVES_HEIGHT = 340


_LOWEST_R_SQUARED, _MARGIN = -0.2, 0.04


def show(
    experiment: Experiment,
    names: Sequence[str],
    norms: Sequence[MeasuringJob],
    vectors: Sequence[MeasuringJob],
    query: dict[str, str],
    view: Callable[[], None],
) -> None:
    """All of it, redrawn while there is more to come; view: draws the controls of the view."""
    place = st.empty()
    jobs = [*norms, *vectors]
    if not any(job.work.found for job in norms):  # something to read while libraries are loaded for the rest
        place.header(words.comparison.waiting([job.state for job in jobs]), anchor=False)
    if need_vectors(experiment, norms, vectors):
        st.rerun()
    known = rows_of(experiment, names, norms, vectors)
    place.empty()
    is_open = _is_open(known, jobs)
    before = _chosen()
    first: list[Row] | None = known
    is_in_browser = False

    def draw() -> None:
        nonlocal first, is_in_browser
        forged.mend()
        if _chosen() != before or need_vectors(experiment, norms, vectors):  # a control in this part was moved
            st.rerun()
        rows = first or rows_of(experiment, names, norms, vectors)
        first = None
        _draw(experiment, rows, norms, vectors, query, view)
        if is_in_browser and is_open and not _is_open(rows, jobs):
            st.rerun()  # without polling
        is_in_browser = True

    part(draw, server.every() if is_open else None)()


def _chosen() -> tuple[Experiment, bool]:
    """What the whole page and its link depend on."""
    return session.experiment(), st.session_state.axes


def _is_open(rows: Sequence[Row], jobs: Sequence[MeasuringJob]) -> bool:
    return any(job.state.is_active for job in jobs) or not all(row.is_read for row in rows)


def _draw(
    experiment: Experiment,
    rows: Sequence[Row],
    norms: Sequence[MeasuringJob],
    vectors: Sequence[MeasuringJob],
    query: dict[str, str],
    view: Callable[[], None],
) -> None:
    waiting = words.comparison.waiting([job.state for job in (*norms, *vectors)])
    answer = words.comparison.headline(rows) or waiting
    head.show(
        words.question_of_models(experiment),
        answer,
        words.comparison.answer(rows, experiment),
        terms=words.glossary.COMPARE_MODELS,
    )
    _pictures(experiment, rows, norms)
    view()
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown(escape(words.comparison.tokenizers(rows, experiment.unit)), width="stretch")
        if experiment.unit is Unit.TOKENS and analysis.compare.tokens_agree(rows) is False:
            st.button("Count in words", on_click=_count_in_words, key="count_in_words")
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            downloads.copy_link(experiment, rows, norms, query)
            downloads.show(experiment, rows, norms, query)
    if len(st.session_state.models) < 2:
        st.info("Choose at least two models in the sidebar.", icon=":material/compare_arrows:")
    table.show(rows, experiment.unit)
    _curves(rows, experiment.unit)
    _explain(experiment, rows, norms)


def _count_in_words() -> None:
    st.session_state.unit = Unit.WORDS


def _pictures(experiment: Experiment, rows: Sequence[Row], jobs: Sequence[MeasuringJob]) -> None:
    """Norm against length for every model, with an empty picture for those that are not measured yet."""
    of, founds = [], [job.work.found for job in jobs]
    for row, found in zip(rows, founds, strict=True):
        marked = selected_sentences(found, experiment).tobytes() if found else b""
        of.append((row.label, row.norms, marked))
    is_scaled = not st.session_state.axes
    plot.show(
        plot.once(
            ("small multiples", *of, experiment.view, is_scaled),
            lambda: _multiples(experiment, rows, founds, is_scaled),
        ),
        key="small_multiples",
        alt=words.comparison.pictures(rows, experiment.view),
    )
    most = max((len(row.norms.shown.index) for row in rows if row.norms), default=0)
    if most > _MOST_DRAWN:
        st.caption(words.view.part_drawn(_MOST_DRAWN, most, "Each picture"))


def _multiples(experiment: Experiment, rows: Sequence[Row], founds: Sequence[Found | None], is_scaled: bool) -> Any:
    nothing = figures.Points(np.empty(0, object), np.empty(0, np.int32), np.empty(0, np.float32))
    panels, selected = [], []
    for row, found in zip(rows, founds, strict=True):
        points, chosen = nothing, np.empty(0, np.intp)
        if row.norms is not None and found is not None:
            shown = row.norms.shown
            marked = np.flatnonzero(np.isin(shown.index, selected_sentences(found, experiment)))
            beyond = marked[marked >= _MOST_DRAWN][:_MOST_ADDED]
            drawn = np.append(np.arange(min(_MOST_DRAWN, len(shown.index))), beyond)
            labels = figures.labels_of([found.sentences[i] for i in shown.index[drawn]])
            points = figures.Points(labels, shown.lengths[drawn], shown.norms[drawn])
            chosen = np.flatnonzero(np.isin(drawn, marked))
        selected.append(chosen)
        panels.append((row.label, points, row.fit))
    return figures.small_multiples(
        panels, palette(), shared_y=is_scaled, unit=experiment.unit, is_scaled=is_scaled, selected=selected
    )


def _curves(rows: Sequence[Row], unit: Unit) -> None:
    """R² of the norm and of the probes, layer by layer, over the relative depth."""
    st.subheader("Layer by layer", anchor=False)

    def draw(name: str, title: str) -> Any:
        curves = analysis.compare.curves(rows)
        low = float(np.nanmin(curves[["norm", "vector"]].to_numpy(float), initial=0))
        figure = figures.relative_depth(curves.rename(columns={name: "value"}), palette(), y_title=title)
        figure.update_yaxes(range=[max(low, _LOWEST_R_SQUARED) - _MARGIN, 1 + _MARGIN])
        return figure

    of = tuple((row.label, row.norms, row.profile) for row in rows)
    parts = {
        "norm": (words.comparison.norm_curves(unit), "R² of the norm"),
        "vector": (words.comparison.probe_curves(rows), "R² of a probe"),
    }
    for place, (name, (text, title)) in zip(st.columns(2, vertical_alignment="bottom"), parts.items(), strict=True):
        figure = plot.once(("curves", name, title, of), partial(draw, name, title))
        with place:
            st.caption(escape(text))
            plot.show(figure, height=_CURVES_HEIGHT, key=f"curves_{name}", alt=text)


def _explain(experiment: Experiment, rows: Sequence[Row], jobs: Sequence[MeasuringJob]) -> None:
    """How to read the page, and how its numbers came about."""
    known = [(row, job.work.found) for row, job in zip(rows, jobs, strict=True)]
    measured = [(row, found) for row, found in known if found and row.norms]

    def how_they_were_measured() -> None:
        facts = words.comparison.settings(experiment, measured)
        st.markdown("\n".join(f"- **{escape(name)}:** {escape(text)}" for name, text in facts.items()))

    share.explain(words.comparison.HOW_TO_READ, how_they_were_measured if measured else None)
