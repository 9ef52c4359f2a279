"""The first sentences of a whole corpus, kept on their own: in the corpus they lie all over its files."""

import contextlib

import numpy as np
from numpy.typing import NDArray

from clsviz.atomic import mark_used
from clsviz.corpora import kept
from clsviz.corpora.corpus import Corpus
from clsviz.corpora.order import shuffled
from clsviz.corpora.uploads import short_digest
from clsviz.corpora.whole import DamagedFileError, Files
from clsviz.errors import StoreError


def head_of(files: Files, corpus: Corpus, seed: int, n: int) -> tuple[list[str], NDArray[np.int64] | None]:
    """The first n sentences in the order of the seed, and the row of the table that each is from, if it has others.

    They are kept beside the files, and read from there the next time. Raises DamagedFileError.
    """
    path = files.beside(f"head-{short_digest(corpus.fingerprint, str(seed), str(n))[:16]}")
    about = kept.about(path)
    if about is not None and about.n_sentences == n:
        with contextlib.suppress(DamagedFileError):
            head = Files([(path, n)]).taken(np.arange(n), corpus)
            mark_used(path)
            return head
    sentences, rows = files.taken(shuffled(files.n_sentences, seed)[:n], corpus)
    with contextlib.suppress(StoreError):  # it is taken from the files again then
        batch = sentences if rows is None else kept.Numbered(sentences, rows.tolist())
        kept.keep([batch], path, columns=[], column="", cut=False, fields=corpus.fields)
    return sentences, rows
