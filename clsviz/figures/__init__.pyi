from . import colouring, key, static
from .bars import dimension_shares, erasure, weights_by_group
from .cloud import Axes, Figure, empty, scatter, to_html
from .cutoffs import cutoff_lines
from .density import N_BINS, Density, Drawn, drawn, is_dense, n_sampled
from .every_layer import PANEL_HEIGHT, PLAYED_HEIGHT, layer_panel, played_layers
from .heat_map import heat_map
from .histogram import histogram
from .key import Key
from .length_map import joined, length_map, remedy_bars, times_found
from .lines import error_lines, growth, layer_lines, layer_path, norm_spread, relative_depth
from .panels import small_multiples
from .projection import projection
from .sent import plain_json, plotly_script, sent
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
    "key",
    "labels_of",
    "layer_lines",
    "layer_panel",
    "layer_path",
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
