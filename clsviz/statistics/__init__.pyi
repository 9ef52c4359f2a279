from . import sentlen
from .binning import bins, percentile_at_length, slices
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
from .folds import N_FOLDS, folds_of, shuffled
from .leace import Eraser, leace
from .lengths import lengths_in
from .line import Fit, fit, r_squared
from .precision import Audit, audit
from .profile import Profile, Reading, Readout, readings, steps
from .ridge import STRENGTHS, Probe, guess_error, ridge_probe, unit
from .shape import Extremes, Shape, shape
from .similarity import nearest, percentiles_among_pairs, similarities, typical_similarity

__all__ = [
    "AS_IT_IS",
    "N_FOLDS",
    "STRENGTHS",
    "WITHOUT_BIAS",
    "WITHOUT_EITHER",
    "WITHOUT_GAIN",
    "Audit",
    "Dimensions",
    "Eraser",
    "Extremes",
    "Fit",
    "NormOf",
    "Probe",
    "Profile",
    "Reading",
    "Readout",
    "Shape",
    "audit",
    "bins",
    "dimensions",
    "fit",
    "folds_of",
    "guess_error",
    "leace",
    "lengths_in",
    "nearest",
    "norms_of_directions",
    "percentile_at_length",
    "percentiles_among_pairs",
    "r_squared",
    "readings",
    "ridge_probe",
    "sentlen",
    "shape",
    "shuffled",
    "similarities",
    "slices",
    "steps",
    "typical_similarity",
    "unit",
    "without_layer_norm",
]
