"""Sentences by names made of their text: a selection that is named so is found again in any sample that holds them."""

import base64
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_BYTES = 5
"""Of a digest. Among a million sentences, one in a thousand selections of a thousand has one too many."""


def names_of(sentences: Sequence[str], places: Collection[int]) -> list[str]:
    """The names of the sentences at these places of a sample, in the order of the sample.

    A name is the beginning of the SHA-256 of the text, in base64 for addresses; ~1 behind it means that the same text
    comes once before in the sample, and so on.
    """
    wanted = {sentences[place] for place in places}
    places, names = set(places), []
    for place, number, text in _numbered(sentences[: max(places, default=-1) + 1], wanted):
        if place in places:
            name = base64.urlsafe_b64encode(_digest(text)).decode().rstrip("=")
            names.append(f"{name}~{number}" if number else name)
    return names


def places_of(sentences: Sequence[str], names: Iterable[str]) -> NDArray[np.intp]:
    """Where in a sample the sentences of these names are, intp (n,), ascending; those that it lacks are left out."""
    wanted = {(base64.urlsafe_b64decode(f"{name[:7]}="), int(name[8:] or "0")) for name in names}
    digests = {digest for digest, _ in wanted}
    texts = {text: digest for text in set(sentences) if (digest := _digest(text)) in digests}
    found = [place for place, number, text in _numbered(sentences, texts) if (texts[text], number) in wanted]
    return np.array(found, np.intp)


def _numbered(sentences: Sequence[str], wanted: Collection[str]) -> Iterable[tuple[int, int, str]]:
    """The places of the texts that are wanted, and how often each came before."""
    seen: Counter[str] = Counter()
    for place, text in enumerate(sentences):
        if text in wanted:
            yield place, seen[text], text
            seen[text] += 1


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:_BYTES]
