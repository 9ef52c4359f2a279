from .api import (
    Comparison,
    Encoder,
    NormResult,
    ProbeResult,
    SimilarityResult,
    compare,
    import_vectors,
    measure,
    probe,
    similarity,
)
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
    "SimilarityResult",
    "compare",
    "fit",
    "import_vectors",
    "measure",
    "probe",
    "similarity",
]
