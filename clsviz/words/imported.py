"""What is said of vectors that were imported, of which it is not known how they came about."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from clsviz.sources.models import Imported
from clsviz.words.numbers import counted

if TYPE_CHECKING:
    from clsviz.jobs import Import

ABOUT_WORDS = (
    "How many tokens the texts have was not given, so lengths are counted in words, and the length cutoff is in words."
)

ONE_VECTOR = "There is one vector of each sentence, from no known layer. This page now shows its norm."

NO_SENTENCE = "These vectors were imported: there is no model here that could measure a sentence of yours."

NO_PAGE = "These vectors were imported: there is no model here to look at. Choose a model to see this page."

NO_OTHERS = "These vectors were imported: there is no model here to measure other sentences with."


def said(found: "Import") -> str:
    """What was imported, in a sentence or two."""
    name = Imported.parse(found.model)
    assert name is not None  # an import is called so
    what = f"{counted(found.n, 'vector')} of {found.width:,} numbers" if found.width else counted(found.n, "norm")
    text = f"{name.label}: {what}, with {'its text' if found.n == 1 else 'their texts'}."
    return f"{text} {ABOUT_WORDS}" if name.in_words else text


def label_of(file_name: str) -> str:
    """What vectors are called that were given no name: as their file, with hyphens for what a name cannot have."""
    stem = re.sub(r"[^\w.-]+", "-", Path(file_name).stem).strip("-._")
    return stem[:60] or "vectors"
