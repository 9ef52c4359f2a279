"""Vectors or norms of one's own, measured like any corpus."""

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from clsviz import jobs
from clsviz.api.inputs import Bar, open_store
from clsviz.errors import CorpusError
from clsviz.experiment import Experiment
from clsviz.sources import own_vectors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_AT_ONCE = 1024


def import_vectors(
    texts: Iterable[str],
    vectors: "ArrayLike | None" = None,
    *,
    norms: "ArrayLike | None" = None,
    n_tokens: "ArrayLike | None" = None,
    name: str = "vectors",
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Experiment:
    """Keep vectors, or norms, that you have already, with their texts, and return the Experiment that shows them.

    `measure`, `probe` and `similarity` take it in the place of a model; only what runs a model cannot be done. The same
    content is the same model and corpus in every session, whatever it is called.

    texts: n texts, one for each row.
    vectors: (n, width), any numbers, kept as float32; or leave them out and give
    norms: (n,), from 0 up.
    n_tokens: (n,), the length of each text in tokens. Without it lengths are counted in words, also where a cutoff is.
    name: what the vectors are called, of letters, digits, points, hyphens and underscores.
    store, progress: as `measure` takes them.

    Raises CorpusError where texts and rows are not as many, or one cannot be used, with its row; ModelError where the
    name cannot be; and StoreError where the store cannot be written.

    >>> import clsviz
    >>> texts = ["A cat.", "The dog sat on the mat.", "Then, at last, the big red dog ran home."]
    >>> own = clsviz.import_vectors(texts, [[3.0, 4.0], [6.0, 8.0], [0.0, 13.0]], name="mine")
    >>> own.unit.value
    'words'
    >>> sorted(clsviz.measure(own).table()["cls_0"].tolist())
    [5.0, 10.0, 13.0]
    """
    if (vectors is None) == (norms is None):
        raise CorpusError("Give either vectors or norms: norms follow from vectors.")
    values = np.asarray(norms if vectors is None else vectors)
    what, n_dimensions = ("norms", 1) if vectors is None else ("vectors", 2)
    _check_shape(values, what, n_dimensions)
    counts = None if n_tokens is None else np.asarray(n_tokens)
    found = [*texts]
    if counts is not None:
        _check_shape(counts, "n_tokens", 1)
    n = len(values)
    for other, of in ((len(found), "texts"), (n if counts is None else len(counts), "n_tokens")):
        if other != n:
            raise CorpusError(f"There are {other:,} {of} and {n:,} {what}. Give as many of one as of the other.")
    if wrong := next((row for row, text in enumerate(found, 1) if not isinstance(text, str)), None):
        raise CorpusError(f"Row {wrong:,} of texts is a {type(found[wrong - 1]).__name__}, not text. Leave it out.")

    def rows() -> "Iterator[own_vectors.Rows]":
        for start in range(0, len(found), _AT_ONCE):
            here = slice(start, start + _AT_ONCE)
            yield own_vectors.checked(found[here], values[here], None if counts is None else counts[here], what, start)

    with Bar(progress) as bar:
        return jobs.import_rows(rows(), len(found), name, open_store(store), bar).experiment


def _check_shape(values: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", what: str, n_dimensions: int) -> None:
    if values.dtype.kind not in "fiu" or values.ndim != n_dimensions or not len(values):
        shape = " × ".join(f"{size:,}" for size in values.shape) or "a single value"
        wanted = "(n, width)" if n_dimensions == 2 else "(n,)"
        raise CorpusError(f"{what} has the shape {shape} and the type {values.dtype}; it must be {wanted}, of numbers.")
