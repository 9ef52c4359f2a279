from . import anatomy, comparison, dimensions, growth, profile, reading, sentlen, try_a_sentence, typed, view, waiting
from .answer import answer, key_numbers, lengths_at_norms, notes, result
from .how_to_read import HOW_TO_READ, HOW_TO_READ_LAYERS
from .labels import OVERLAYS, POOLINGS, axis_title, length_title, question, vector_name
from .numbers import cost, duration, number
from .provenance import command, differences, pinned, probe_settings, settings, shipped

__all__ = [
    "HOW_TO_READ",
    "HOW_TO_READ_LAYERS",
    "OVERLAYS",
    "POOLINGS",
    "anatomy",
    "answer",
    "axis_title",
    "command",
    "comparison",
    "cost",
    "differences",
    "dimensions",
    "duration",
    "growth",
    "key_numbers",
    "length_title",
    "lengths_at_norms",
    "notes",
    "number",
    "pinned",
    "probe_settings",
    "profile",
    "question",
    "reading",
    "result",
    "sentlen",
    "settings",
    "shipped",
    "try_a_sentence",
    "typed",
    "vector_name",
    "view",
    "waiting",
]
