from . import colouring, static
from .bars import dimension_shares, erasure, histogram, remedy_bars, times_found, weights_by_group
from .cells import heat_map, length_map, projection
from .cloud import Axes, Figure, empty, plain_json, plotly_script, scatter, sent, to_html
from .colouring import Key
from .density import N_BINS, Density, Drawn, drawn, is_dense, n_sampled
from .layers import PANEL_HEIGHT, PLAYED_HEIGHT, layer_panel, played_layers, small_multiples
from .lines import (
    cutoff_lines,
    error_lines,
    growth,
    joined,
    layer_lines,
    layer_path,
    learning_curves,
    norm_spread,
    relative_depth,
)
from .style import Labels, Palette, Points, hover_label, labels_of

__all__ = [
    "N_BINS",
    "PANEL_HEIGHT",
    "PLAYED_HEIGHT",
    "Axes",
    "Density",
    "Drawn",
    "Figure",
    "Key",
    "Labels",
    "Palette",
    "Points",
    "colouring",
    "cutoff_lines",
    "dimension_shares",
    "drawn",
    "empty",
    "erasure",
    "error_lines",
    "growth",
    "heat_map",
    "histogram",
    "hover_label",
    "is_dense",
    "joined",
    "labels_of",
    "layer_lines",
    "layer_panel",
    "layer_path",
    "learning_curves",
    "length_map",
    "n_sampled",
    "norm_spread",
    "plain_json",
    "played_layers",
    "plotly_script",
    "projection",
    "relative_depth",
    "remedy_bars",
    "scatter",
    "sent",
    "small_multiples",
    "static",
    "times_found",
    "to_html",
    "weights_by_group",
]
