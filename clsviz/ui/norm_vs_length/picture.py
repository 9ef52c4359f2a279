"""The answer, its four numbers, and the picture with what can be done with it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Overlay, Unit
from clsviz.ui.markdown import escape
from clsviz.ui.norm_vs_length import beyond
from clsviz.ui.parts import chart, redrawn, selection, share, toggle
from clsviz.ui.state import session, watching

if TYPE_CHECKING:
    from clsviz.analysis import Shown
    from clsviz.statistics import Shape

_POLL_SECONDS = 1.0


def show(job: MeasuringJob, experiment: Experiment, own: "figures.Points | None", query: dict[str, str]) -> None:
    """Draw it all; while there is more to come it redraws itself.

    own: the visitor's sentences, to be marked. query: what the address bar has.
    """
    redrawn.show(
        lambda: _show(job, experiment, own, query), session.experiment, lambda: beyond.is_active(job, experiment)
    )


def _show(job: MeasuringJob, experiment: Experiment, own: "figures.Points | None", query: dict[str, str]) -> None:
    found = watching.found(job, experiment)
    st.title(escape(words.question(experiment)), anchor=False)
    if found is None:
        _show_waiting(job, experiment)
        return
    shown = chart.view_of(found, experiment)
    shape = beyond.shape(job, experiment)
    _answer(shown, experiment, shape, len(found.measurements), is_active=beyond.is_active(job, experiment))
    _numbers(shown, len(found.measurements), experiment.unit)
    overlays = _toolbar(experiment, found, shown, own, query)
    selected = chart.show(experiment, found, shown, own, overlays)
    selection.show(found, shown, selected, experiment.unit)


def _answer(shown: "Shown", experiment: Experiment, shape: "Shape | None", n_measured: int, *, is_active: bool) -> None:
    """Two sentences at most, and below them what else to know."""
    text = words.answer(shown, experiment.unit, shape) if shown.fit else shown.problem
    is_pending = is_active and shape is None and len(shown.index) >= statistics.LEAST and shown.fit is not None
    st.markdown(escape(text) + (f" :gray[{escape(words.PENDING)}]" if is_pending else ""))
    caveats = words.caveats(shown, experiment, n_measured)
    if caveats:
        st.caption(escape(" ".join(caveats)))


def _show_waiting(job: MeasuringJob, experiment: Experiment) -> None:
    """The page before the first points: everything has its place already."""
    message = words.waiting.for_points(job)
    st.markdown(escape(message))
    _numbers(None, 0, experiment.unit)
    with st.container(horizontal=True):
        overlays = list(Overlay)
        st.pills(
            "Overlays",
            overlays,
            format_func=words.OVERLAYS.__getitem__,
            disabled=True,
            label_visibility="collapsed",
            key="no_overlays",
        )
    figure = figures.empty(chart.axes(experiment, experiment.length_cutoff))
    st.plotly_chart(figure, height=chart.HEIGHT, key="no_scatter", alt=message)


def _numbers(shown: "Shown | None", n_measured: int, unit: Unit) -> None:
    fit = shown.fit if shown else None
    is_known = shown is not None and shown.clusters is not None
    quiet: dict[str, Any] = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    nothing = "–"

    def interval(ends: tuple[float, float], text: Callable[[float], str]) -> str:
        return f"{text(ends[0])} to {text(ends[1])}" if is_known else "…"

    with st.grid(4, min_column_width=140):
        st.metric(
            "R²",
            f"{fit.r_squared:.3f}" if fit else nothing,
            interval(fit.r_squared_interval, "{:.3f}".format) if fit else nothing,
            help="Share of the norm’s variance that the line explains, from 0 to 1. Below it, its 95% interval.",
            **quiet,
        )
        st.metric(
            f"Slope per {unit.singular}",
            words.number(fit.slope) if fit else nothing,
            interval(fit.slope_interval, words.number) if fit else nothing,
            help=f"Change in the norm per {unit.singular}. Below it, its 95% interval, which allows for "
            "unequal spread and for sentences that are alike.",
            **quiet,
        )
        st.metric(
            "Spearman’s ρ",
            f"{fit.spearman:.2f}".replace("-", "−") if fit else nothing,
            f"norm {fit.norm_mean:.2f} ± {words.number(fit.norm_sd, digits=2)}" if fit else nothing,
            help="Rank correlation of norm and length, from −1 to 1. Below it, the mean and standard deviation of the "
            "norm.",
            **quiet,
        )
        st.metric(
            "Sentences",
            f"{len(shown.index):,}" if shown else nothing,
            f"of {n_measured:,} measured" if shown else nothing,
            help="How many of the measured sentences are under the length cutoff.",
            **quiet,
        )


def _toolbar(
    experiment: Experiment,
    found: Found,
    shown: "Shown",
    own: "figures.Points | None",
    query: dict[str, str],
) -> list[Overlay]:
    """Returns the chosen overlays."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            overlays = st.pills(
                "Overlays",
                list(Overlay),
                selection_mode="multi",
                default=st.session_state.overlays,
                format_func=words.OVERLAYS.__getitem__,
                key="overlays",
                label_visibility="collapsed",
            )
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            toggle.shuffled_lengths(experiment)
            seen = chart.seen(shown, own, overlays)
            longest = chart.axes_of(experiment, shown).longest
            link = {name: text for name, text in (query | chart.link()).items() if text}
            share.copy_link(experiment, found, link, longest)
            share.downloads(experiment, found, shown, seen)
    return overlays


def explain(job: MeasuringJob, experiment: Experiment) -> None:
    """How to read the picture, and how it came about."""
    st.fragment(_explain, run_every=_POLL_SECONDS if job.state.is_active else None)(job, experiment)


def _explain(job: MeasuringJob, experiment: Experiment) -> None:
    found = watching.found(job, experiment)
    if found is None:
        return
    shown = chart.view_of(found, experiment)
    with st.expander("How to read this picture"):
        st.markdown(words.HOW_TO_READ)
        slices = statistics.slices(shown.lengths, shown.norms)
        st.markdown(words.lengths_at_norms(slices, shown.lengths, experiment.unit))
    with st.expander("How the cutoff changes this"):
        beyond.cutoffs(job, experiment)
    flat = chart.flat(found, experiment, shown)
    rows = words.key_numbers(shown, experiment.unit, flat, beyond.shape(job, experiment))
    share.how_it_was_measured(rows | words.settings(experiment, found, shown), words.command(experiment, found))
