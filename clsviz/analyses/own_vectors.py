"""Vectors from any model or API, with the texts they are of: no model is loaded."""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.errors import CorpusError, quote
from clsviz.settings import Experiment
from clsviz.sources import corpora, searches, text_files
from clsviz.sources.corpora import Corpus
from clsviz.sources.searches import Searches, fold, id_of
from clsviz.statistics.ranking import Floats32

SAVE: Final = "Save a list of numbers a row, as pandas does: frame.to_parquet(“vectors.parquet”)."

MOST_DIMENSIONS: Final = 16_384


@dataclass(frozen=True, eq=False)
class Indexed:
    """Vectors of texts and queries, float32 (n, width), and n_tokens and truncated of the texts.

    others: vectors of texts and queries to compare with, or (); other: the name of these: the mean
    over all tokens, or what a pipeline gives without its prompts.
    seconds: that measuring took.
    """

    texts: Floats32
    queries: Floats32
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    others: tuple[Floats32, ...] = ()
    other: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class OwnVectors:
    """Texts and their vectors, float32 (n, width), in the order of a file.

    ids: of the texts, or those of the right ones of each query; () where the file has none.
    """

    name: str
    texts: list[str]
    vectors: Floats32
    ids: tuple[tuple[str, ...], ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of texts and vectors, 16 hexadecimal digits."""
        digest = hashlib.sha256("\n".join(self.texts).encode())
        digest.update(np.ascontiguousarray(self.vectors).data)
        return digest.hexdigest()[:16]

    @property
    def corpus(self) -> Corpus:
        """The texts as a corpus, in the order of the file."""
        uncut = Experiment(corpus="memory", segmentation="lines")
        return replace(corpora.from_texts(self.texts, uncut), label=self.name)

    @property
    def n_words(self) -> NDArray[np.int32]:
        """Lengths of the texts, int32 (n,): without a model there are no tokens."""
        return np.array([len(text.split()) for text in self.texts], np.int32)


def read(path: Path, text: str = "text", ids: str = "id") -> OwnVectors:
    """The vectors in a .parquet or .npz file, which has the columns text, `vector` and, maybe, ids.

    Raises CorpusError where the file cannot be read, or something in it is no vector.
    """
    text_files.check_file(path)
    name = quote(path.name)
    columns = _columns(path, name)
    for needed in (text, "vector"):
        if needed not in columns:
            has = " and ".join(map(quote, columns)) or "nothing"
            reason = f"{name} has no column {quote(needed)}; it has {has}."
            raise CorpusError(reason, f"Name its columns {text} and vector.")
    texts = ["" if value is None else str(value) for value in columns[text]]
    vectors = _vectors(columns["vector"], name)
    if len(texts) != len(vectors):
        reason = f"{name} has {len(texts):,} texts and {len(vectors):,} vectors."
        raise CorpusError(reason, "Give a vector for each text.")
    for row, value in enumerate(texts, 1):
        if not value.strip():
            raise CorpusError(f"Row {row:,} of {name} has no text.", "Leave it out.")
    keys = [(id_of(str(cell)),) if ids == "id" else _ids(cell) for cell in columns.get(ids, ())]
    return OwnVectors(path.name, texts, vectors, tuple(keys))


def _columns(path: Path, name: str) -> Mapping[str, Any]:
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                columns: dict[str, Any] = file.read().to_pydict()
                return columns
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:  # Python objects may run code
                return {column: np.atleast_1d(arrays[column]) for column in arrays}
    except (pa.ArrowException, ValueError, OSError, zipfile.BadZipFile) as error:
        cause = quote(str(error).partition("\n")[0])
        raise CorpusError(f"{name} cannot be read ({cause}).", "Write it again.") from None
    if path.suffix in (".csv", ".tsv"):
        raise CorpusError(f"Column vector of {name} holds text, not numbers.", SAVE)
    raise CorpusError(f"{name} holds no vectors: they are read from .parquet and .npz.", SAVE)


def _vectors(values: Any, name: str) -> Floats32:
    """Values as an array; raises CorpusError where they are no finite vectors of one width."""
    if any(isinstance(value, str) for value in values):
        raise CorpusError(f"Column vector of {name} holds text, not numbers.", SAVE)
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(values, np.float64).astype(np.float32)
            sizes = np.linalg.norm(vectors, axis=-1)
    except (ValueError, TypeError):
        reason = f"Vectors of {name} are missing, or of several widths."
        raise CorpusError(reason, "Give each row as many numbers.") from None
    if vectors.ndim != 2 or not 0 < vectors.shape[1] <= MOST_DIMENSIONS:
        shape = " × ".join(f"{size:,}" for size in vectors.shape)
        raise CorpusError(f"Column vector of {name} has the shape {shape}.", SAVE)
    for row in np.flatnonzero(~np.isfinite(sizes))[:1] + 1:
        reason = f"The vector in row {row:,} of {name} is not finite in float32."
        raise CorpusError(reason, "Leave it out.")
    return vectors


def _ids(value: Any) -> tuple[str, ...]:
    """The ids in a cell: a list, a number, or a text that separates them by spaces."""
    if isinstance(value, str):
        value = value.split()
    several = value if isinstance(value, list | np.ndarray) else [value]
    return tuple(id_of(str(one)) for one in several if one is not None)


def searches_of(
    texts: OwnVectors, queries: OwnVectors, experiment: Experiment
) -> tuple[Searches, Indexed]:
    """Searches by own vectors for the texts of their ids: without ids, their rows from 0.

    Raises CorpusError where they don't match, and Undefined where there are under 30.
    """
    widths = texts.vectors.shape[1], queries.vectors.shape[1]
    if widths[0] != widths[1]:
        reason = f"Texts have vectors of {widths[0]:,} numbers, queries of {widths[1]:,}."
        raise CorpusError(reason, "Take both from the same model.")
    if not queries.ids:
        reason = f"{quote(queries.name)} has no column “ids”."
        raise CorpusError(reason, "Add one with the ids of the texts that are right.")
    keys = [ids[0] for ids in texts.ids] or list(map(str, range(len(texts.texts))))
    named = queries.texts, queries.ids
    searched = searches.of_keys(texts.corpus, keys, *named, experiment, queries.name)
    row_of = {fold(query): row for row, query in reversed(list(enumerate(queries.texts)))}
    asking = searched.queries.table["sentence"].to_pylist()
    rows = [row_of[fold(query)] for query in asking]  # equal queries have the first one's vector
    own, lengths = texts.vectors[searched.rows], texts.n_words[searched.rows]
    is_cut = np.zeros(len(own), np.bool_)
    return searched, Indexed(own, queries.vectors[rows], lengths, is_cut)
