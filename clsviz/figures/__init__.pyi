from . import colouring, static
from .bars import dimension_shares, erasure, histogram, way_of_cls
from .cells import heat_map, length_map, projection
from .cloud import Axes, Figure, empty, plain_json, plotly_script, scatter, sent, to_html
from .colouring import Key
from .density import N_BINS, Density, Drawn, drawn, is_dense, n_sampled
from .layers import small_multiples, thumbnail
from .lines import (
    HEIGHT_OF_ERRORS,
    cutoff_lines,
    error_lines,
    errors_by_layer,
    growth,
    layer_lines,
    layer_path,
    learning_curves,
    norm_spread,
    relative_depth,
)
from .search import SEARCH_HEIGHT, ByFifth, by_fifth, exposure_by_fifth
from .style import Labels, Palette, Points, hover_label, labels_of

__all__ = [
    "HEIGHT_OF_ERRORS",
    "N_BINS",
    "SEARCH_HEIGHT",
    "Axes",
    "ByFifth",
    "Density",
    "Drawn",
    "Figure",
    "Key",
    "Labels",
    "Palette",
    "Points",
    "by_fifth",
    "colouring",
    "cutoff_lines",
    "dimension_shares",
    "drawn",
    "empty",
    "erasure",
    "error_lines",
    "errors_by_layer",
    "exposure_by_fifth",
    "growth",
    "heat_map",
    "histogram",
    "hover_label",
    "is_dense",
    "labels_of",
    "layer_lines",
    "layer_path",
    "learning_curves",
    "length_map",
    "n_sampled",
    "norm_spread",
    "plain_json",
    "plotly_script",
    "projection",
    "relative_depth",
    "scatter",
    "sent",
    "small_multiples",
    "static",
    "thumbnail",
    "to_html",
    "way_of_cls",
]
