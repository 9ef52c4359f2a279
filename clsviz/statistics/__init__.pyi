from . import sentlen
from .binning import bins, percentile_at_length, slices
from .cutoff import CUTOFFS, FLAT_LENGTHS, Flat, by_cutoff, flat
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
from .folds import N_FOLDS, folds_of, folds_of_clusters, shuffled
from .lengths import lengths_in
from .line import Fit, fit, r_squared
from .precision import Audit, audit
from .profile import Profile, Reading, Readout, readings, steps
from .ridge import STRENGTHS, ridge_probe, unit
from .shape import LEAST, QUANTILES, Extremes, Quantiles, Shape, quantiles, shape, shapes
from .similarity import nearest, percentiles_among_pairs, similarities, typical_similarity

__all__ = [
    "AS_IT_IS",
    "CUTOFFS",
    "FLAT_LENGTHS",
    "LEAST",
    "N_FOLDS",
    "QUANTILES",
    "STRENGTHS",
    "WITHOUT_BIAS",
    "WITHOUT_EITHER",
    "WITHOUT_GAIN",
    "Audit",
    "Dimensions",
    "Extremes",
    "Fit",
    "Flat",
    "NormOf",
    "Profile",
    "Quantiles",
    "Reading",
    "Readout",
    "Shape",
    "audit",
    "bins",
    "by_cutoff",
    "dimensions",
    "fit",
    "flat",
    "folds_of",
    "folds_of_clusters",
    "lengths_in",
    "nearest",
    "percentile_at_length",
    "percentiles_among_pairs",
    "quantiles",
    "r_squared",
    "readings",
    "ridge_probe",
    "sentlen",
    "shape",
    "shapes",
    "shuffled",
    "similarities",
    "slices",
    "steps",
    "typical_similarity",
    "unit",
    "without_layer_norm",
]
