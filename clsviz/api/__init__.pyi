from .bar import Bar
from .comparison import Comparison, compare, compare_models
from .encoder import Encoder
from .extraction import extract
from .norms import NormResult, measure
from .probes import ProbeResult, probe, read_lengths
from .question import question
from .sentences import corpus_name
from .similarity import SimilarityResult, compare_lengths, similarity

__all__ = [
    "Bar",
    "Comparison",
    "Encoder",
    "NormResult",
    "ProbeResult",
    "SimilarityResult",
    "compare",
    "compare_lengths",
    "compare_models",
    "corpus_name",
    "extract",
    "measure",
    "probe",
    "question",
    "read_lengths",
    "similarity",
]
