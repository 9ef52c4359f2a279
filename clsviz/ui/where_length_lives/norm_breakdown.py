"""What makes up the norm of the view's vector: its dimensions, and the gain and bias of its LayerNorm."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from clsviz import analysis, export, figures, words
from clsviz.experiment import Experiment
from clsviz.measuring import Analysis, Found
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot, share
from clsviz.ui.state import server

if TYPE_CHECKING:
    from clsviz.analysis.layers import NormBreakdown

_HEIGHT = 300


def of(found: Found, experiment: Experiment) -> "Analysis[NormBreakdown]":
    """The analysis, running or done."""
    return server.compute(analysis.layers.norm_breakdown, found, experiment.view)


def show(found: Found, experiment: Experiment) -> None:
    """The dimensions, and beside them the LayerNorm."""
    st.subheader(f"What makes up the norm of {words.vector_name(experiment, 'the')}", anchor=False)
    job = of(found, experiment)
    result = job.work.result
    if job.error:
        st.info(escape(job.error))
    elif result is None:
        st.caption("Computing…")
    elif found.weights.imported:
        _dimensions(result)
    else:
        left, right = st.columns(2)
        with left:
            _dimensions(result)
        with right:
            _layer_norm(result)


def _dimensions(found: "NormBreakdown") -> None:
    st.markdown("**Dimensions with the largest shares of the squared norm**")
    if found.by_dimension is None:
        st.info(escape(found.by_dimension_problem))
        return
    shares = found.by_dimension

    def draw() -> Any:
        return figures.dimension_shares(shares.shares, shares.order, chart.palette())

    plot.show(
        plot.once(("dimensions", found), draw),
        height=_HEIGHT,
        key="dimensions",
        alt="The dimensions with the largest shares of the squared norm.",
    )
    st.markdown(escape(words.dimensions.dimensions_sentence(found.by_dimension)))


def _layer_norm(found: "NormBreakdown") -> None:
    st.markdown("**Gain and bias of the LayerNorm**")
    if found.layer_norm is None:
        st.info(escape(found.layer_norm_problem))
        return
    st.dataframe(
        export.tables.layer_norm(found.layer_norm),
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in ("Mean", "SD", "R²")},
        placeholder="–",
        alt="The norm with the LayerNorm's gain and bias, and without them",
    )
    st.markdown(escape(words.dimensions.layer_norm_sentence(found.layer_norm)))


def downloads(experiment: Experiment, found: Found, about: Callable[[], Mapping[str, object]]) -> None:
    """Its tables, as far as there are any."""
    result = of(found, experiment).work.result
    if result is None:
        return
    name = share.file_name(experiment, found)
    if rows := result.layer_norm:
        share.table_downloads("LayerNorm", f"{name}-layernorm", lambda: export.tables.layer_norm(rows), about)
    if by_dimension := result.by_dimension:
        share.table_downloads("Dimensions", f"{name}-dimensions", lambda: export.tables.dimensions(by_dimension), about)
