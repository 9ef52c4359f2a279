from .bars import dimension_shares, weights_by_group
from .cloud import MOST_POINTS, Axes, Figure, empty, scatter, to_html, traces_of
from .cutoffs import cutoff_lines
from .heat_map import heat_map
from .lines import growth, layer_lines, layer_path, norm_spread, relative_depth
from .panels import small_multiples
from .style import Labels, Palette, Points, hover_label, labels_of

__all__ = [
    "MOST_POINTS",
    "Axes",
    "Figure",
    "Labels",
    "Palette",
    "Points",
    "cutoff_lines",
    "dimension_shares",
    "empty",
    "growth",
    "heat_map",
    "hover_label",
    "labels_of",
    "layer_lines",
    "layer_path",
    "norm_spread",
    "relative_depth",
    "scatter",
    "small_multiples",
    "to_html",
    "traces_of",
    "weights_by_group",
]
