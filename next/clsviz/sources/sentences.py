"""Cutting texts into sentences, and joining wrapped lines to paragraphs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from sentencex import get_sentence_boundaries

RECIPE = 1
"""Increased when the same text may be cut into other sentences."""

LONG_TEXT = 200
"""Mean length, in characters, above which texts hold several sentences."""


FEWEST_PAIRS, WIDTHS = 5, range(35, 131)
"""Lines that follow one another, and widths in characters at which prose is wrapped."""

STOP = re.compile(r"([.!?…:;—]|--)['\"’”»)\]_*]*$")


def cut(text: str) -> list[str]:
    """The sentences of a text without the white space around them."""
    starts = [boundary["start_index"] for boundary in get_sentence_boundaries("en", text)]
    ends = [*starts[1:], len(text)]
    pieces = (text[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return [piece for piece in pieces if piece]


def paragraphs(pieces: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """The lines up to each blank one, joined by spaces; some at a time, as the lines come."""
    block: list[str] = []
    for lines in pieces:
        texts: list[str] = []
        for line in lines:
            if line and not line.isspace():
                block.append(line.strip())
            elif block:
                texts.append(" ".join(block))
                block = []
        yield texts
    if block:
        yield [" ".join(block)]


def is_wrapped(lines: Sequence[str]) -> bool:
    """True if the lines are prose wrapped at some width, so that sentences run on from line to line.

    In wrapped prose most lines are full, and many sentences run on in small letters.
    """
    pairs = [(a.rstrip(), b.lstrip()) for a, b in pairwise(lines) if a.strip() and b.strip()]
    if len(pairs) < FEWEST_PAIRS:
        return False
    lengths = sorted(len(above) for above, _ in pairs)
    width = lengths[9 * len(lengths) // 10]
    n_full = sum(len(above) + 1 + len(below.split()[0]) > 0.9 * width for above, below in pairs)
    n_running = sum(below[0].islower() and not STOP.search(above) for above, below in pairs)
    return width in WIDTHS and n_full >= 0.65 * len(pairs) and n_running >= 0.3 * len(pairs)
