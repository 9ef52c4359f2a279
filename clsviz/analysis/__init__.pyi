from . import comparison, growth, vectors
from .norms import Shown, audit_of, check_layer, check_pooling, lengths_of, show, under_cutoff, unmeasurable_layers

__all__ = [
    "Shown",
    "audit_of",
    "check_layer",
    "check_pooling",
    "comparison",
    "growth",
    "lengths_of",
    "show",
    "under_cutoff",
    "unmeasurable_layers",
    "vectors",
]
