from .dimensions import AS_IT_IS, WITHOUT_BIAS, WITHOUT_EITHER, WITHOUT_GAIN, Dimensions, NormOf
from .enough import FEW_SENTENCES, FEWEST_OF_LINE, enough_row_groups
from .erasure import AFTER, BEFORE, CONTROL, MOST_SENTENCES, Erasure, Left
from .line import FLAT_LENGTHS, Fit, Flat
from .precision import Audit
from .profile import Probe, Profile, Reading, Readout, steps
from .projection import MOST_PROJECTED, Projection
from .sentlen import BINS, CHANCE, Code, Result
from .shape import QUANTILES, Extremes, Quantiles, Shape
from .similarity import N_GROUPS, Chance, LengthBias, Remedy
from .travel import Leg, Travel

__all__ = [
    "AFTER",
    "AS_IT_IS",
    "BEFORE",
    "BINS",
    "CHANCE",
    "CONTROL",
    "FEWEST_OF_LINE",
    "FEW_SENTENCES",
    "FLAT_LENGTHS",
    "MOST_PROJECTED",
    "MOST_SENTENCES",
    "N_GROUPS",
    "QUANTILES",
    "WITHOUT_BIAS",
    "WITHOUT_EITHER",
    "WITHOUT_GAIN",
    "Audit",
    "Chance",
    "Code",
    "Dimensions",
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
    "Projection",
    "Quantiles",
    "Reading",
    "Readout",
    "Remedy",
    "Result",
    "Shape",
    "Travel",
    "enough_row_groups",
    "steps",
]
