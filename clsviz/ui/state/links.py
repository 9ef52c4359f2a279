"""The settings of single pages, which are not part of the experiment, as they are written in links."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from clsviz.errors import SettingError
from clsviz.experiment import parse_setting
from clsviz.settings import (
    ALTERED_SIZES,
    DEFAULT_OVERLAYS,
    MOST_MODELS,
    PAGE_PARAMETERS,
    Overlay,
    SimilarityFunction,
    Trait,
    is_name,
    shown,
)
from clsviz.sources import catalogue

Report = Callable[[SettingError], None]

FIELD = "column:"
"""What stands before the name of a column that sentences are coloured by."""

LONGEST_SEARCH = 80
"""Characters that can be looked for."""

MOST_MARKS = 1_000
"""The most points in a link."""

_LONGEST_MARKS = 9_000

_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?(?:e[+-]?\d\d)?"

_MARK = (
    rf"(?:points:\d{{1,7}}(?:,\d{{1,7}})*|box:{_NUMBER}(?:,{_NUMBER}){{3}}|lasso:{_NUMBER},{_NUMBER}"
    rf"(?:,{_NUMBER},{_NUMBER}){{2,}})"
)
"""Points, a box, or a lasso of three corners or more; see `parts.marks`."""


def _setting(name: str, value_of: Callable[[str], Any], must_be: str = "") -> Callable[[str, Report], Any]:
    """How a setting is read: where its text cannot be used, that is reported, and it has its default.

    value_of: what a text stands for, and "" for the default; raises SettingError, or ValueError or KeyError where the
    text is not what it must be.
    """

    def read(text: str, report: Report) -> Any:
        try:
            return value_of(text)
        except SettingError as error:
            report(error)
        except (ValueError, KeyError):
            report(SettingError(f"{name} is “{shown(text)}”; it must be {must_be}."))
        return value_of("")

    return read


def _switch(name: str, word: str) -> Callable[[str, Report], bool]:
    """A setting that is on if the link has this word, and off if it is left out."""
    return _setting(name, {"": False, word: True}.__getitem__, f"{word}, or left out")


def _checked(
    is_right: Callable[[str], object], value_of: Callable[[str], Any] = str, default: Any = ""
) -> Callable[[str], Any]:
    """What a text stands for, which must be right, or the default if it is left out."""

    def checked(text: str) -> Any:
        if text and not is_right(text):
            raise ValueError(text)
        return value_of(text) if text else default

    return checked


def _place(name: str) -> Callable[[str, Report], int]:
    """The number, from 1, of a sentence of the visitor or of a word in it; the page knows how many there are."""
    is_place = re.compile("[1-9][0-9]{0,2}").fullmatch
    return _setting(name, _checked(is_place, int, 1), "a whole number from 1 to 999")


def _models(text: str, report: Report) -> list[str]:
    """The models of a comparison, without those that cannot be used, which are reported."""
    found: list[str] = []
    for part in filter(None, text.split(",")):
        try:
            name = parse_setting("model", part)
        except SettingError as error:
            report(error)
        else:
            found += [name] if name not in found else []
    if len(found) > MOST_MODELS:
        report(SettingError(f"models lists {len(found)}; at most {MOST_MODELS} can be compared."))
    return found[:MOST_MODELS]


def _overlays(text: str) -> list[Overlay]:
    """What is drawn over the sentences: names with commas between them, or none."""
    if not text or text == "none":
        return [] if text else list(DEFAULT_OVERLAYS)
    return list(dict.fromkeys(map(Overlay, text.split(","))))


def overlays_text(overlays: Sequence[Overlay]) -> str:
    """Overlays as a link has them; "" for the default."""
    return "" if set(overlays) == set(DEFAULT_OVERLAYS) else ",".join(overlays) or "none"


def _are_marks(text: str) -> bool:
    if text.startswith("sentences:"):
        raise SettingError("selected names sentences as links once did, which is no longer read: nothing is selected.")
    return re.fullmatch(rf"{_MARK}(;{_MARK})*", text, re.ASCII) is not None and len(text) <= _LONGEST_MARKS


def _other_corpus(text: str) -> str:
    try:
        return str(parse_setting("corpus", text)) if text else ""
    except SettingError as error:
        raise SettingError(f"travel_to: {error}") from None


def _titles(text: str) -> str:
    """The column of the table that searches for its texts; "" for the likeliest."""
    if text and not is_name(text):
        raise SettingError("titles must be the name of a column of the corpus, or left out.")
    return text


def _gone(name: str, why: str) -> Callable[[str, Report], bool]:
    """A setting that only older links have."""

    def is_asked_for(text: str) -> bool:
        if text:
            raise SettingError(f"{name} is not read by a page{why}")
        return False

    return _setting(name, is_asked_for)


def field_of(colour: object) -> str | None:
    """The column of the table that sentences are coloured by; None if they are not."""
    is_field = isinstance(colour, str) and colour.startswith(FIELD) and is_name(colour.removeprefix(FIELD))
    return str(colour).removeprefix(FIELD) if is_field else None


def _colour(text: str) -> Trait | str | None:
    """The trait that sentences are coloured by, or the column after the word for one, or None."""
    if field_of(text) is not None:
        return text
    return Trait(text) if text else None


_FEWEST, _MOST = ALTERED_SIZES

EXTRAS: dict[str, Callable[[str, Report], Any]] = {
    "models": _models,
    "axes": _switch("axes", "free"),
    "heat": _switch("heat", "probe"),
    "nearest": _switch("nearest", "yes"),
    "sentence": _place("sentence"),
    "word": _place("word"),
    "overlays": _setting("overlays", _overlays, f"none, or some of {', '.join(Overlay)}"),
    "zoom": _setting(
        "zoom",
        _checked(
            re.compile(rf"{_NUMBER}(,{_NUMBER}){{3}}", re.ASCII).fullmatch,
            lambda text: tuple(map(float, text.split(","))),
            (),
        ),
        "four numbers, the ends of both axes",
    ),
    "selected": _setting("selected", _checked(_are_marks), "as a link of this page has it"),
    "joined": _gone("joined", " any more; clsviz similarity measures joined sentences."),
    "erase": _switch("erase", "yes"),
    "travel_to": _setting("travel_to", _other_corpus),
    "colour": _setting("colour", _colour, f"one of {', '.join(Trait)}, {FIELD} and a column’s name, or left out"),
    "find": _setting(
        "find",
        _checked(lambda text: len(text) <= LONGEST_SEARCH and text.isprintable()),
        f"at most {LONGEST_SEARCH} printable characters",
    ),
    "origin": _setting(
        "origin",
        _checked(lambda text: re.fullmatch("[0-9]{1,5}", text) and _FEWEST <= int(text) <= _MOST, int, 0),
        f"a number of sentences from {_FEWEST:,} to {_MOST:,}",
    ),
    "sentlen_file": _gone("sentlen_file", "; clsviz probe --sentlen-file measures it."),
    "project": _switch("project", "yes"),
    "random_weights": _switch("random_weights", "yes"),
    "similarity": _setting(
        "similarity",
        lambda text: SimilarityFunction(text or SimilarityFunction.COSINE),
        " or ".join(SimilarityFunction),
    ),
    "titles": _setting("titles", _titles),
    "searches": _setting("searches", _checked(catalogue.is_upload), "an uploaded file, or left out"),
}
"""How each is read, by its name in links and in the session's state; "" gives the default."""

assert tuple(EXTRAS) == PAGE_PARAMETERS
