"""A file of the user's own, opened as a selection asks: what is one text in it, and whether texts are cut."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clsviz.corpora import formats, segmentation
from clsviz.corpora.catalogue import is_upload
from clsviz.corpora.kept import Numbered
from clsviz.corpora.uploads import upload_label
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.settings import Segmentation, printable


@dataclass(frozen=True)
class OwnFile:
    """A file that was opened. column: the one that is read, "" if it has none. cut: whether texts are cut."""

    table: formats.Table
    column: str
    cut: bool
    texts: Iterator[tuple[list[str], list[int]]]

    def sentences(self) -> Iterator[list[str]]:
        """The sentences, some at a time; they can be read once."""
        for texts, _ in self.texts:
            yield self._sentences(texts)

    def numbered_sentences(self) -> Iterator[Numbered]:
        """The same with the row that each comes from."""
        for texts, rows in self.texts:
            found = [self._sentences([text]) for text in texts]
            of_rows = [[row] * len(sentences) for row, sentences in zip(rows, found, strict=True)]
            yield Numbered([*itertools.chain(*found)], [*itertools.chain(*of_rows)])

    def _sentences(self, texts: list[str]) -> list[str]:
        """The sentences of texts; of those that are cut, pieces without a letter are none, as the numbers of a list.

        Texts that are not cut are what the file says is one. A dataset on the Hub keeps such pieces: it would be
        another one without them, and links to it would no longer lead to the same sentences.
        """
        found = segmentation.sentences(texts, cut=self.cut)
        return [sentence for sentence in found if any(map(str.isalpha, sentence))] if self.cut else found


def place_of(selection: Selection, folder: Path) -> tuple[Path, str]:
    """Where the file of a corpus is, and what it is called; raises CorpusError if it is an upload not in `folder`."""
    if is_upload(selection.corpus):
        return folder / selection.corpus, upload_label(selection.corpus, folder)
    file = Path(os.path.expanduser(selection.corpus))
    return file, file.name


def no_sentence(name: str) -> CorpusError:
    """The error for a file of that name that gives not one sentence as it is read."""
    return CorpusError(
        f"{printable(name)} holds no sentence of up to {segmentation.MAX_CHARACTERS:,} characters. Choose to cut "
        "its texts into sentences, or another file."
    )


def open_file(selection: Selection, file: Path, name: str) -> OwnFile:
    """Open it, with what the selection leaves open decided by its first texts; raises CorpusError.

    Paragraphs whose lines were joined are cut into sentences, other texts where they are long.
    """
    table = formats.open_table(file, name, reading=selection.reading)
    batches = table.numbered_texts(selection.column)
    first = next(batches)
    how = selection.segmentation
    if how is Segmentation.AUTO and not table.wrapped:
        texts, _ = first
        how = segmentation.chosen_for(sum(map(len, texts)) / len(texts))
    column = selection.column or next(iter(table.columns), "")
    return OwnFile(table, column, how is not Segmentation.NONE, itertools.chain([first], batches))
