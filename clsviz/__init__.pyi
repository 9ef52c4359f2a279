from .api.comparison import Comparison, compare
from .api.encoder import Encoder
from .api.inputs import import_vectors
from .api.norms import NormResult, measure
from .api.probes import ProbeResult, probe
from .api.search import SearchTestResult, search_test, search_test_vectors
from .api.similarity import SimilarityResult, similarity
from .errors import ClsvizError
from .experiment import Experiment
from .settings import Pooling
from .statistics.line import Fit, fit

__version__: str

__all__ = [
    "ClsvizError",
    "Comparison",
    "Encoder",
    "Experiment",
    "Fit",
    "NormResult",
    "Pooling",
    "ProbeResult",
    "SearchTestResult",
    "SimilarityResult",
    "compare",
    "fit",
    "import_vectors",
    "measure",
    "probe",
    "search_test",
    "search_test_vectors",
    "similarity",
]
