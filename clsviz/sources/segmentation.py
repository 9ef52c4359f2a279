"""Joining the lines of wrapped text to paragraphs, and cutting texts into sentences."""

import importlib.metadata
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
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


SAMPLE_CHARACTERS = 2**20
"""How much of a file its wrapping is found out from."""

_MOST_CHARACTERS = 50_000
"""A paragraph that grows longer is passed on in pieces, at the end of a line."""

_WIDTHS = range(35, 131)
"""The widths, in characters, at which people and programs wrap prose."""

_FULL = 0.9
"""A line is full if the next word would have taken it beyond this share of the width: few editors are stricter."""

_SHORT = 0.6
"""A line shorter than this share of the width ends a paragraph even without a full stop."""

_FEWEST_PAIRS, _LEAST_FULL, _LEAST_RUNNING, _LEAST_INSIDE, _LEAST_LETTERS = 5, 0.65, 0.3, 0.05, 0.85
"""What wrapped prose has of each: see `is_wrapped`."""

_MOST_ALIKE = 0.25
"""The largest share of its lines that begin with the same word."""

_HYPHENATED = 0.02
"""The share of lines that end in a hyphen above which words were cut in two to fill the lines."""

_CLOSERS = "['\"’”»)\\]_*]*"
_STOP = re.compile(rf"[.!?…]{_CLOSERS}$")
_END = re.compile(rf"([.!?…:;—]|--){_CLOSERS}$")
_STOP_INSIDE = re.compile(rf"[^\W\d_][.!?…]{_CLOSERS} +\S")
_BULLET = re.compile(r"\s*([-*+•]|\(?\w{1,3}[.)])\s+\S")
_MERE_NUMBER = re.compile(r"\W*(\w+\s+)?([ivxlcdm]+|\d+)\W*", re.IGNORECASE)
_HYPHEN = re.compile(r"[^\W\d_]-$")
_FRAME = re.compile(r"\*\*\* ?(START|END) OF (?:THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)


def is_wrapped(lines: Sequence[str]) -> bool:
    """Whether these lines, the beginning of a file, are prose wrapped at some width.

    Looks at each line with the one right below it. In wrapped prose nearly all of them are full, many sentences run on
    from one to the next, in small letters, and others end inside a line. Sentences, records or verses that have a line
    each lack at least one of these.
    """
    pairs = _pairs(lines)
    if len(pairs) < _FEWEST_PAIRS:
        return False
    width = _width(pairs)
    upper = [above.strip() for above, _ in pairs]
    text = "".join(upper)
    ((_, n_alike),) = Counter(line.partition(" ")[0] for line in upper).most_common(1)

    def share(of_pairs: Iterable[bool]) -> float:
        return sum(of_pairs) / len(pairs)

    return (  # as soon as one is lacking, the others need not be counted
        width in _WIDTHS
        and n_alike <= _MOST_ALIKE * len(pairs)
        and share(below.lstrip()[:1].islower() and not _END.search(above) for above, below in pairs) >= _LEAST_RUNNING
        and share(_is_full(above, below, width) for above, below in pairs) >= _LEAST_FULL
        and share(bool(_STOP_INSIDE.search(line)) for line in upper) >= _LEAST_INSIDE
        and (sum(map(str.isalpha, text)) + text.count(" ")) / max(1, len(text)) >= _LEAST_LETTERS
    )


class Wrapped:
    """How the lines of a text are wrapped.

    width: in characters. n_left_out: lines that belong to no paragraph of prose, in what was joined last.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        """lines: the beginning of the file."""
        pairs = _pairs(lines)
        self.width = _width(pairs)
        self.n_left_out = 0
        self._is_cut_in_words = sum(bool(_HYPHEN.search(above)) for above, _ in pairs) > _HYPHENATED * len(pairs)
        self._begins_outside = next((found[1].upper() for found in map(_FRAME.match, lines) if found), "") == "START"

    def paragraphs(self, lines: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """The paragraphs of a text, each on one line, as many at a time as the lines come in.

        Left out are headings, tables, lists of short lines, verses, and whatever Project Gutenberg puts around a book.
        """
        self.n_left_out = 0
        is_outside = self._begins_outside
        block: list[str] = []
        size = 0
        held = ""  # the last paragraph: the next may be the rest of it, on another page
        for piece in lines:
            found: list[str] = []
            for line in [*piece]:
                if frame := _FRAME.match(line):
                    is_outside = frame[1].upper() == "END"
                if frame or is_outside:
                    self.n_left_out += bool(line.strip())
                    line = ""
                if line.strip():
                    block.append(line.rstrip())
                    size += len(line)
                if block and (not line.strip() or size > _MOST_CHARACTERS):
                    found += self._of_block(block)
                    block, size = [], 0
            *whole, held = self._joined([held, *found]) or [""]
            yield whole
        yield [text for text in self._joined([held, *self._of_block(block)]) if text]

    def _joined(self, texts: Iterable[str]) -> list[str]:
        """Paragraphs, with those that begin inside a sentence put to the one before."""
        joined: list[str] = []
        for text in texts:
            last = joined[-1] if joined else ""
            if text[:1].islower() and 0 < len(last) < _MOST_CHARACTERS and not _END.search(last[-20:]):
                joined[-1] = self._before(text, joined[-1]) + text
            else:
                joined.append(text)
        return joined

    def _of_block(self, block: Sequence[str]) -> list[str]:
        """The paragraphs of prose among lines without a blank one between them."""
        paragraphs: list[list[str]] = []
        for line in block:
            if paragraphs and not self._ends_between(paragraphs[-1][-1], line):
                paragraphs[-1].append(line)
            else:
                paragraphs.append([line])
        n_stops = sum(bool(_STOP.search(paragraph[-1])) for paragraph in paragraphs)
        is_listed = len(paragraphs) > 2 and len(paragraphs) > len(block) / 2 and n_stops < len(paragraphs) / 2
        prose = [] if is_listed else [paragraph for paragraph in paragraphs if self._is_prose(paragraph)]
        self.n_left_out += len(block) - sum(map(len, prose))
        stripped = ([line.strip() for line in paragraph] for paragraph in prose)
        return ["".join(self._before(below, above) for above, below in pairwise(of)) + of[-1] for of in stripped]

    def _ends_between(self, above: str, below: str) -> bool:
        """Whether a paragraph ends between two lines that follow one another."""
        if _BULLET.match(below) and not _is_full(above, below, self.width):
            return True
        if _indent(below) > _indent(above) and _END.search(above):
            return True
        if _is_full(above, below, self.width) or below.lstrip()[:1].islower():
            return False
        return bool(_END.search(above)) or len(above) < _SHORT * self.width

    def _is_prose(self, paragraph: Sequence[str]) -> bool:
        text = " ".join(line.strip() for line in paragraph)
        if not any(map(str.islower, text)) or _MERE_NUMBER.fullmatch(text) or text.startswith(("[Illustration", "|")):
            return False
        n_full = sum(_is_full(above, below, self.width) for above, below in pairwise(paragraph))
        return 2 * n_full >= len(paragraph) > 1 or (" " in text and bool(_END.search(text)))

    def _before(self, below: str, above: str) -> str:
        """`above` as it stands before `below`: with a space, unless the break fell inside a word or after a dash."""
        if above.endswith("--"):
            return above
        if _HYPHEN.search(above[-2:]) and below[:1].islower():
            return above[:-1] if self._is_cut_in_words else above
        return f"{above} "


def _pairs(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Lines that follow one another, without a blank one between them."""
    return [(above.rstrip(), below) for above, below in pairwise(lines) if above.strip() and below.strip()]


def _width(pairs: Sequence[tuple[str, str]]) -> int:
    """The width at which lines are wrapped, if they are: one that nine in ten keep, in characters."""
    return int(np.quantile([len(above) for above, _ in pairs] or [_WIDTHS[-1]], 0.9))


def _is_full(above: str, below: str, width: int) -> bool:
    """Whether the first word below would have been too long for the line above."""
    is_table = "   " in above.strip()
    return len(above) + 1 + len(below.split(maxsplit=1)[0]) > _FULL * width and not is_table


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
