"""Sentences out of texts."""

import importlib.metadata
import re
from collections.abc import Iterable

VERSION = f"1, sentencex {importlib.metadata.version('sentencex')}"
"""Changes when the sentences of the same text may."""


MAX_CHARACTERS = 100_000
"""Of a sentence: many times what a model reads, and still tokenized in no time. What is longer is left out."""


LONG_TEXT = 200
"""Characters of a text, on average, from which on it is taken to be several sentences."""


_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)  # as texts taken from web pages have them


def sentences(texts: Iterable[str], *, cut: bool) -> list[str]:
    """The sentences of English texts in order if they are to be `cut`, else the texts themselves.

    Runs of white space, line breaks included, become one space. What is blank or over MAX_CHARACTERS is left out.
    """
    if cut:
        from sentencex import segment

        texts = (piece for text in texts for piece in segment("en", _BREAK.sub("\n\n", text)))
    found = (" ".join(text.split()) for text in texts)
    return [sentence for sentence in found if sentence and len(sentence) <= MAX_CHARACTERS]
