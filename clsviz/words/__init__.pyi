from . import anatomy, comparison, dimensions, growth, profile, sentlen, try_a_sentence, typed, view, waiting
from .answer import PENDING, answer, by_cutoff, caveats, in_numbers, key_numbers, lengths_at_norms, notes, result
from .how_to_read import HOW_TO_READ, HOW_TO_READ_LAYERS
from .labels import POOLINGS, axis_title, question, vector_name
from .numbers import cost, duration, number
from .provenance import command, differences, pinned, probe_settings, settings

__all__ = [
    "HOW_TO_READ",
    "HOW_TO_READ_LAYERS",
    "PENDING",
    "POOLINGS",
    "anatomy",
    "answer",
    "axis_title",
    "by_cutoff",
    "caveats",
    "command",
    "comparison",
    "cost",
    "differences",
    "dimensions",
    "duration",
    "growth",
    "in_numbers",
    "key_numbers",
    "lengths_at_norms",
    "notes",
    "number",
    "pinned",
    "probe_settings",
    "profile",
    "question",
    "result",
    "sentlen",
    "settings",
    "try_a_sentence",
    "typed",
    "vector_name",
    "view",
    "waiting",
]
