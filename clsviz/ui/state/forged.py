"""Values that no control of ours sends: whoever forges messages, or a browser that is out of step, may send any."""

from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from typing import Any

import streamlit as st

from clsviz import words
from clsviz.experiment import Experiment
from clsviz.settings import ALL, CHOICES, NAME_SETTINGS, RANGES, Overlay, SimilarityFunction, Trait
from clsviz.sources import catalogue
from clsviz.sources.segmentation import MAX_CHARACTERS
from clsviz.ui.state import session
from clsviz.ui.state.links import EXTRAS, LONGEST_SEARCH, field_of

Check = Callable[[Any], bool]


def _whole(low: int, high: int) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def _text(longest: int | None = None) -> Check:
    return lambda value: isinstance(value, str) and (longest is None or (len(value) <= longest and value.isprintable()))


def _one_of(choices: type[StrEnum]) -> Check:
    return lambda value: isinstance(value, choices)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _typed(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CHARACTERS


def _all(check: Check) -> Check:
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


_PLACES = _whole(1, 999)

_CHECKS: dict[str, Check] = {
    **{name: _text(500) for name in NAME_SETTINGS},
    **{name: _whole(*ends) for name, ends in RANGES.items()},
    **{name: _one_of(choices) for name, choices in CHOICES.items()},
    "sample_size": lambda value: value == ALL or _whole(*RANGES["sample_size"])(value),
    "layer": lambda value: value == session.LAST or _whole(*RANGES["layer"])(value),
    **dict.fromkeys(("axes", "heat", "nearest", "erase", "project", "random_weights", "with_text"), _is_switch),
    "sentence": _PLACES,
    "word": _PLACES,
    "origin": _whole(0, RANGES["sample_size"][1]),
    "models": _all(_text(500)),
    "overlays": _all(_one_of(Overlay)),
    "zoom": _all(lambda value: isinstance(value, float)),
    "colour": lambda value: value is None or isinstance(value, Trait) or field_of(value) is not None,
    "find": _text(LONGEST_SEARCH),
    "travel_to": _text(500),
    "similarity": _one_of(SimilarityFunction),
    "titles": _text(500),
    "searches": lambda value: value == "" or (isinstance(value, str) and catalogue.is_upload(value)),
    "selected": _text(),
    "text": _typed,
}
"""Whether a setting of the session's state may have a value; whether it fits the model and the page is seen later."""

_OUT_OF_STEP = ("sentence", "word")
"""A browser may send one of the sentence before while the visitor types the next: nothing to speak of."""

_OF_WIDGETS: dict[str, Check] = {
    **dict.fromkeys(("every_cutoff", "several"), _is_switch),
    **dict.fromkeys(("text_line", "text_second", "text_area"), _typed),
    "origin_size": _whole(1, RANGES["sample_size"][1]),
}
"""The same for controls whose values are no settings; without a value they begin anew."""


def mend() -> None:
    """Put what cannot be back to its default, and note it; before any control is drawn."""
    state = st.session_state
    if session.written() is None:  # nothing was drawn yet that could have been sent
        return
    for name in [name for name, may_be in _OF_WIDGETS.items() if name in state and not may_be(state[name])]:
        del state[name]
    bad = [name for name, may_be in _CHECKS.items() if name in state and not may_be(state[name])]
    if not bad:
        return
    defaults = {field.name: field.default for field in fields(Experiment)} | {"layer": session.LAST}
    defaults |= {name: read("", lambda _: None) for name, read in EXTRAS.items()} | {"text": "", "with_text": False}
    for name in bad:
        state[name] = defaults[name]
    if noted := [name for name in bad if name not in _OUT_OF_STEP]:
        session.adjust(words.waiting.cannot_be(noted))
