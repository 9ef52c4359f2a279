"""Corpora of this machine, from docstrings or from a file: their sentences are kept in one Parquet file."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clsviz.atomic import mark_used, sha256
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation, printable
from clsviz.sources import docstrings, files, segmentation, sentence_files, tables
from clsviz.sources.catalogue import CORPORA, Corpus, Shipped, Source, is_built_in, is_upload, label, refuse_reading
from clsviz.sources.sentence_files import Numbered
from clsviz.sources.uploads import IN_MEMORY, short_digest, upload_label, upload_name


@dataclass(frozen=True)
class OwnFile:
    """A file that was opened. column: the one that is read, "" if it has none. cut: whether texts are cut."""

    table: tables.Table
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
    table = files.open_table(file, name, reading=selection.reading)
    batches = table.numbered_texts(selection.column)
    first = next(batches)
    how = selection.segmentation
    if how is Segmentation.AUTO and not table.wrapped:
        texts, _ = first
        how = segmentation.chosen_for(sum(map(len, texts)) / len(texts))
    column = selection.column or next(iter(table.columns), "")
    return OwnFile(table, column, how is not Segmentation.NONE, itertools.chain([first], batches))


_SCHEMA = 5
"""Increase it when something else is kept of the same file."""


def build_seconds(name: str, folder: Path) -> float:
    """About how long it takes to build a corpus of the catalogue; 0 if it is built already or quick to build."""
    source = CORPORA.get(name)
    if not isinstance(source, Source) or os.path.exists(_source_path(name, source, folder)):
        return 0
    return source.build_seconds


def make_corpus(selection: Selection, folder: Path, progress: Progress) -> tuple[Path, Corpus]:
    """The file that holds a corpus's sentences, made now in `folder` if it is missing, and what is known of it."""
    name = selection.corpus
    source = CORPORA.get(name)
    _refuse_settings(selection)
    if isinstance(source, Shipped):
        made_label, path = source.label, source.file
        about = _about_shipped(source)
    elif isinstance(source, Source):
        made_label = source.label
        path, about = _made_of_docstrings(name, source, folder, progress)
        mark_used(path)
    else:
        file, made_label = place_of(selection, folder)
        path, about = _made_of_file(selection, file, made_label, folder, progress)
        made_label = Path(IN_MEMORY).stem if made_label == IN_MEMORY else made_label
        mark_used(path)
    cut = Segmentation.SENTENCES if about.cut else Segmentation.NONE
    decided = replace(selection, column=about.column, segmentation=cut, reading=Reading(about.reading))
    corpus = Corpus(decided, made_label, about.fingerprint, about.n_sentences, name, columns=tuple(about.columns))
    fields = tuple(field for field in about.fields if field != about.column)
    return path, replace(corpus, width=about.width, n_left_out=about.n_left_out, fields=fields)


def _refuse_settings(selection: Selection) -> None:
    """Raise CorpusError at a setting that a corpus of this machine does not have."""
    name = selection.corpus
    if is_built_in(name.partition("@")[0]) and "@" in name:
        raise CorpusError(
            f"{label(name)} is not on the Hugging Face Hub and has no revisions. Leave out the @ and what follows it."
        )
    for setting in ("configuration", "split", "column") if name in CORPORA else ("configuration", "split"):
        if value := getattr(selection, setting):
            raise CorpusError(f"{label(name)} has no {setting} “{printable(value)}”. Leave that setting out.")
    if name in CORPORA:
        refuse_reading(selection)


def discard(path: Path, folder: Path) -> None:
    """Delete a damaged file of sentences, so that it is made again; raises CorpusError if it came with clsviz."""
    if folder not in path.parents:
        raise _damaged_installation(path)
    path.unlink(missing_ok=True)


def _about_shipped(source: Shipped) -> sentence_files.About:
    about = sentence_files.about(source.file)
    if about is None:
        raise _damaged_installation(source.file)
    return about


def _damaged_installation(path: Path) -> CorpusError:
    return CorpusError(f"{path.name}, which comes with clsviz, is missing or damaged. Install clsviz again.")


def _made_of_docstrings(
    name: str, source: Source, folder: Path, progress: Progress
) -> tuple[Path, sentence_files.About]:
    path = _source_path(name, source, folder)
    about = sentence_files.about(path)
    if about is None:
        sentences = docstrings.gather(source.files(), progress, path.with_suffix(".unfinished"))
        if not sentences:
            raise CorpusError(f"No docstrings were found for “{name}”: this Python comes without its sources.")
        about = sentence_files.keep([sentences], path, columns=[], column="", cut=False)
    return path, about


def _made_of_file(
    selection: Selection, file: Path, name: str, folder: Path, progress: Progress
) -> tuple[Path, sentence_files.About]:
    progress.begin(f"Reading {printable(name)}")
    files.check(file, name)
    suffix = files.suffix(name)
    try:
        digest = sha256(file)
    except OSError as error:
        raise CorpusError(f"{printable(file.name)} cannot be read: {error.strerror}. Make it readable.") from None
    if is_upload(selection.corpus) and selection.corpus != upload_name(digest, suffix):
        raise CorpusError(f"The copy of your upload {printable(name)} is damaged. Upload it again.")
    wanted = (digest, suffix, selection.column, selection.segmentation.value, selection.reading.value)
    made_of = selection.corpus if is_upload(selection.corpus) else "file"
    path = folder / f"{made_of}-{short_digest(*wanted, segmentation.VERSION, str(_SCHEMA))}.parquet"
    about = sentence_files.about(path)
    if about is None:
        about = _keep_file(selection, file, name, path, progress)
    if not about.n_sentences:
        raise no_sentence(name)
    return path, about


def _keep_file(selection: Selection, file: Path, name: str, path: Path, progress: Progress) -> sentence_files.About:
    """Keep the sentences of a file at `path`.

    What was read before a cancellation is kept beside it, by the digest of the file. Where in the file that was, a
    packed file or a table does not tell: it is gone through again, which takes little, but not cut into sentences.
    """
    opened = open_file(selection, file, name)
    table, unfinished = opened.table, path.with_suffix(".unfinished")
    n_before = sentence_files.n_batches_before(unfinished)

    def sentences() -> Iterator[list[str] | sentence_files.Numbered]:
        for _ in itertools.islice(opened.texts, n_before):
            progress.check()
        for found in opened.numbered_sentences() if table.fields else opened.sentences():
            progress.check()
            yield found

    return sentence_files.keep(
        sentences(),
        path,
        columns=list(table.columns),
        column=opened.column,
        cut=opened.cut,
        reading=table.reading,
        wrapped=table.wrapped,
        fields=table.fields,
        unfinished=unfinished,
        n_before=n_before,
    )


def _source_path(name: str, source: Source, folder: Path) -> Path:
    return folder / f"{name}-{short_digest(str(docstrings.SCHEMA), source.version())[:16]}.parquet"


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
