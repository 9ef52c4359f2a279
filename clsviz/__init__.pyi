from .api import Comparison, Encoder, NormResult, ProbeResult, compare, measure, probe
from .errors import ClsvizError
from .experiment import Experiment
from .settings import Pooling
from .statistics import Fit, fit

__all__ = [
    "ClsvizError",
    "Comparison",
    "Encoder",
    "Experiment",
    "Fit",
    "NormResult",
    "Pooling",
    "ProbeResult",
    "compare",
    "fit",
    "measure",
    "probe",
]
