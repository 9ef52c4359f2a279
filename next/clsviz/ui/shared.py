"""What all visitors of a page share: results and pictures that are computed once for all."""

from dataclasses import replace

import streamlit as st

from clsviz import figures
from clsviz.experiment import Experiment
from clsviz.figures import scatter
from clsviz.jobs.measure import Measured
from clsviz.results.norms import norms
from clsviz.results.result import Result
from clsviz.ui.server import server


@st.cache_resource(max_entries=16, show_spinner=False)
def points(key: str, n: int, experiment: Experiment, _measured: Measured) -> Result:
    """The sentences that are measured so far, without an answer."""
    partial = replace(_measured, is_complete=False)
    return norms(partial, experiment, server().results)


@st.cache_resource(max_entries=16, show_spinner=False)
def picture(key: tuple[object, ...], _result: Result) -> str:
    """The figure of a result as JSON."""
    figure: str = figures.DRAW[_result.kind](_result).to_json()
    return figure


@st.cache_resource(max_entries=16, show_spinner=False)
def pictures(key: tuple[object, ...], _result: Result) -> tuple[str, str]:
    """The scatter and the strip of layers as JSON."""
    has_layers = any(entry["r_squared"] is not None for entry in _result.details["layers"])
    strip = scatter.strip(_result).to_json() if has_layers else ""
    return figures.DRAW[_result.kind](_result).to_json(), strip
