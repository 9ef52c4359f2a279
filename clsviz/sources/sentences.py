"""Cutting texts into sentences, and joining wrapped lines to paragraphs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from sentencex import get_sentence_boundaries

RECIPE = 1
"""Increased when the same text may be cut into other sentences."""

LONG_TEXT = 200
"""Mean length, in characters, above which texts hold several sentences."""

FEWEST_PAIRS, WIDTHS = 5, range(35, 131)
"""Lines that follow one another, and widths in characters at which prose is wrapped."""

STOP = re.compile(r"([.!?…:;—]|--)['\"’”»)\]_*]*$")

MARK = re.compile(r"[\"“”„‟«»‹›‘‚‛]|(?<!\w)['’]|['’](?!\w)")
"""A quotation mark, or an apostrophe at an end of a word, which may be one."""

OPENING = "«“„‹‚‘"
"""Marks that open a quotation when there is white space on both sides, as in French."""

BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def cut(text: str) -> list[str]:
    """The sentences of a text, also within quotations, without the white space around them."""
    pieces = (piece.strip() for part in BREAK.split(text) for piece in _cut(part))
    return [piece for piece in pieces if piece]


def _cut(text: str) -> list[str]:
    """The text cut where sentences begin.

    sentencex keeps quotations whole, so it gets spaces instead of the marks. An opening mark is
    part of the sentence after it. Small letters go on with a sentence after a closing mark, as in
    “Why?” he said, and after any but a full stop.
    """
    without_marks = MARK.sub(" ", text)
    starts = [0]
    for boundary in get_sentence_boundaries("en", without_marks)[1:]:
        start = end = boundary["start_index"]
        while end and without_marks[end - 1].isspace():
            end -= 1
        marks = [at for at in range(end, start) if not text[at].isspace()]
        opening = next((at for at in marks if _opens(text, at)), None)
        if opening is not None:
            starts.append(opening)
        elif not text[start].islower() or (without_marks.endswith(".", 0, end) and not marks):
            starts.append(start)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def _opens(text: str, at: int) -> bool:
    """True if a quotation mark that ends no text opens a quotation."""
    is_before_word = not text[at + 1 : at + 2].isspace()
    return text[at - 1].isspace() and (is_before_word or text[at] in OPENING)


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """The lines up to each blank one, joined by spaces."""
    for is_filled, block in groupby(map(str.strip, lines), bool):
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
