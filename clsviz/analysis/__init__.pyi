from . import comparison, growth, vectors
from .norms import View, audit_of, check_layer, check_pooling, lengths_of, shown, unmeasurable_layers, view

__all__ = [
    "View",
    "audit_of",
    "check_layer",
    "check_pooling",
    "comparison",
    "growth",
    "lengths_of",
    "shown",
    "unmeasurable_layers",
    "vectors",
    "view",
]
