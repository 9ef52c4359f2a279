"""Cutting texts into sentences."""

import importlib.metadata
import re
from collections.abc import Iterable

from sentencex import get_sentence_boundaries

from clsviz.settings import Segmentation

VERSION = f"2, sentencex {importlib.metadata.version('sentencex')}"
"""Changes when the same text may be cut into different sentences."""

MAX_CHARACTERS = 100_000
"""The longest sentence that is kept: far more than a model reads, and still tokenized in no time."""

LONG_TEXT = 200
"""Mean length, in characters, above which texts are taken to hold several sentences."""

_QUOTATION_MARKS, _APOSTROPHES = '"“”„‟«»‹›', "'‘’‚‛"
_MARK = re.compile(f"[{_QUOTATION_MARKS}{_APOSTROPHES}]")
_ONLY_OPEN = "«“„‹‚‘"
_BEFORE_QUOTATIONS = "([{—–-/" + _QUOTATION_MARKS + _APOSTROPHES

_ELISION = re.compile(r"(?:tis|twas|twere|twill|em|cause|bout|til|round|n|\d\ds?)\b", re.IGNORECASE)
"""What may follow an apostrophe that no quotation begins with, as in ’tis."""

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)  # found in texts from web pages


def chosen_for(mean_characters: float) -> Segmentation:
    """How to treat texts of this mean length if the user leaves it to us."""
    return Segmentation.SENTENCES if mean_characters > LONG_TEXT else Segmentation.NONE


def sentences(texts: Iterable[str], *, cut: bool) -> list[str]:
    """The sentences of English texts in order, or the texts themselves unless `cut`.

    Texts are cut within quotations as well. Runs of white space, including line breaks, become one space. Blank ones,
    and those over MAX_CHARACTERS, are left out.
    """
    if cut:
        texts = (piece for text in texts for piece in _pieces(_BREAK.sub("\n\n", text)))
    found = (" ".join(text.split()) for text in texts)
    return [sentence for sentence in found if sentence and len(sentence) <= MAX_CHARACTERS]


def _pieces(text: str) -> list[str]:
    """The text cut where sentences begin.

    sentencex keeps whatever stands in quotation marks whole, so it gets the text without them. A mark between two
    sentences belongs to the second if it opens a quotation. What goes on in lower case after a quotation, as “he said”
    does, is still its sentence.
    """
    opens = _quotation_marks(text)
    characters = list(text)
    for at in opens:
        characters[at] = " "
    blanked = "".join(characters)
    starts = [0]
    for boundary in get_sentence_boundaries("en", blanked)[1:]:
        start = boundary["start_index"]
        begin = len(blanked[:start].rstrip())
        marks = [at for at in range(begin, start) if at in opens]
        if opening := [at for at in marks if opens[at]]:
            starts.append(opening[0])
        elif not (marks and text[start].islower()):
            starts.append(start)
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def _quotation_marks(text: str) -> dict[int, bool]:
    """Where quotation marks stand, and whether each opens a quotation.

    An apostrophe within a word or at its end is none, unless a quotation is open that began with such a mark.
    """
    opens: dict[int, bool] = {}
    n_open = 0
    for found in _MARK.finditer(text):
        mark, at = found[0], found.start()
        before, after = text[at - 1] if at else " ", text[at + 1] if at + 1 < len(text) else " "
        is_at_word = (before.isspace() or before in _BEFORE_QUOTATIONS) and not after.isspace()
        if mark in _QUOTATION_MARKS:  # French ones have spaces on both sides
            opens[at] = is_at_word or (before.isspace() and after.isspace() and mark in _ONLY_OPEN)
        elif is_at_word:
            opens[at] = True
            n_open += mark != "’" and not _ELISION.match(text, at + 1)
        elif n_open and not after.isalnum() and not before.isspace():
            opens[at] = False
            n_open -= before in ".!?…,;:—–-"  # else it may be the apostrophe of a plural, as in the boys’
    return opens
