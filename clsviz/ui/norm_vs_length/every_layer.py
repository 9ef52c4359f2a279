"""Norm against length after every layer, once the visitor opens it."""

from dataclasses import replace

import numpy as np
import streamlit as st

from clsviz import analysis, figures, words
from clsviz.analysis.layers import EveryLayer
from clsviz.experiment import Experiment, View
from clsviz.measuring import Found
from clsviz.settings import Pooling
from clsviz.ui.markdown import escape
from clsviz.ui.parts import chart, plot
from clsviz.ui.state import server


def show(found: Found, experiment: Experiment) -> None:
    """One picture that plays through the layers, and a small one for each."""
    view = replace(experiment.view, pooling=Pooling.CLS, layer=None)  # which play no part
    selected = chart.selected_sentences(found, experiment)
    every = analysis.layers.with_others(_every_layer(found, view), found, view, selected)
    drawn = np.flatnonzero(np.isin(every.index, selected))
    labels = figures.labels_of([found.sentences[at] for at in every.index])
    st.markdown(escape(words.every_layer.said(every)))
    plot.show(
        figures.played_layers(every, labels, chart.palette(), experiment.unit, drawn),
        height=figures.PLAYED_HEIGHT,
        key="played_layers",
        alt=f"Norm of [CLS] against length, layer by layer. {words.every_layer.said(every)}",
    )
    st.caption(words.every_layer.ABOUT_PLAYING)
    with st.grid(4, min_column_width=150):
        for at, after in enumerate(every.layers):
            r_squared = after.problem if after.r_squared is None else f"R² {after.r_squared:.3f}"
            plot.show(
                figures.layer_panel(every, at, labels, chart.palette(), experiment.unit, drawn),
                height=figures.PANEL_HEIGHT,
                key=f"layer_panel_{after.layer}",
                alt=f"Norm of [CLS] against length, layer {after.layer}: {r_squared}.",
            )
    st.caption(escape(words.every_layer.about_panels(every, experiment.unit)))


def _every_layer(found: Found, view: View) -> EveryLayer:
    return server.cache().get_or_compute(
        ("every layer", found.key, view), lambda: analysis.layers.every_layer(found, view)
    )
