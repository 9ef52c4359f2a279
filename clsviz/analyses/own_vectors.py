"""Vectors from any model or API, with the texts they are of: no model is loaded."""

import hashlib
import zipfile
from collections.abc import Iterator, Mapping, Sequence
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

BLOCK_BYTES: Final = 2**22  # of vectors that are read at a time
MOST_PACKED: Final = 256  # numbers of a vector, at most, that may be bits in packs of eight


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
    path = Path(source).expanduser() if isinstance(source, str | Path) else None
    name = quote(path.name if path else "your vectors")
    if path:
        text_files.check_file(path)
    if path and path.suffix == ".parquet":
        columns = dict(tables.read_parquet(path, without="vector").to_pydict())
        blocks = _stored(path)
        columns |= {"vector": blocks} if "vector" in pq.read_schema(path).names else {}
    else:
        content = _arrays(path, name) if path else source
        is_frame = not isinstance(content, Mapping)
        columns = dict(corpora.frame_of(content) if is_frame else content)
        blocks = _in_memory(columns.get("vector", ()))
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
    return OwnVectors(name[1:-1], texts, vectors, norms, columns, caveats)


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


def _stored(path: Path) -> Iterator[pa.Array]:
    """The column of vectors of a Parquet file, some rows at a time."""
    options: Any = {"pre_buffer": False, "buffer_size": 2**20}  # else all of it is in memory
    with pq.ParquetFile(path, **options) as file:
        size = path.stat().st_size // max(1, file.metadata.num_rows)
        for batch in file.iter_batches(max(1, BLOCK_BYTES // max(1, size)), columns=["vector"]):
            yield batch.column(0)


def _in_memory(values: Any) -> Iterator[pa.Array]:
    """Vectors in memory as lists of Arrow."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        yield pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
    else:
        yield pa.array(list(values), from_pandas=True)


def _joined(blocks: Iterator[pa.Array], n: int, name: str) -> tuple[Floats32, Floats32, bool]:
    """Lists of Arrow as one array of n vectors, their norms, and True if a byte holds each number.

    Raises CorpusError where a vector is missing, not finite or of another width, and where they are
    bits in packs of eight.
    """
    vectors, norms = np.empty((n, 0), np.float32), np.empty(n, np.float32)
    no_numbers = CorpusError(f"Column vector of {name} holds no lists of numbers.", SAVE)
    at, low, high = 0, np.inf, -np.inf
    try:
        for block in blocks:
            widths, flat = (
                pc.list_value_length(block).fill_null(-1).to_numpy(False),
                block.flatten(),
            )
            width = widths[0] if not at else vectors.shape[1]
            for row in np.flatnonzero(widths < 0)[:1] + at + 1:
                raise CorpusError(f"Row {row:,} of {name} has no vector.", "Leave it out.")
            for row in np.flatnonzero(widths != width)[:1]:
                reason = f"Vectors of {name} are of several widths: row {at + row + 1:,} has "
                reason += f"{widths[row]:,} numbers, row 1 has {width:,}."
                raise CorpusError(reason, "Give each row as many numbers.")
            numbers = flat.to_numpy(zero_copy_only=False)
            if not 0 < width <= MOST_DIMENSIONS or numbers.dtype.kind not in "biuf":
                raise no_numbers
            stop = at + len(widths)
            vectors = vectors if at else np.empty((n, width), np.float32)
            is_whole = numbers.dtype.kind in "iu"
            low, high = min(low, numbers.min()), max(high, numbers.max() if is_whole else np.inf)
            with np.errstate(over="ignore", invalid="ignore"):
                vectors[at:stop] = numbers.reshape(-1, width)[: max(0, n - at)]
                norms[at:stop] = np.linalg.norm(vectors[at:stop], axis=1)
            for row in np.flatnonzero(~np.isfinite(norms[at:stop]))[:1] + at + 1:
                reason = f"The vector in row {row:,} of {name} is not finite in float32."
                raise CorpusError(reason, "Leave it out.")
            at = stop
    except (pa.ArrowException, IndexError):
        raise no_numbers from None
    if at != n:
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
