"""Sentences by names made of their text: a selection that is named so is found again in any sample that holds them."""

import base64
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_BYTES = 5
"""Of a digest. Among a million sentences, one in a thousand selections of a thousand has one too many."""

WIDTHS = 5, 6, 7
"""How many characters of a name a link may have, of which the last is all. With five, one selection of a hundred has
one too many in another sample of 100,000 sentences."""


def names_of(sentences: Sequence[str], places: Collection[int]) -> list[str]:
    """The names of the sentences at these places of a sample, in the order of the sample.

    A name is the beginning of the SHA-256 of the text, in base64 for addresses; ~1 behind it means that the same text
    comes once before in the sample, and so on.
    """
    wanted = {sentences[place] for place in places}
    places, names = set(places), []
    for place, number, text in _numbered(sentences[: max(places, default=-1) + 1], wanted):
        if place in places:
            names.append(f"{_name(text)}~{number}" if number else _name(text))
    return names


def packed(sentences: Sequence[str], places: Collection[int]) -> str:
    """The same names as one text for a link: as few characters of each as tell it from all others in the sample.

    Their number and a full stop come first; names follow each other, and a number behind one ends with a full stop.
    """
    names = [name.split("~") for name in names_of(sentences, places)]
    wanted = {name[: WIDTHS[0]] for name, *_ in names}
    alike = {name for name in map(_name, set(sentences)) if name[: WIDTHS[0]] in wanted}
    width = next((n for n in WIDTHS if len({name[:n] for name in alike}) == len(alike)), WIDTHS[-1])
    return f"{width}." + "".join(f"{name[:width]}~{at[0]}." if at else name[:width] for name, *at in names)


def unpacked(text: str) -> list[str]:
    """The names in such a text, or in one of whole names with commas between them."""
    if text[1:2] != ".":
        return text.split(",")
    width = int(text[0])
    return [name.rstrip(".") for name in re.findall(rf"[\w-]{{{width}}}(?:~\d+\.)?", text[2:], re.ASCII)]


def places_of(sentences: Sequence[str], names: Iterable[str]) -> NDArray[np.intp]:
    """Where in a sample the sentences of these names are, intp (n,), ascending; those that it lacks are left out."""
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for begin, _, number in (name.partition("~") for name in names):
        wanted[begin].add(int(number or "0"))
    widths = {*map(len, wanted)}
    texts = {text: wanted[begin] for text in set(sentences) for n in widths if (begin := _name(text)[:n]) in wanted}
    found = [place for place, number, text in _numbered(sentences, texts) if number in texts[text]]
    return np.array(found, np.intp)


def _numbered(sentences: Sequence[str], wanted: Collection[str]) -> Iterable[tuple[int, int, str]]:
    """The places of the texts that are wanted, and how often each came before."""
    seen: Counter[str] = Counter()
    for place, text in enumerate(sentences):
        if text in wanted:
            yield place, seen[text], text
            seen[text] += 1


def _name(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:_BYTES]).decode().rstrip("=")
