"""The picture and its numbers: the answer, the four figures, the scatter, what is selected in it, and the downloads."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.elements.lib import streamlit_plotly_theme as theme

from clsviz import analysis, figures, statistics, words
from clsviz.experiment import Experiment, View
from clsviz.measuring import Found, MeasuringJob, State
from clsviz.settings import Unit
from clsviz.ui.markdown import escape
from clsviz.ui.parts import share
from clsviz.ui.parts.own import Own
from clsviz.ui.state import session

if TYPE_CHECKING:
    from clsviz.analysis import Shown
    from clsviz.statistics import Fit


_POLL_SECONDS = 1.0


_HEIGHT = 520


_MEDIANS, _RANGES = "Medians and quartiles", "Lengths at a norm"


_MOST_LISTED = 1_000


def palette() -> "figures.Palette":
    """Colours that Streamlit exchanges for those of the theme, light or dark."""
    return figures.Palette(theme.CATEGORY_0, theme.CATEGORY_1, theme.CATEGORY_2, theme.CATEGORY_3, theme.BG_COLOR)


def show(job: MeasuringJob, experiment: Experiment, own: Own | None, query: dict[str, str]) -> None:
    """Draw it all; while the job is active it redraws itself, as there is more to show."""
    st.fragment(_show, run_every=_POLL_SECONDS if job.state.is_active else None)(job, experiment, own, query)


def view_of(found: Found, experiment: Experiment) -> "Shown":
    """The view of what is measured so far."""
    return _shown(found.key, experiment.view, found)


@st.cache_resource(max_entries=16, show_spinner=False)
def _shown(key: Hashable, view: View, _found: Found) -> "Shown":
    return analysis.show(_found, view)


@st.cache_resource(max_entries=4, show_spinner=False)
def _labels(key: tuple[object, ...], _sentences: list[str]) -> NDArray[np.object_]:

    return figures.labels_of(_sentences)


def _show(job: MeasuringJob, experiment: Experiment, own: Own | None, query: dict[str, str]) -> None:
    found = session.found(job, experiment)
    st.title(escape(words.question(experiment)), anchor=False)
    if found is None:
        _show_waiting(job, experiment, query)
        return
    view = view_of(found, experiment)
    st.markdown(escape(words.result(view, experiment, len(found.measurements))))
    _figures(view.fit, len(view.index), len(found.measurements), experiment.unit)
    overlays = _toolbar(job, experiment, found, view, query)
    selected = chart(experiment, found, view, own, overlays)
    selection(experiment, found, view, selected)


def _show_waiting(job: MeasuringJob, experiment: Experiment, query: dict[str, str]) -> None:
    """The page before the first points: everything has its place already."""
    message = waiting(job)
    st.markdown(escape(message))
    _figures(None, 0, 0, experiment.unit)
    with st.container(horizontal=True):
        st.pills("Overlays", [_MEDIANS, _RANGES], disabled=True, label_visibility="collapsed", key="no_overlays")
    st.plotly_chart(
        figures.empty(_axes(experiment, experiment.length_cutoff)), height=_HEIGHT, key="no_scatter", alt=message
    )


def waiting(job: MeasuringJob) -> str:
    """Why there is nothing to see yet."""
    if job.state is State.WAITING:
        message = "Press Run in the sidebar to measure. It takes time, or a download, so it does not start by itself."
    elif job.state is State.FAILED:
        message = "Nothing was measured. The sidebar says why."
    elif job.state is State.CANCELLED:
        message = "Stopped before the first sentences were measured. Press Continue in the sidebar to go on."
    elif job.unit:
        message = f"{job.stage}: {job.done:,} of {job.total:,} {job.unit}. It is kept, so this happens once."
    else:
        message = f"{job.stage or 'Looking for what was measured before'}. The first points appear in a few seconds."
    return message


def _figures(fit: "Fit | None", n_used: int, n_measured: int, unit: Unit) -> None:
    quiet: dict[str, Any] = {"border": True, "delta_color": "off", "delta_arrow": "off", "height": "stretch"}
    nothing = "–"
    with st.grid(4, min_column_width=140):
        st.metric(
            "R²",
            f"{fit.r_squared:.3f}" if fit else nothing,
            f"{fit.r_squared_interval[0]:.3f} to {fit.r_squared_interval[1]:.3f}" if fit else nothing,
            help="Share of the norm's variance that the line explains, from 0 to 1; below, its 95% interval.",
            **quiet,
        )
        st.metric(
            f"Slope per {unit.singular}",
            words.number(fit.slope) if fit else nothing,
            f"{words.number(fit.slope_interval[0])} to {words.number(fit.slope_interval[1])}" if fit else nothing,
            help=f"Change of the norm with every {unit.singular}; below, its 95% interval, robust to unequal spread.",
            **quiet,
        )
        st.metric(
            "Spearman's ρ",
            f"{fit.spearman:.2f}".replace("-", "−") if fit else nothing,
            f"norm {fit.norm_mean:.2f} ± {words.number(fit.norm_sd, digits=2)}" if fit else nothing,
            help="Rank correlation of norm and length, from −1 to 1; below it, the norm's mean and standard deviation.",
            **quiet,
        )
        st.metric(
            "Sentences",
            f"{n_used:,}" if n_measured else nothing,
            f"of {n_measured:,} measured" if n_measured else nothing,
            help="How many are under the length cutoff, of those that are measured.",
            **quiet,
        )


def _toolbar(
    job: MeasuringJob, experiment: Experiment, found: Found, view: "Shown", query: dict[str, str]
) -> list[str]:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        overlays = st.pills(
            "Overlays",
            [_MEDIANS, _RANGES],
            selection_mode="multi",
            default=[_MEDIANS],
            key="overlays",
            label_visibility="collapsed",
        )
        with st.container(horizontal=True, horizontal_alignment="right", width="content"):
            share.copy_link(experiment, found, query)
            share.downloads(experiment, found, view)
    return overlays


def _axes(experiment: Experiment, longest: int) -> Any:

    view = (experiment.model, experiment.selection, experiment.length_cutoff, experiment.layer, experiment.pooling)
    if experiment.unit is Unit.TOKENS:
        longest = min(longest, experiment.length_cutoff)
    zoom_of = str((*view, experiment.unit))
    return figures.Axes(words.axis_title(experiment.view), longest, zoom_of=zoom_of, unit=experiment.unit)


def chart(
    experiment: Experiment, found: Found, view: "Shown", own: Own | None, overlays: Sequence[str] = (_MEDIANS,)
) -> NDArray[np.intp]:
    """The scatter; returns which of the view's sentences are selected in it."""
    labels = _labels((found.corpus.fingerprint, experiment.seed, len(found.sentences)), found.sentences)
    drawn = slice(0, figures.MOST_POINTS)
    points = figures.Points(labels[view.index[drawn]], view.lengths[drawn], view.norms[drawn])
    figure = figures.scatter(
        points,
        _axes(experiment, int(view.lengths.max()) if len(view.lengths) else experiment.length_cutoff),
        palette(),
        fit=view.fit,
        bins=statistics.bins(view.lengths, view.norms) if _MEDIANS in overlays else None,
        slices=statistics.slices(view.lengths, view.norms) if _RANGES in overlays else None,
        own=own.points() if own else None,
    )
    event = st.plotly_chart(
        figure,
        height=_HEIGHT,
        key="scatter",
        on_select="rerun",
        config={"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"]},
        alt=f"{words.axis_title(experiment.view)} against sentence length for {len(view.index):,} sentences. "
        + words.result(view, experiment, len(found.measurements)),
    )
    if len(view.index) > figures.MOST_POINTS:
        st.caption(f"Drawn are {figures.MOST_POINTS:,} of {len(view.index):,} sentences; the numbers are of all.")
    traces = list(figures.traces_of(len(points.labels)))
    chosen = [
        traces[point["curve_number"]].start + point["point_index"]
        for point in event.selection.points
        if point["curve_number"] < len(traces)
    ]
    return np.array(sorted(set(chosen)), dtype=np.intp)


def selection(experiment: Experiment, found: Found, view: "Shown", selected: NDArray[np.intp]) -> None:
    """The sentences that are selected in the scatter."""
    if not len(view.index):
        return
    if not len(selected):
        st.caption("Click a point to read its sentence. To list many, choose box or lasso above the picture and draw.")
        return
    import pandas as pd

    sentences = [found.sentences[index] for index in view.index[selected[:_MOST_LISTED]]]
    lengths, norms = view.lengths[selected], view.norms[selected]
    if len(selected) == 1:
        with st.container(border=True):
            st.text(sentences[0])
            off = (
                f" · {words.number(norms[0] - view.fit.predict(lengths[0]), sign='+')} off the line" if view.fit else ""
            )
            st.caption(f"{lengths[0]} {experiment.unit} · norm {norms[0]:.4f}{off}")
        return
    listed = slice(0, _MOST_LISTED)
    table = pd.DataFrame({"Sentence": sentences, experiment.unit.capitalize(): lengths[listed], "Norm": norms[listed]})
    if view.fit:
        table["Off the line"] = norms[listed] - view.fit.predict(lengths[listed])
    more = f"; the first {_MOST_LISTED:,} are listed" if len(selected) > _MOST_LISTED else ""
    st.caption(f"{len(selected):,} sentences selected{more}.")
    four_digits = st.column_config.NumberColumn(format="%.4f")
    st.dataframe(
        table,
        hide_index=True,
        height=280,
        column_config={
            "Sentence": st.column_config.TextColumn(width="large"),
            "Norm": four_digits,
            "Off the line": four_digits,
        },
        alt="The selected sentences",
    )


def explain(job: MeasuringJob, experiment: Experiment) -> None:
    """How to read the picture, and how it came about."""
    st.fragment(_explain, run_every=_POLL_SECONDS if job.state.is_active else None)(job, experiment)


def _explain(job: MeasuringJob, experiment: Experiment) -> None:
    found = session.found(job, experiment)
    if found is None:
        return

    view = view_of(found, experiment)
    with st.expander("How to read this picture"):
        st.markdown(words.HOW_TO_READ)
        st.markdown(words.lengths_at_norms(statistics.slices(view.lengths, view.norms), experiment.unit))
    with st.expander("How it was measured"):
        rows = [*words.key_numbers(view, experiment.unit).items(), *words.settings(experiment, found, view).items()]
        st.markdown("\n".join(f"- **{name}:** {escape(text)}" for name, text in rows))
        st.markdown("The same without a browser:")
        st.code(words.command(experiment, found), language="shell", wrap_lines=True)
