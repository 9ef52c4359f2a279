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


def _word(name: str, word: str) -> Callable[[str, Report], bool]:
    """A setting that is on if the link has this word, and off if it is left out."""

    def is_on(text: str, report: Report) -> bool:
        if text not in ("", word):
            report(SettingError(f"{name} is “{shown(text)}”; it must be {word}, or left out."))
        return text == word

    return is_on


def _place(name: str) -> Callable[[str, Report], int]:
    """The number, from 1, of a sentence of the visitor or of a word in it; the page knows how many there are."""

    def place(text: str, report: Report) -> int:
        if not re.fullmatch("[1-9][0-9]{0,2}", text or "1"):
            report(SettingError(f"{name} is “{shown(text)}”; it must be a whole number from 1 to 999."))
            return 1
        return int(text or "1")

    return place


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


def _overlays(text: str, report: Report) -> list[Overlay]:
    """What is drawn over the sentences: names with commas between them, or none."""
    if not text or text == "none":
        return [] if text else list(DEFAULT_OVERLAYS)
    try:
        return list(dict.fromkeys(map(Overlay, text.split(","))))
    except ValueError:
        report(SettingError(f"overlays is “{shown(text)}”; it must be none, or some of {', '.join(Overlay)}."))
        return list(DEFAULT_OVERLAYS)


def _zoom(text: str, report: Report) -> tuple[float, ...]:
    """The ends of both axes, four numbers; none if nothing is zoomed."""
    if text and not re.fullmatch(rf"{_NUMBER}(,{_NUMBER}){{3}}", text, re.ASCII):
        report(SettingError(f"zoom is “{shown(text)}”; it must be four numbers, the ends of both axes."))
        return ()
    return tuple(map(float, text.split(","))) if text else ()


def _selected(text: str, report: Report) -> str:
    """What is marked in the scatter."""
    if text.startswith("sentences:"):
        report(
            SettingError("selected names sentences as links once did, which is no longer read: nothing is selected.")
        )
        return ""
    if text and (not re.fullmatch(rf"{_MARK}(;{_MARK})*", text, re.ASCII) or len(text) > _LONGEST_MARKS):
        report(SettingError(f"selected is “{shown(text)}”; it must be as a link of this page has it."))
        return ""
    return text


def overlays_text(overlays: Sequence[Overlay]) -> str:
    """Overlays as a link has them; "" for the default."""
    return "" if set(overlays) == set(DEFAULT_OVERLAYS) else ",".join(overlays) or "none"


def _corpus(name: str) -> Callable[[str, Report], str]:
    """The name of a corpus or of a file, or "" if none is named or it cannot be used, which is reported."""

    def corpus(text: str, report: Report) -> str:
        try:
            return str(parse_setting("corpus", text)) if text else ""
        except SettingError as error:
            report(SettingError(f"{name}: {error}"))
            return ""

    return corpus


def _task_file(text: str, report: Report) -> str:
    """Nothing: older links named a file of the published SentLen task."""
    if text:
        report(SettingError("sentlen_file is not read by a page; clsviz probe --sentlen-file measures it."))
    return ""


def _joined(text: str, report: Report) -> bool:
    """Nothing: older links had joined sentences measured."""
    if text:
        report(SettingError("joined is not read by a page any more; clsviz similarity measures joined sentences."))
    return False


def _similarity(text: str, report: Report) -> SimilarityFunction:
    """What ranks texts."""
    try:
        return SimilarityFunction(text or SimilarityFunction.COSINE)
    except ValueError:
        report(SettingError(f"similarity is “{shown(text)}”; it must be {' or '.join(SimilarityFunction)}."))
        return SimilarityFunction.COSINE


def _titles(text: str, report: Report) -> str:
    """The column of the table that searches for its texts; "" for the likeliest."""
    if text and not is_name(text):
        report(SettingError("titles must be the name of a column of the corpus, or left out."))
        return ""
    return text


def _searches(text: str, report: Report) -> str:
    """The upload that has searches with their right texts, or ""."""
    if text and not catalogue.is_upload(text):
        report(SettingError(f"searches is “{shown(text)}”; it must be an uploaded file, or left out."))
        return ""
    return text


def _n_altered(text: str, report: Report) -> int:
    """How many sentences are altered; 0 if the link does not ask for it."""
    low, high = ALTERED_SIZES
    if text and not (re.fullmatch("[0-9]{1,5}", text, re.ASCII) and low <= int(text) <= high):
        report(SettingError(f"origin is “{shown(text)}”; it must be a number of sentences from {low:,} to {high:,}."))
        return 0
    return int(text or "0")


def field_of(colour: object) -> str | None:
    """The column of the table that sentences are coloured by; None if they are not."""
    is_field = isinstance(colour, str) and colour.startswith(FIELD) and is_name(colour.removeprefix(FIELD))
    return str(colour).removeprefix(FIELD) if is_field else None


def _colour(text: str, report: Report) -> Trait | str | None:
    """The trait that sentences are coloured by, or the column after the word for one, or None."""
    if field_of(text) is not None:
        return text
    try:
        return Trait(text) if text else None
    except ValueError:
        choices = ", ".join(Trait)
        problem = f"colour is “{shown(text)}”; it must be one of {choices}, {FIELD} and a column’s name, or left out."
        report(SettingError(problem))
        return None


def _find(text: str, report: Report) -> str:
    """What is looked for in the sentences."""
    if len(text) > LONGEST_SEARCH or not text.isprintable():
        report(SettingError(f"find is “{shown(text)}”; it must be at most {LONGEST_SEARCH} printable characters."))
        return ""
    return text


EXTRAS: dict[str, Callable[[str, Report], Any]] = {
    "models": _models,
    "axes": _word("axes", "free"),
    "heat": _word("heat", "probe"),
    "nearest": _word("nearest", "yes"),
    "sentence": _place("sentence"),
    "word": _place("word"),
    "overlays": _overlays,
    "zoom": _zoom,
    "selected": _selected,
    "joined": _joined,
    "erase": _word("erase", "yes"),
    "travel_to": _corpus("travel_to"),
    "colour": _colour,
    "find": _find,
    "origin": _n_altered,
    "sentlen_file": _task_file,
    "project": _word("project", "yes"),
    "random_weights": _word("random_weights", "yes"),
    "similarity": _similarity,
    "titles": _titles,
    "searches": _searches,
}
"""How each is read, by its name in links and in the session's state; "" gives the default."""

assert tuple(EXTRAS) == PAGE_PARAMETERS
