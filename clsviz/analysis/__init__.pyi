from . import comparison, growth, joined, pooler_check, probing, similarity, typed, vectors
from .context import CorpusContext, Missing, corpus_context
from .norms import (
    Shown,
    audit_of,
    check_layer,
    check_pooling,
    lengths_of,
    shape_of,
    show,
    under_cutoff,
    unmeasurable_layers,
)

__all__ = [
    "CorpusContext",
    "Missing",
    "Shown",
    "audit_of",
    "check_layer",
    "check_pooling",
    "comparison",
    "corpus_context",
    "growth",
    "joined",
    "lengths_of",
    "pooler_check",
    "probing",
    "shape_of",
    "show",
    "similarity",
    "typed",
    "under_cutoff",
    "unmeasurable_layers",
    "vectors",
]
