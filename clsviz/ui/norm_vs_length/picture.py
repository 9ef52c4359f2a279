"""The answer, its four numbers, and the picture with what can be done with it."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import figures, statistics, words
from clsviz.experiment import Experiment
from clsviz.measuring import Found, MeasuringJob
from clsviz.settings import Overlay, Unit
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, selection, share, toggle
from clsviz.ui.state import session, watching

if TYPE_CHECKING:
    from clsviz.analysis import Shown
    from clsviz.statistics import Fit

_POLL_SECONDS = 1.0


def show(job: MeasuringJob, experiment: Experiment, own: "figures.Points | None", query: dict[str, str]) -> None:
    """Draw it all; while the job is active it redraws itself, as there is more to show.

    own: the visitor's sentences, to be marked. query: what the address bar has.
    """

    def keep_up() -> None:
        if session.experiment() != experiment:  # lengths were shuffled
            st.rerun()
        _show(job, experiment, own, query)

    st.fragment(keep_up, run_every=_POLL_SECONDS if job.state.is_active else None)()


def _show(job: MeasuringJob, experiment: Experiment, own: "figures.Points | None", query: dict[str, str]) -> None:
    found = watching.found(job, experiment)
    st.title(escape(words.question(experiment)), anchor=False)
    if found is None:
        _show_waiting(job, experiment)
        return
    shown = chart.view_of(found, experiment)
    st.markdown(escape(words.result(shown, experiment, len(found.measurements))))
    _numbers(shown.fit, len(shown.index), len(found.measurements), experiment.unit)
    overlays = _toolbar(experiment, found, shown, own, query)
    selected = chart.show(experiment, found, shown, own, overlays)
    selection.show(found, shown, selected, experiment.unit)


def _show_waiting(job: MeasuringJob, experiment: Experiment) -> None:
    """The page before the first points: everything has its place already."""
    message = words.waiting.for_points(job)
    st.markdown(escape(message))
    _numbers(None, 0, 0, experiment.unit)
    with st.container(horizontal=True):
        overlays = [chart.MEDIANS, chart.RANGES]
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


def _numbers(fit: "Fit | None", n_used: int, n_measured: int, unit: Unit) -> None:
    quiet: dict[str, Any] = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    nothing = "–"
    with st.grid(4, min_column_width=140):
        st.metric(
            "R²",
            f"{fit.r_squared:.3f}" if fit else nothing,
            f"{fit.r_squared_interval[0]:.3f} to {fit.r_squared_interval[1]:.3f}" if fit else nothing,
            help="Share of the norm’s variance that the line explains, from 0 to 1. Below it, its 95% interval.",
            **quiet,
        )
        st.metric(
            f"Slope per {unit.singular}",
            words.number(fit.slope) if fit else nothing,
            f"{words.number(fit.slope_interval[0])} to {words.number(fit.slope_interval[1])}" if fit else nothing,
            help=f"Change in the norm per {unit.singular}. Below it, its 95% interval, robust to unequal spread.",
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
            f"{n_used:,}" if n_measured else nothing,
            f"of {n_measured:,} measured" if n_measured else nothing,
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
                [chart.MEDIANS, chart.RANGES],
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
        st.markdown(words.lengths_at_norms(statistics.slices(shown.lengths, shown.norms), experiment.unit))
    rows = words.key_numbers(shown, experiment.unit) | words.settings(experiment, found, shown)
    share.how_it_was_measured(rows, words.command(experiment, found))
