"""Cutting texts into sentences, and joining wrapped lines to paragraphs."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray
from sentencex import get_sentence_boundaries

from clsviz.sources import languages

RECIPE = 2  # raised when the same text may be cut into other sentences
LONG_TEXT = 200  # mean length, in characters, above which texts hold several sentences
FEWEST_PAIRS, WIDTHS = 5, range(35, 131)  # lines, and their widths, at which prose is wrapped
STOP = re.compile(r"([.!?…:;—]|--)['\"’”»)\]_*]*$")

MARK = re.compile(r"[\"“”„‟«»‹›‘‚‛]|(?<!\w)['’]|['’](?!\w)")
"""A quotation mark, or an apostrophe at an end of a word, which may be one."""

OPENING = "«“„‹‚‘"  # marks that open a quotation between blanks, as in French

UNSPACED = re.compile(
    "[\u0e01-\u0e30\u0e40-\u0e45\u0e81-\u0eb0\u0ec0-\u0ec4\u1000-\u102a\u1780-\u17b3"
    "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, without the marks above and below."""

LETTERS_COUNT = "In scripts without spaces, such as Chinese, each letter counts as a word."

BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)

ROW = re.compile(r"[|#>•]|[-*+–] |\d{1,3}[.)] |[\[(]?\d{1,2}:\d\d|[\w .'-]{1,24}: ")
"""Beginnings of lines that go on with none above: rows of tables, headings, items, remarks."""

OPEN = re.compile(r"\b(?:a|an|and|by|for|from|in|of|on|or|the|to|with)$")
"""Words that end no line but a wrapped one."""

TITLE = re.compile(r"#{1,6} |\|.*\|$")
HEADING = re.compile(r"[|#]|[=*-]{3,}$")

ORDINAL = re.compile(r"(?<![\w.,])(?<!\. )\d{1,2}\.$")  # not in “Nr. 5.”
ABBREVIATION = re.compile(r"([^\W\d_]+(?:\.[^\W\d_]+)*)\.$")
SHORT, STREETS = 4, ("str", "straat")  # letters of abbreviations before figures and small letters

ELLIPSIS = re.compile(r"(?<=……)(?![…。！？!?，、）」』”’\s])")
"""Where an ellipsis of two signs ends a sentence of Chinese or Japanese."""


def cut(text: str, language: str = languages.SEVERAL) -> list[str]:
    """The sentences of a text, also within quotations, without the white space around them.

    language: by whose rules, as in ISO 639; SEVERAL for those of the text's own.
    """
    if language == languages.SEVERAL:
        language = languages.guess(text) or languages.ENGLISH
    parts = [line for part in BREAK.split(text) for line in _lines(part)]
    pieces = (piece.strip() for part in parts for piece in _cut(part, language))
    return [piece for piece in pieces if piece]


def _lines(text: str) -> Iterator[str]:
    """The text between the line breaks that end a heading, a remark or a row of a table.

    Where lines are wrapped, full ones end nothing; small letters go on with the line above.
    """
    lines = text.splitlines()
    if len(lines) < 2:
        yield text
        return
    width = max(map(len, lines))
    pairs = list(pairwise(map(str.strip, lines)))
    full = [not a or not b or len(a) + 1 + len(b.split()[0]) > 0.9 * width for a, b in pairs]
    is_running = any(
        a and b[:1].islower() for (a, b), is_full in zip(pairs, full, strict=True) if is_full
    )
    are_wrapped = width in WIDTHS and (is_running or (width > 60 and all(full)))
    start = 0
    for at, ((above, below), is_full) in enumerate(zip(pairs, full, strict=True), 1):
        goes_on = not above or not below or below[0].islower() or OPEN.search(above)
        is_marked = ROW.match(below) or HEADING.match(above)
        if is_marked or not (goes_on or (are_wrapped and is_full)):
            yield "\n".join(lines[start:at])
            start = at
    yield "\n".join(lines[start:])


def _cut(text: str, language: str) -> list[str]:
    """The text cut where sentences begin.

    sentencex keeps quotations whole, so it gets spaces instead of the marks. An opening mark is
    part of the sentence after it. Small letters go on with a sentence after a closing mark, as in
    “Why?” he said, and after any but a full stop.
    """
    without_marks = MARK.sub(" ", text)
    is_english = language == languages.ENGLISH or text.islower()
    starts = [0]
    for boundary in get_sentence_boundaries(language, without_marks)[1:]:
        start = end = boundary["start_index"]
        while end and without_marks[end - 1].isspace():
            end -= 1
        marks = [at for at in range(end, start) if not text[at].isspace()]
        opening = next((at for at in marks if _opens(text, at)), None)
        before, first = without_marks[max(0, end - 30) : end], text[start : start + 1]
        if opening is not None:
            starts.append(opening)
        elif not is_english and _goes_on(before, first, language):
            continue
        elif not first.islower() or (before[-1:] == "." and not marks):
            starts.append(start)
    pieces = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    if language in ("zh", "ja"):
        return [part for piece in pieces for part in ELLIPSIS.split(piece)]
    return pieces


def _goes_on(before: str, first: str, language: str) -> bool:
    """True if a full stop is that of an ordinal or an abbreviation, and ends no sentence.

    Of languages besides English, sentencex knows fewer abbreviations.
    """
    is_small = first.islower()
    if language in languages.DATA["ordinals"].split() and (
        ORDINAL.search(before) or (is_small and before[-2:-1].isdigit() and before[-1] == ".")
    ):
        return True
    if not (match := ABBREVIATION.search(before)):
        return False
    word = match[1].casefold()
    is_short = len(word) <= SHORT or "." in word or word.endswith(STREETS)
    is_known = word in languages.DATA["abbreviations"].get(language, "").split()
    return is_known or ((is_small or first.isdigit()) and is_short)


def _opens(text: str, at: int) -> bool:
    """True if a quotation mark that ends no text opens a quotation."""
    is_before_word = not text[at + 1 : at + 2].isspace()
    return text[at - 1].isspace() and (is_before_word or text[at] in OPENING)


def n_words(text: str) -> int:
    """Words of a text, where each letter of a script without spaces counts as one."""
    spaced, n_letters = UNSPACED.subn(" ", text)
    words = spaced.split()
    if n_letters:  # a mark between them is no word
        words = [word for word in words if any(map(str.isalnum, word))]
    return n_letters + len(words)


def letters_count(texts: Iterable[str], unit: str) -> list[str]:
    """A sentence where lengths are in words, and a letter counts as one."""
    return [LETTERS_COUNT] * (unit == "words" and any(map(UNSPACED.search, texts)))


def lengths(texts: Collection[str], unit: str) -> NDArray[np.int32]:
    """Lengths of n texts in characters, or else in words, int32 (n,)."""
    length = len if unit == "characters" else n_words
    return np.fromiter(map(length, texts), np.int32, len(texts))


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """The lines up to each blank one, joined by spaces; titles and rows of Markdown alone."""

    def kind(line: str) -> tuple[bool, str]:
        return bool(line), line if TITLE.match(line) else ""

    for (is_filled, _), block in groupby(map(str.strip, lines), kind):
        if is_filled:
            yield " ".join(block)


def is_wrapped(lines: Sequence[str]) -> bool:
    """True if the lines are prose wrapped at some width.

    There most lines are full, and many sentences run on in small letters on the next one.
    """
    pairs = [(a.rstrip(), b.lstrip()) for a, b in pairwise(lines) if a.strip() and b.strip()]
    if len(pairs) < FEWEST_PAIRS:
        return False
    lengths = sorted(len(above) for above, _ in pairs)
    width = lengths[9 * len(lengths) // 10]
    n_full = sum(len(above) + 1 + len(below.split()[0]) > 0.9 * width for above, below in pairs)
    n_running = sum(below[0].islower() and not STOP.search(above) for above, below in pairs)
    return width in WIDTHS and n_full >= 0.65 * len(pairs) and n_running >= 0.3 * len(pairs)
