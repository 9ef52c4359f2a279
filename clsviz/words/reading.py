"""How a file of the user's own was read; and vectors that were imported, of which nothing else is known."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clsviz.settings import Reading, Segmentation, printable
from clsviz.sources import catalogue
from clsviz.sources.catalogue import Corpus
from clsviz.sources.models import Imported
from clsviz.words import numbers

if TYPE_CHECKING:
    from clsviz.jobs import Import
    from clsviz.sources.local_files import Preview

READINGS = {
    Reading.AUTO: "Detected",
    Reading.LINES: "Line by line",
    Reading.PARAGRAPHS: "Paragraphs",
}
"""What each way of reading a text file is called on a control."""

SEGMENTATIONS = {Segmentation.AUTO: "Auto", Segmentation.NONE: "No", Segmentation.SENTENCES: "Yes"}
"""Whether texts are cut into sentences, as a control says it."""


def kept_for(upload_seconds: float | None) -> str:
    """What becomes of an uploaded file; upload_seconds: how long it is kept once nobody is there who looks at it."""
    if upload_seconds is None:
        return "The file is kept in this server’s store, so that links to it keep working."
    return "The file, and the sentences read from it, are deleted from this server a few minutes after you leave."


def how(corpus: Corpus) -> str:
    """What was taken for a sentence, and what was left out."""
    is_cut = corpus.selection.segmentation is Segmentation.SENTENCES
    if corpus.width:
        text = f"Lines are wrapped at about {corpus.width} characters. They were joined into paragraphs"
        text += ", and those cut into sentences." if is_cut else ", and each paragraph is taken as one sentence."
        if corpus.n_left_out:
            lines = "1 line was" if corpus.n_left_out == 1 else f"{corpus.n_left_out:,} lines were"
            text += f" {lines} left out, such as headings, lists and verse."
        return text
    column = printable(corpus.selection.column)
    texts = f"Each text in its column “{column}”" if column else "Each line"
    return f"{texts} was cut into sentences." if is_cut else f"{texts} is taken as one sentence."


def cut(corpus: Corpus) -> str:
    """What is one sentence of a corpus, in three or four words."""
    selection = corpus.selection
    made = catalogue.CORPORA.get(selection.corpus)
    if selection.segmentation is Segmentation.SENTENCES or (made is not None and made.is_cut):
        return "cut into sentences"
    if corpus.width:
        return "one per paragraph"
    if catalogue.is_own(selection.corpus) and not selection.column:
        return "one per line"
    return "one per text, not cut into sentences"


def other_cut(corpus: Corpus) -> tuple[Segmentation, str] | None:
    """The other way to cut its texts, and what a button that does so says; None where they come as they are."""
    made = catalogue.CORPORA.get(corpus.selection.corpus)
    if made is not None and not isinstance(made, catalogue.Dataset):
        return None
    if corpus.selection.segmentation is not Segmentation.SENTENCES:
        return Segmentation.SENTENCES, "Cut into sentences instead"
    whole = "paragraph" if corpus.width else "text" if corpus.selection.column else "line"
    return Segmentation.NONE, f"Take one per {whole} instead"


def counted(found: "Corpus | Preview", corpus: Corpus | None = None) -> str:
    """How many sentences a file holds, or its beginning; corpus: what is known of all of it, if it was read."""
    if isinstance(found, Corpus):
        return numbers.counted(found.n_sentences or 0)
    if n := n_known(found, corpus):
        return numbers.counted(n)
    sentences = numbers.counted(len(found.sentences))
    return f"{sentences} in the first {sum(map(len, found.sentences)) / 1e6:.1f} MB of its text"


def n_known(preview: "Preview", corpus: Corpus | None = None) -> int:
    """How many sentences a file holds, 0 while only its beginning was read; corpus: what is known of all of it."""
    if corpus is not None and corpus.n_sentences and corpus.selection == preview.corpus.selection:
        return corpus.n_sentences
    return len(preview.sentences) if preview.is_whole else 0


def lengths(preview: "Preview") -> str:
    """What the histogram of lengths shows."""
    if np.ptp(preview.n_words) == 0:
        each = "The sentence has" if len(preview.n_words) == 1 else "Every sentence has"
        return f"{each} {numbers.counted(int(preview.n_words[0]), 'word')}."
    low, middle, high = np.quantile(preview.n_words, [0.05, 0.5, 0.95])
    nine_in_ten = numbers.between(low, high)
    return f"Words in a sentence: nine in ten have {nine_in_ten}, half of them {middle:.0f} or fewer."


def notes(corpus: Corpus) -> list[str]:
    """How a corpus was read, if it is made from a file, for a command to report."""
    name = corpus.selection.corpus
    if not catalogue.is_own(name):
        return []
    return [f"{printable(corpus.label)}: {how(corpus)} {counted(corpus)}."]


ABOUT_WORDS = (
    "How many tokens the texts have was not given, so lengths are counted in words, and the length cutoff is in words."
)


def imported(found: "Import") -> str:
    """What was imported, in a sentence or two."""
    name = Imported.parse(found.model)
    assert name is not None  # an import is called so
    what = (
        f"{numbers.counted(found.n, 'vector')} of {found.width:,} numbers"
        if found.width
        else numbers.counted(found.n, "norm")
    )
    text = f"{name.label}: {what}, with {'its text' if found.n == 1 else 'their texts'}."
    return f"{text} {ABOUT_WORDS}" if name.in_words else text


def label_of(file_name: str) -> str:
    """What vectors are called that were given no name: as their file, with hyphens for what a name cannot have."""
    stem = re.sub(r"[^\w.-]+", "-", Path(file_name).stem).strip("-._")
    return stem[:60] or "vectors"
