"""The language of texts, by their letters and their commonest words."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final

from clsviz.errors import SettingError, quote

ENGLISH: Final = "en"
SEVERAL: Final = "several"  # in the place of a language: each text is cut by the rules of its own

DATA: Final[dict[str, Any]] = json.loads(
    files("clsviz.sources").joinpath("data", "languages.json").read_bytes()
)
"""By language, as in ISO 639: scripts has the letters of the likeliest one of a script, letters
those of others in the same script; words the commonest of those in Latin letters, and marks letters
that hardly any other of these has; abbreviations besides those that sentencex knows; and the
languages that write ordinals as figures with a full stop."""

_OTHERS: Final = [language for others in DATA["letters"].values() for language in others]

NAMES: Final = sorted({*DATA["scripts"], *DATA["words"], *_OTHERS, "bg", "mr", "mk"})

WORD: Final = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")

LATIN: Final = "\u02ff"  # the last of the Latin letters, but for a few
FEWEST_HITS, LEAST_HITS = 2, 1 / 30  # words of a language in a text of it; share of its words
BEGINNING: Final = 1000  # characters of a text that show its language
MAIN: Final = 0.9  # share of the letters from which on their language is taken for that of all
WORDS: Final = {language: frozenset(words.split()) for language, words in DATA["words"].items()}


def guess(text: str) -> str:
    """The likeliest language of a text; "" where nothing tells."""
    text = text[:BEGINNING].lower()
    letters = "".join(letter for letter in text if letter > LATIN and letter.isalpha())
    if 3 * len(letters) > sum(map(str.isalpha, text)):
        counts = {
            name: len(re.findall(f"[{some}]", letters)) for name, some in DATA["scripts"].items()
        }
        counts["ja"] *= 5  # among Chinese letters, a few kana make a text Japanese
        (script, n), *_ = Counter(counts).most_common(1)
        others = DATA["letters"].get(script, {})
        n_of = {name: sum(map(text.count, some)) for name, some in others.items()}
        likeliest = max(n_of, key=n_of.__getitem__, default="")
        return likeliest if likeliest and 50 * n_of[likeliest] > n else script if n else ""
    words = WORD.findall(text)
    hits = Counter({name: sum(map(some.__contains__, words)) for name, some in WORDS.items()})
    if not text.isascii():
        hits.update({name: sum(map(text.count, some)) for name, some in DATA["marks"].items()})
    (language, n), *_ = hits.most_common(1)
    return language if n >= max(FEWEST_HITS, LEAST_HITS * len(words)) else ""


def of_texts(texts: Iterable[str]) -> str:
    """The language of nearly all letters, or SEVERAL; English where nothing tells."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts[guess(text)] += len(text[:BEGINNING])
    counts.pop("", None)
    (language, n), *_ = counts.most_common(1) or [(ENGLISH, 0)]
    return language if n >= MAIN * counts.total() else SEVERAL


def check(language: str) -> None:
    """Raise SettingError where a language is none that texts can be cut by; "" is any."""
    if language and language not in NAMES:
        remedy = f"Choose one of {', '.join(NAMES)}, or leave it out."
        raise SettingError(f"language is {quote(language)}.", remedy)
