"""Cutting texts into sentences, and joining wrapped lines to paragraphs."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray
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

UNSPACED = re.compile(
    "[\u0e01-\u0e30\u0e40-\u0e45\u0e81-\u0eb0\u0ec0-\u0ec4\u1000-\u102a\u1780-\u17b3"
    "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, without the marks above and below."""

LETTERS_COUNT = "In scripts without spaces, such as Chinese, each letter counts as a word."

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


def n_words(text: str) -> int:
    """Words of a text, where each letter of a script without spaces counts as one."""
    spaced, n_letters = UNSPACED.subn(" ", text)
    words = spaced.split()
    if n_letters:  # a mark between them is no word
        words = [word for word in words if any(map(str.isalnum, word))]
    return n_letters + len(words)


def lengths(texts: Collection[str], unit: str) -> NDArray[np.int32]:
    """Lengths of n texts in characters, or else in words, int32 (n,)."""
    length = len if unit == "characters" else n_words
    return np.fromiter(map(length, texts), np.int32, len(texts))


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
