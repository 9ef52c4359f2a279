from .bar import Bar
from .comparison import Comparison, compare, compare_models
from .encoder import Encoder
from .extraction import extract
from .importing import import_vectors
from .norms import NormResult, measure
from .probes import ProbeResult, erase_length, probe, read_altered, read_elsewhere, read_lengths
from .published import classify_task, cost_of_task, open_task
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
    "classify_task",
    "compare",
    "compare_lengths",
    "compare_models",
    "corpus_name",
    "cost_of_task",
    "erase_length",
    "extract",
    "import_vectors",
    "measure",
    "open_task",
    "probe",
    "question",
    "read_altered",
    "read_elsewhere",
    "read_lengths",
    "similarity",
]
