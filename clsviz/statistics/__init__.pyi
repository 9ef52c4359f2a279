from . import remedies, sentlen
from .binning import bins, percentile_at_length, slices
from .cutoff import CUTOFFS, FLAT_LENGTHS, Flat, by_cutoff, flat
from .description_length import Code, online_code
from .dimensions import (
    AS_IT_IS,
    WITHOUT_BIAS,
    WITHOUT_EITHER,
    WITHOUT_GAIN,
    Dimensions,
    NormOf,
    dimensions,
    without_layer_norm,
)
from .direction import norms_of_directions
from .directions import N_NEIGHBOURS, Directions, directions_of, mean_cosines, nearest_among, neighbours
from .erasure import AFTER, BEFORE, CONTROL, Erasure, Left, erasure
from .folds import N_FOLDS, folds_of, folds_of_clusters
from .leace import Eraser, leace
from .length_bias import (
    N_GROUPS,
    Chance,
    LengthBias,
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
from .line import Fit, fit, r_squared
from .precision import Audit, audit
from .profile import Profile, Reading, Readout, read_vector, readings, steps
from .remedies import Remedy
from .ridge import STRENGTHS, Probe, guess_error, ridge_probe, unit
from .shape import LEAST, QUANTILES, Extremes, Quantiles, Shape, quantiles, shape, shapes
from .shared_words import tf_idf
from .similarity import nearest, percentiles_among_pairs, similarities, typical_similarity
from .travel import Leg, Sentences, Travel, travel

__all__ = [
    "AFTER",
    "AS_IT_IS",
    "BEFORE",
    "CONTROL",
    "CUTOFFS",
    "FLAT_LENGTHS",
    "LEAST",
    "N_FOLDS",
    "N_GROUPS",
    "N_NEIGHBOURS",
    "QUANTILES",
    "STRENGTHS",
    "WITHOUT_BIAS",
    "WITHOUT_EITHER",
    "WITHOUT_GAIN",
    "Audit",
    "Chance",
    "Code",
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
    "NormOf",
    "Probe",
    "Profile",
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
    "quantiles",
    "r_squared",
    "random_apart",
    "read_vector",
    "readings",
    "remedies",
    "ridge_probe",
    "sentlen",
    "shape",
    "shapes",
    "share_kept",
    "shuffled",
    "similarities",
    "slices",
    "steps",
    "tf_idf",
    "travel",
    "typical_similarity",
    "unit",
    "without_layer_norm",
]
