"""What a file of the user's own looks like as a corpus, found out from its beginning."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clsviz.corpora.own_file import no_sentence, open_file, place_of
from clsviz.experiment import Selection
from clsviz.settings import Segmentation

PREVIEW_CHARACTERS = 2**20
"""How much of a file's text a preview reads: enough to judge by, and read in a moment."""


@dataclass(frozen=True, eq=False)
class Preview:
    """The beginning of a file, read as a corpus.

    selection: the user's, with everything they left open decided. columns: those that hold text. width: at which lines
    were wrapped, in characters, if they were joined to paragraphs. n_left_out: lines that are in no paragraph.
    sentences: those of the beginning, in order. is_whole: whether that is the whole file.
    """

    label: str
    selection: Selection
    columns: tuple[str, ...]
    width: int
    n_left_out: int
    sentences: list[str]
    is_whole: bool

    def examples(self, n: int = 10) -> list[str]:
        """Up to n of the sentences, evenly spaced."""
        places = np.linspace(0, len(self.sentences) - 1, min(n, len(self.sentences)))
        return [self.sentences[place] for place in places.astype(int)]

    @property
    def n_words(self) -> NDArray[np.int32]:
        """The length of every sentence in words, int32 (n,)."""
        return np.array([len(sentence.split()) for sentence in self.sentences], dtype=np.int32)


def preview(selection: Selection, folder: Path) -> Preview:
    """The beginning of the file that the selection names, in `folder` if it was uploaded; raises CorpusError."""
    file, name = place_of(selection, folder)
    opened = open_file(selection, file, name)
    sentences: list[str] = []
    n_characters = 0
    batches = opened.sentences()
    for found in batches:
        sentences += found
        n_characters += sum(map(len, found))
        if n_characters >= PREVIEW_CHARACTERS:
            break
    if not sentences:
        raise no_sentence(name)
    is_whole = n_characters < PREVIEW_CHARACTERS or next(batches, None) is None
    cut = Segmentation.SENTENCES if opened.cut else Segmentation.NONE
    wrapped = opened.table.wrapped
    return Preview(
        label=name,
        selection=replace(selection, column=opened.column, segmentation=cut, reading=opened.table.reading),
        columns=opened.table.columns,
        width=wrapped.width if wrapped else 0,
        n_left_out=wrapped.n_left_out if wrapped else 0,
        sentences=sentences,
        is_whole=is_whole,
    )
