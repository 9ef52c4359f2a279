"""Vectors from any model or API, with the texts they are of: no model is loaded."""

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clsviz.errors import CorpusError, quote
from clsviz.settings import Experiment
from clsviz.sources import corpora, judgements, searches, sentences, tables, text_files
from clsviz.sources.corpora import Corpus
from clsviz.sources.judgements import AS_NUMBERS, IDS
from clsviz.sources.searches import Searches, fold
from clsviz.statistics.ranking import Floats32

SAVE: Final = "Save a list of numbers a row, as pandas does: frame.to_parquet(“vectors.parquet”)."

MOST_DIMENSIONS: Final = 16_384

BLOCK_BYTES: Final = 2**22
"""Of vectors that are read at a time."""

MOST_PACKED: Final = 256
"""Numbers of a vector, at most, that may be bits in packs of eight."""


@dataclass(frozen=True, eq=False)
class Indexed:
    """Vectors of texts and queries, float32 (n, width), and n_tokens and truncated of the texts.

    means: those of the mean over all tokens, texts and queries, or () where the others are it.
    seconds: that measuring took.
    """

    texts: Floats32
    queries: Floats32
    n_tokens: NDArray[np.int32]
    truncated: NDArray[np.bool_]
    means: tuple[Floats32, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class OwnVectors:
    """Texts and their vectors, float32 (n, width), in the order of a file.

    norms: float32 (n,). columns: the other ones, by name. caveats: sentences.
    """

    name: str
    texts: list[str]
    vectors: Floats32
    norms: Floats32
    columns: Mapping[str, Sequence[Any]]
    caveats: tuple[str, ...]

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


def read(source: Any, text: str = "text") -> OwnVectors:
    """The vectors in a .parquet or .npz file, or in what pandas and datasets have.

    It has the columns text and `vector`, and others. Raises CorpusError where it cannot be read, or
    something in it is no vector.
    """
    is_file = isinstance(source, str | Path)
    path = Path(source).expanduser() if is_file else Path("your vectors")
    name = quote(path.name)
    if is_file:
        text_files.check_file(path)
    if is_file and path.suffix == ".parquet":
        columns = dict(tables.read_parquet(path, without="vector").to_pydict())
        blocks = _stored_blocks(path, name)
        columns |= {"vector": blocks} if "vector" in pq.read_schema(path).names else {}
    else:
        content = _arrays(path, name) if is_file else source
        is_frame = not isinstance(content, Mapping)
        columns = dict(corpora.frame_of(content) if is_frame else content)
        blocks = _blocks(columns.get("vector", ()), name)
    for needed in (text, "vector"):
        if needed not in columns:
            has = " and ".join(map(quote, filter(None, columns))) or "no names"
            reason = f"{name} has no column {quote(needed)}; it has {has}."
            raise CorpusError(reason, f"Give columns {text} and vector.")
    del columns["vector"]
    texts = list(map(judgements.text_of, columns[text]))
    vectors, norms, is_bytes = _joined(blocks, len(texts), name)
    for row, value in enumerate(texts, 1):
        if not value:
            raise CorpusError(f"Row {row:,} of {name} has no text.", "Leave it out.")
    n_zero = int((norms == 0).sum())
    cases = {
        f"Vectors of {name} that are zero, which have no direction: {n_zero:,}.": n_zero,
        f"Vectors of {name} are whole numbers of a byte, taken as coordinates.": is_bytes,
    }
    caveats = tuple(caveat for caveat, holds in cases.items() if holds)
    return OwnVectors(path.name, texts, vectors, norms, columns, caveats)


def _arrays(path: Path, name: str) -> Mapping[str, Any]:
    """The arrays in an .npz file."""
    if path.suffix != ".npz":
        raise CorpusError(f"{name} holds no vectors: they are read from .parquet and .npz.", SAVE)
    try:
        with np.load(path, allow_pickle=False) as arrays:  # Python objects may run code
            return {column: np.atleast_1d(arrays[column]) for column in arrays}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        cause = quote(str(error).partition("\n")[0])
        raise CorpusError(f"{name} cannot be read ({cause}).", "Write it again.") from None


def _stored_blocks(path: Path, name: str) -> Iterator[NDArray[Any]]:
    """The column of vectors of a Parquet file, some rows at a time."""
    n_rows = 0
    try:
        options: Any = {"pre_buffer": False, "buffer_size": 2**20}  # else all of it is in memory
        with pq.ParquetFile(path, **options) as file:
            size = path.stat().st_size // max(1, file.metadata.num_rows)
            n_at_once = max(1, BLOCK_BYTES // max(1, size))
            for batch in file.iter_batches(n_at_once, columns=["vector"]):
                column = batch.column(0)
                if not pa.types.is_nested(column.type) or pa.types.is_struct(column.type):
                    raise _no_numbers(name)
                widths = pc.list_value_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
                flat = column.flatten().to_numpy(zero_copy_only=False)
                yield _checked(flat, widths, n_rows, name)
                n_rows += len(batch)
    except pa.ArrowException as error:
        raise tables.damaged_parquet(path.name, error) from None


def _blocks(values: Any, name: str) -> Iterator[NDArray[Any]]:
    """Vectors in memory as an array."""
    if isinstance(values, np.ndarray) and values.dtype != object and values.ndim == 2:
        yield _checked(values.reshape(-1), np.full(len(values), values.shape[1]), 0, name)
        return
    try:
        rows = list(map(np.asarray, values))
    except ValueError:
        raise _no_numbers(name) from None
    if not rows or any(row.ndim > 1 or row.dtype.kind == "U" for row in rows):
        raise _no_numbers(name)
    flat = np.concatenate([row for row in rows if row.ndim] or [np.empty(0)])
    yield _checked(flat, np.array([row.size if row.ndim else -1 for row in rows]), 0, name)


def _no_numbers(name: str) -> CorpusError:
    return CorpusError(f"Column vector of {name} holds no lists of numbers.", SAVE)


def _checked(flat: NDArray[Any], widths: NDArray[Any], n_before: int, name: str) -> NDArray[Any]:
    """Numbers of vectors as rows; raises CorpusError where one is missing, or of another width."""
    for row in np.flatnonzero(widths < 0)[:1] + n_before + 1:
        raise CorpusError(f"Row {row:,} of {name} has no vector.", "Leave it out.")
    for row in np.flatnonzero(widths != widths[:1])[:1]:
        reason = f"Vectors of {name} are of several widths: row {n_before + row + 1:,} has "
        reason += f"{widths[row]:,} numbers, row {n_before + 1:,} has {widths[0]:,}."
        raise CorpusError(reason, "Give each row as many numbers.")
    if flat.dtype.kind not in "biuf" or not flat.size:
        raise _no_numbers(name)
    return flat.reshape(len(widths), -1)


def _joined(blocks: Iterable[NDArray[Any]], n: int, name: str) -> tuple[Floats32, Floats32, bool]:
    """Blocks of n vectors as one array, their norms, and True if a byte holds each number.

    Raises CorpusError where one is not finite, or they are bits in packs of eight.
    """
    vectors, norms = np.empty((0, 1), np.float32), np.empty(n, np.float32)
    at, low, high = 0, np.inf, -np.inf
    for block in blocks:
        stop, width = at + len(block), block.shape[1]
        if not at:
            if width > MOST_DIMENSIONS:
                raise CorpusError(f"Vectors of {name} have {width:,} numbers.", SAVE)
            vectors = np.empty((n, width), np.float32)
        if width != vectors.shape[1] or stop > n:
            reason = f"Vectors of {name} are of several widths, or more than its texts."
            raise CorpusError(reason, "Give each text a vector of as many numbers.")
        is_whole = block.dtype.kind in "iu"
        low, high = min(low, block.min()), max(high, block.max() if is_whole else np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            vectors[at:stop] = block
            norms[at:stop] = np.linalg.norm(vectors[at:stop], axis=1)
        for row in np.flatnonzero(~np.isfinite(norms[at:stop]))[:1] + at + 1:
            reason = f"The vector in row {row:,} of {name} is not finite in float32."
            raise CorpusError(reason, "Leave it out.")
        at = stop
    if at < n:
        reason = f"{name} has {n:,} texts and {at:,} vectors."
        raise CorpusError(reason, "Give a vector for each text.")
    is_bytes = bool(low >= -128 and high <= 255 and max(-low, high) > 1)
    if is_bytes and vectors.shape[1] <= MOST_PACKED:
        reason = f"Vectors of {name} are {vectors.shape[1]:,} whole numbers of a byte, as packed "
        remedy = "Unpack them (np.unpackbits), or save them as floats if they are coordinates."
        raise CorpusError(f"{reason}bits are.", remedy)
    return vectors, norms, is_bytes


def searches_of(
    texts: OwnVectors, queries: OwnVectors, experiment: Experiment
) -> tuple[Searches, Indexed]:
    """Searches by own vectors for the texts of their ids: without ids, their rows from 0.

    Lengths are in characters, or else in words: there are no tokens.
    Raises CorpusError where they don't match, and Undefined where there are under 30.
    """
    widths = texts.vectors.shape[1], queries.vectors.shape[1]
    if widths[0] != widths[1]:
        reason = f"Texts have vectors of {widths[0]:,} numbers, queries of {widths[1]:,}."
        raise CorpusError(reason, "Take both from the same model.")
    judged = judgements.of_columns(queries.name, queries.columns)
    column = judgements.find_column(texts.columns, IDS)
    ids = range(len(texts.texts)) if column is None else texts.columns[column]
    keys, named, is_numbers = judgements.match(ids, judged.cells)
    numbered = f"{quote(texts.name)} has no column of ids: its rows are numbered from 0."
    counts = {numbered: column is None, AS_NUMBERS: is_numbers}
    counts |= dict.fromkeys((*texts.caveats, *queries.caveats), True)
    asked = judged.queries, named, experiment, judged
    searched = searches.of_keys(texts.corpus, keys, *asked, counts=counts)
    row_of = {fold(query): row for row, query in reversed(list(enumerate(queries.texts)))}
    asking = searched.queries.table["sentence"].to_pylist()
    rows = [row_of[fold(query)] for query in asking]  # equal queries have the first one's vector
    own = texts.vectors[searched.rows]
    lengths = sentences.lengths(texts.texts, experiment.unit)[searched.rows]
    is_cut = np.zeros(len(own), np.bool_)
    return searched, Indexed(own, queries.vectors[rows], lengths, is_cut)
