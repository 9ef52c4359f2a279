"""Corpora of this machine, from docstrings or from a file: their sentences are kept in one Parquet file."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from clsviz.atomic import mark_used
from clsviz.corpora import docstrings, formats, kept, segmentation
from clsviz.corpora.catalogue import CORPORA, Shipped, Source, is_built_in, is_upload, label
from clsviz.corpora.corpus import Corpus, refuse_reading
from clsviz.corpora.digest import digest_of
from clsviz.corpora.own_file import no_sentence, open_file, place_of
from clsviz.corpora.uploads import short_digest, upload_name
from clsviz.errors import CorpusError
from clsviz.experiment import Selection
from clsviz.progress import Progress
from clsviz.settings import Reading, Segmentation, printable

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


def _about_shipped(source: Shipped) -> kept.About:
    about = kept.about(source.file)
    if about is None:
        raise _damaged_installation(source.file)
    return about


def _damaged_installation(path: Path) -> CorpusError:
    return CorpusError(f"{path.name}, which comes with clsviz, is missing or damaged. Install clsviz again.")


def _made_of_docstrings(name: str, source: Source, folder: Path, progress: Progress) -> tuple[Path, kept.About]:
    path = _source_path(name, source, folder)
    about = kept.about(path)
    if about is None:
        sentences = docstrings.gather(source.files(), progress, path.with_suffix(".unfinished"))
        if not sentences:
            raise CorpusError(f"No docstrings were found for “{name}”: this Python comes without its sources.")
        about = kept.keep([sentences], path, columns=[], column="", cut=False)
    return path, about


def _made_of_file(
    selection: Selection, file: Path, name: str, folder: Path, progress: Progress
) -> tuple[Path, kept.About]:
    progress.begin(f"Reading {printable(name)}")
    formats.check(file, name)
    digest, suffix = digest_of(file, folder), formats.suffix(name)
    if is_upload(selection.corpus) and selection.corpus != upload_name(digest, suffix):
        raise CorpusError(f"The copy of your upload {printable(name)} is damaged. Upload it again.")
    wanted = (digest, suffix, selection.column, selection.segmentation.value, selection.reading.value)
    made_of = selection.corpus if is_upload(selection.corpus) else "file"
    path = folder / f"{made_of}-{short_digest(*wanted, segmentation.VERSION, str(_SCHEMA))}.parquet"
    about = kept.about(path)
    if about is None:
        about = _keep_file(selection, file, name, path, progress)
    if not about.n_sentences:
        raise no_sentence(name)
    return path, about


def _keep_file(selection: Selection, file: Path, name: str, path: Path, progress: Progress) -> kept.About:
    """Keep the sentences of a file at `path`.

    What was read before a cancellation is kept beside it, by the digest of the file. Where in the file that was, a
    packed file or a table does not tell: it is gone through again, which takes little, but not cut into sentences.
    """
    opened = open_file(selection, file, name)
    table, unfinished = opened.table, path.with_suffix(".unfinished")
    n_before = kept.n_batches_before(unfinished)

    def sentences() -> Iterator[list[str] | kept.Numbered]:
        for _ in itertools.islice(opened.texts, n_before):
            progress.check()
        for found in opened.numbered_sentences() if table.fields else opened.sentences():
            progress.check()
            yield found

    return kept.keep(
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
