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
from .erasure import AFTER, BEFORE, CONTROL, Erasure, Left, erasure
from .folds import N_FOLDS, folds_of, shuffled
from .leace import Eraser, leace
from .lengths import lengths_in
from .line import Fit, fit, r_squared
from .precision import Audit, audit
from .profile import Profile, Reading, Readout, readings, steps
from .ridge import STRENGTHS, Probe, guess_error, ridge_probe, unit
from .shape import Extremes, Shape, shape
from .similarity import nearest, percentiles_among_pairs, similarities, typical_similarity
from .travel import Leg, Sentences, Travel, travel

__all__ = [
    "AFTER",
    "AS_IT_IS",
    "BEFORE",
    "CONTROL",
    "N_FOLDS",
    "STRENGTHS",
    "WITHOUT_BIAS",
    "WITHOUT_EITHER",
    "WITHOUT_GAIN",
    "Audit",
    "Dimensions",
    "Eraser",
    "Erasure",
    "Extremes",
    "Fit",
    "Left",
    "Leg",
    "NormOf",
    "Probe",
    "Profile",
    "Reading",
    "Readout",
    "Sentences",
    "Shape",
    "Travel",
    "audit",
    "bins",
    "dimensions",
    "erasure",
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
    "travel",
    "typical_similarity",
    "unit",
    "without_layer_norm",
]
