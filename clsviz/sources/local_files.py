"""Corpora of this machine, from docstrings or from a file: their sentences are kept in one Parquet file."""

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.atomic import mark_used, new_file, open_regular, sha256
from clsviz.errors import CancelledError, CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation, printable
from clsviz.sources import docstrings, files, segmentation, tables
from clsviz.sources.catalogue import CORPORA, Corpus, Shipped, Source, is_built_in, is_upload, label, refuse_reading
from clsviz.sources.uploads import IN_MEMORY, short_digest, upload_label, upload_name

_ROW_GROUP = 10_000

_SENTENCE = pa.field("sentence", pa.large_string(), nullable=False)

_KEPT_AS = "clsviz-name"
"""What a file says that was kept under a name: it is not read in the place of another."""

_ROW = pa.field("row", pa.int64(), nullable=False)


class Numbered(NamedTuple):
    """Sentences, and the row of a table that each comes from."""

    sentences: list[str]
    rows: list[int]


class DamagedFileError(CorpusError):
    """The file of sentences at `path` is damaged, or no longer there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed or deleted while it was being read. Run the same command again.")
        self.path = path


@dataclass(frozen=True)
class About:
    """What is known of a file of sentences.

    fingerprint: SHA-256 of the sentences, in hexadecimal. columns: those that could have been chosen in the file that
    the sentences come from. column: the one that was. cut: whether texts were cut into sentences. reading: what was
    one text in a plain text file. width: at which its lines were wrapped, in characters, if they were joined to
    paragraphs. n_left_out: its lines that are in no paragraph. fields: the columns of a table that have a value beside
    each sentence, whose rows are kept then. n_batches: of a file whose making was cancelled, how many are in it.
    """

    fingerprint: str = ""
    n_sentences: int = 0
    columns: Sequence[str] = field(default_factory=list)
    column: str = ""
    cut: bool = False
    reading: str = Reading.AUTO
    width: int = 0
    n_left_out: int = 0
    fields: Sequence[str] = field(default_factory=list)
    n_batches: int = 0


def write_sentences(
    batches: Iterable[list[str] | Numbered],
    path: Path,
    of_file: Callable[[], About] = About,
    *,
    name: str = "",
    n_before: int = 0,
) -> About:
    """Write the sentences of all batches to `path`; raises StoreError if that fails.

    of_file: says what is known but the sentences, and is asked again after the last batch; if there are fields, the
    batches are `Numbered`. name: as `read_about` is to find it, by default that of the file. n_before: how many batches
    were written before a cancellation, and are kept; they come before these.
    """
    digest, unfinished = hashlib.sha256(), path.with_suffix(".unfinished")
    schema = pa.schema([_SENTENCE, _ROW] if of_file().fields else [_SENTENCE])
    n_sentences, n_batches = 0, n_before
    with (
        new_file(path) as temporary,
        pq.ParquetWriter(
            temporary, schema, use_dictionary=False, write_page_checksum=True, write_statistics=False
        ) as writer,
    ):

        def write(table: pa.Table) -> None:
            nonlocal n_sentences
            _add(digest, table, is_first=not n_sentences)
            n_sentences += len(table)
            writer.write_table(table, row_group_size=_ROW_GROUP)

        def describe(n_batches: int = 0) -> About:
            about = replace(of_file(), fingerprint=digest.hexdigest(), n_sentences=n_sentences, n_batches=n_batches)
            described = json.dumps(asdict(about))
            said = {"clsviz": described, "clsviz-digest": _digest(described.encode()), _KEPT_AS: name or path.name}
            writer.add_key_value_metadata(said)
            return about

        for table in _tables(unfinished) if n_before else ():
            write(table.cast(schema))
        try:
            for batch in batches:
                sentences, rows = batch if isinstance(batch, Numbered) else (batch, [])
                n_batches += 1
                if sentences:
                    write(pa.table([sentences, rows][: len(schema)], schema=schema))
        except CancelledError:
            if n_sentences:
                describe(n_batches)
                writer.close()
                os.replace(temporary, unfinished)
            raise
        unfinished.unlink(missing_ok=True)
        return describe()


def n_batches_before(path: Path, name: str) -> int:
    """How many batches for `path` were written before a cancellation, 0 if none are there.

    What is damaged or was kept under another name is deleted.
    """
    unfinished, digest = path.with_suffix(".unfinished"), hashlib.sha256()
    about = read_about(unfinished, name)
    with contextlib.suppress(OSError, pa.ArrowException, ValueError, LookupError):
        for at, table in enumerate(_tables(unfinished) if about else ()):
            _add(digest, table, is_first=not at)
        if about is not None and digest.hexdigest() == about.fingerprint:
            return about.n_batches
    with contextlib.suppress(OSError):  # of a store that cannot be used: whoever writes to it says so
        unfinished.unlink(missing_ok=True)
    return 0


def _tables(path: Path) -> Iterator[pa.Table]:
    """What a file of sentences holds, a row group at a time; raises OSError or ArrowException if it is damaged."""
    with open_regular(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)


def _add(digest: "hashlib._Hash", table: pa.Table, *, is_first: bool) -> None:
    """Add sentences to the digest of all."""
    digest.update((b"" if is_first else b"\n") + "\n".join(table["sentence"].to_pylist()).encode())


def read_about(path: Path, name: str = "") -> About | None:
    """What is known of the file at `path`; None if there is none, it is damaged, or it was kept under another name."""
    try:
        with open_regular(path) as stream:
            footer = pq.read_metadata(stream)
        described = footer.metadata[b"clsviz"]
        about = About(**json.loads(described))
        is_sound = footer.metadata[b"clsviz-digest"].decode() == _digest(described)
        is_sound &= about.n_sentences == footer.num_rows and _is_kept_as(name or path.name, footer.metadata)
        return about if is_sound else None
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError):
        return None


def _is_kept_as(name: str, said: Mapping[bytes, bytes]) -> bool:
    """Whether a file that says this of itself may have this name; version 1.0 did not say any."""
    return said.get(_KEPT_AS.encode(), name.encode()) == name.encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_column(path: Path, order: NDArray[np.intp], name: str) -> list[Any]:
    """The sentences with these numbers, int (n,), in this order; or, named “row”, the row of a table each is from.

    Raises DamagedFileError.
    """
    found: list[Any] = []
    ascending = np.argsort(order, kind="stable")
    wanted = order[ascending]
    try:
        with open_regular(path) as stream, pq.ParquetFile(stream, page_checksum_verification=True) as file:
            stop = 0
            for group in range(file.num_row_groups):
                start, stop = stop, stop + file.metadata.row_group(group).num_rows
                inside = wanted[slice(*np.searchsorted(wanted, [start, stop]))]
                if len(inside):
                    found += file.read_row_group(group).column(name).take(pa.array(inside - start)).to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError, KeyError):
        raise DamagedFileError(path) from None
    if len(found) != len(order):
        raise DamagedFileError(path)
    values = np.empty(len(order), object)
    values[ascending] = found
    return list(values.tolist())


@dataclass(frozen=True)
class OwnFile:
    """A file that was opened. column: the one that is read, "" if it has none. cut: whether texts are cut."""

    table: files.Table
    column: str
    cut: bool
    texts: Iterator[tuple[list[str], list[int]]]

    def about(self) -> About:
        """What is known of it but its sentences; n_left_out: of the lines that were read until now."""
        table, wrapped = self.table, self.table.wrapped
        return About(
            columns=table.columns,
            column=self.column,
            cut=self.cut,
            reading=table.reading,
            width=wrapped.width if wrapped else 0,
            n_left_out=wrapped.n_left_out if wrapped else 0,
            fields=table.fields,
        )

    def sentences(self) -> Iterator[Numbered]:
        """The sentences, some at a time; they can be read once.

        Of texts that are cut, pieces without a letter are none, as the numbers of a list. Texts that are not cut are
        what the file says is one. A dataset on the Hub keeps such pieces: it would be another one without them, and
        links to it would no longer lead to the same sentences.
        """
        for texts, rows in self.texts:
            found = Numbered([], [])
            for text, row in zip(texts, rows, strict=True):
                pieces = segmentation.sentences([text], cut=self.cut)
                if self.cut:
                    pieces = [piece for piece in pieces if any(map(str.isalpha, piece))]
                found.sentences.extend(pieces)
                found.rows.extend([row] * len(pieces))
            yield found


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
    table = tables.open_table(file, name, reading=selection.reading)
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
    if is_built_in(name.partition("@")[0]) and "@" in name:
        raise CorpusError(
            f"{label(name)} is not on the Hugging Face Hub and has no revisions. Leave out the @ and what follows it."
        )
    for setting in ("configuration", "split", "column") if source else ("configuration", "split"):
        if value := getattr(selection, setting):
            raise CorpusError(f"{label(name)} has no {setting} “{printable(value)}”. Leave that setting out.")
    if source:
        refuse_reading(selection)
    if isinstance(source, Shipped):
        made_label, path = source.label, source.file
        about = read_about(path)
        if about is None:
            raise _damaged_installation(path)
    elif isinstance(source, Source):
        made_label, path = source.label, _source_path(name, source, folder)
        about = read_about(path)
        if about is None:
            sentences = docstrings.gather(source.files(), progress)
            if not sentences:
                raise CorpusError(f"No docstrings were found for “{name}”: this Python comes without its sources.")
            about = write_sentences([sentences], path)
        mark_used(path)
    else:
        file, made_label = place_of(selection, folder)
        path, about = _made_of_file(selection, file, made_label, folder, progress)
        made_label = Path(IN_MEMORY).stem if made_label == IN_MEMORY else made_label
        mark_used(path)
    return path, _corpus(selection, made_label, about)


def _corpus(selection: Selection, label: str, about: About) -> Corpus:
    cut = Segmentation.SENTENCES if about.cut else Segmentation.NONE
    return Corpus(
        replace(selection, column=about.column, segmentation=cut, reading=Reading(about.reading)),
        label,
        about.fingerprint,
        about.n_sentences or None,
        selection.corpus,
        columns=tuple(about.columns),
        width=about.width,
        n_left_out=about.n_left_out,
        fields=tuple(field for field in about.fields if field != about.column),
    )


def discard(path: Path, folder: Path) -> None:
    """Delete a damaged file of sentences, so that it is made again; raises CorpusError if it came with clsviz."""
    if folder not in path.parents:
        raise _damaged_installation(path)
    path.unlink(missing_ok=True)


def _damaged_installation(path: Path) -> CorpusError:
    return CorpusError(f"{path.name}, which comes with clsviz, is missing or damaged. Install clsviz again.")


def _made_of_file(selection: Selection, file: Path, name: str, folder: Path, progress: Progress) -> tuple[Path, About]:
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
    about = read_about(path)
    if about is None:
        opened = open_file(selection, file, name)
        n_before = n_batches_before(path, path.name)

        def batches() -> Iterator[Numbered]:
            # Where in the file it was cancelled, a packed one or a table does not tell: it is gone through again, which
            # takes little, but not cut into sentences.
            for _ in itertools.islice(opened.texts, n_before):
                progress.check()
            for found in opened.sentences():
                progress.check()
                yield found

        about = write_sentences(batches(), path, opened.about, n_before=n_before)
    if not about.n_sentences:
        raise no_sentence(name)
    return path, about


def _source_path(name: str, source: Source, folder: Path) -> Path:
    return folder / f"{name}-{short_digest(str(docstrings.SCHEMA), source.version())[:16]}.parquet"


PREVIEW_CHARACTERS = 2**20
"""How much of a file's text a preview reads: enough to judge by, and read in a moment."""


@dataclass(frozen=True, eq=False)
class Preview:
    """The beginning of a file, read as a corpus.

    corpus: what is known of it by then. sentences: those of the beginning, in order. is_whole: whether that is the
    whole file.
    """

    corpus: Corpus
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
        sentences += found.sentences
        n_characters += sum(map(len, found.sentences))
        if n_characters >= PREVIEW_CHARACTERS:
            break
    if not sentences:
        raise no_sentence(name)
    is_whole = n_characters < PREVIEW_CHARACTERS or next(batches, None) is None
    return Preview(_corpus(selection, name, opened.about()), sentences, is_whole)
