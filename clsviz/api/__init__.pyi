from .bar import Bar
from .comparison import Comparison, compare, compare_models
from .encoder import Encoder
from .extraction import extract
from .norms import NormResult, measure
from .probes import ProbeResult, erase_length, probe, read_altered, read_elsewhere, read_lengths
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
    "erase_length",
    "extract",
    "measure",
    "probe",
    "question",
    "read_altered",
    "read_elsewhere",
    "read_lengths",
    "similarity",
]
