"""Cutting texts into sentences."""

import importlib.metadata
import re
from collections.abc import Iterable

from sentencex import segment

from clsviz.settings import Segmentation

VERSION = f"1, sentencex {importlib.metadata.version('sentencex')}"
"""Changes when the same text may be cut into different sentences."""

MAX_CHARACTERS = 100_000
"""The longest sentence that is kept: far more than a model reads, and still tokenized in no time."""

LONG_TEXT = 200
"""Mean length, in characters, above which texts are taken to hold several sentences."""

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)  # found in texts from web pages


def chosen_for(mean_characters: float) -> Segmentation:
    """How to treat texts of this mean length if the user leaves it to us."""
    return Segmentation.SENTENCES if mean_characters > LONG_TEXT else Segmentation.NONE


def sentences(texts: Iterable[str], *, cut: bool) -> list[str]:
    """The sentences of English texts in order, or the texts themselves unless `cut`.

    Runs of white space, including line breaks, become one space. Blank ones, and those over MAX_CHARACTERS, are left
    out.
    """
    if cut:
        texts = (piece for text in texts for piece in segment("en", _BREAK.sub("\n\n", text)))
    found = (" ".join(text.split()) for text in texts)
    return [sentence for sentence in found if sentence and len(sentence) <= MAX_CHARACTERS]
