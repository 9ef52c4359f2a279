from . import remedies, results, sentlen
from .binning import bins, percentile_at_length, slices
from .census import Census
from .correlation import ROUNDING, r_squared, slope_within_ends
from .counting import CountedRun
from .cutoff import by_cutoff, flat
from .description_length import online_code
from .dimensions import dimensions, without_layer_norm
from .direction import norms_of_directions
from .directions import N_NEIGHBOURS, Directions, directions_of, mean_cosines, nearest_among, neighbours
from .erasure import erasure
from .folds import N_FOLDS, folds_of, folds_of_clusters
from .leace import Eraser, leace
from .length_bias import (
    chance,
    check_lengths,
    first_of_each,
    length_bias,
    length_groups,
    neighbour_correlation,
    random_apart,
    share_kept,
)
from .lengths import lengths_in, shuffled
from .line import fit
from .norm_bins import NormBins
from .precision import audit
from .profile import read_vector, readings
from .projection import projection
from .results.dimensions import AS_IT_IS, WITHOUT_BIAS, WITHOUT_EITHER, WITHOUT_GAIN, Dimensions, NormOf
from .results.enough import FEW_SENTENCES, FEWEST_OF_LINE
from .results.erasure import AFTER, BEFORE, CONTROL, MOST_SENTENCES, Erasure, Left
from .results.line import CUTOFFS, FLAT_LENGTHS, Fit, Flat
from .results.precision import Audit
from .results.profile import Probe, Profile, Reading, Readout, steps
from .results.projection import MOST_PROJECTED, Projection
from .results.sentlen import Code
from .results.shape import QUANTILES, Extremes, Quantiles, Shape
from .results.similarity import N_GROUPS, Chance, LengthBias, Remedy
from .results.travel import Leg, Travel
from .ridge import STRENGTHS, guess_error, ridge_probe, unit
from .shape import quantiles, shape, shapes
from .shared_words import tf_idf
from .similarity import nearest, percentiles_among_pairs, similarities, typical_similarity
from .travel import Sentences, travel

__all__ = [
    "AFTER",
    "AS_IT_IS",
    "BEFORE",
    "CONTROL",
    "CUTOFFS",
    "FEWEST_OF_LINE",
    "FEW_SENTENCES",
    "FLAT_LENGTHS",
    "MOST_PROJECTED",
    "MOST_SENTENCES",
    "N_FOLDS",
    "N_GROUPS",
    "N_NEIGHBOURS",
    "QUANTILES",
    "ROUNDING",
    "STRENGTHS",
    "WITHOUT_BIAS",
    "WITHOUT_EITHER",
    "WITHOUT_GAIN",
    "Audit",
    "Census",
    "Chance",
    "Code",
    "CountedRun",
    "Dimensions",
    "Directions",
    "Eraser",
    "Erasure",
    "Extremes",
    "Fit",
    "Flat",
    "Left",
    "Leg",
    "LengthBias",
    "NormBins",
    "NormOf",
    "Probe",
    "Profile",
    "Projection",
    "Quantiles",
    "Reading",
    "Readout",
    "Remedy",
    "Sentences",
    "Shape",
    "Travel",
    "audit",
    "bins",
    "by_cutoff",
    "chance",
    "check_lengths",
    "dimensions",
    "directions_of",
    "erasure",
    "first_of_each",
    "fit",
    "flat",
    "folds_of",
    "folds_of_clusters",
    "guess_error",
    "leace",
    "length_bias",
    "length_groups",
    "lengths_in",
    "mean_cosines",
    "nearest",
    "nearest_among",
    "neighbour_correlation",
    "neighbours",
    "norms_of_directions",
    "online_code",
    "percentile_at_length",
    "percentiles_among_pairs",
    "projection",
    "quantiles",
    "r_squared",
    "random_apart",
    "read_vector",
    "readings",
    "remedies",
    "results",
    "ridge_probe",
    "sentlen",
    "shape",
    "shapes",
    "share_kept",
    "shuffled",
    "similarities",
    "slices",
    "slope_within_ends",
    "steps",
    "tf_idf",
    "travel",
    "typical_similarity",
    "unit",
    "without_layer_norm",
]
