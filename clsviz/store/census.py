"""All sentences of a key counted: one pass over its parts, and one Parquet table of what they add up to.

    <store>/norms-<digest of the key>/census-000100000-<digest of the file>.parquet    of the first 100,000 sentences

One row for each vector and length in tokens: how many sentences, sums of their norms and squared norms, the lowest and
the highest, and how many are in each bin of norm. One row group for each vector, read when it is asked for. The file
says which parts it was counted from. What is damaged, or what another version wrote, is as good as absent.
"""

import contextlib
import functools
import hashlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from numpy.typing import NDArray

from clsviz.atomic import read_file, write_file
from clsviz.measurements import MAX_LENGTH, POOLED, Kind
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.statistics.summary import Census, NormBins
from clsviz.store.parts import Key, Part, Shape
from clsviz.store.store import Store

VERSION = 2
"""Raise it when what is kept changes its meaning."""

N_LENGTHS = MAX_LENGTH + 1

FIRST = 16_384
"""Sentences, from the first of a sample, that decide the bins: they are a uniform sample of all."""

_IN_MEMORY = 4
"""Censuses that are kept in memory, 35 MB each."""

_NAME = re.compile(r"census-(\d{9,})-([0-9a-f]{16})\.parquet")

_MOMENTS = ("sums", "squares", "lowest", "highest")

Vector = tuple[Pooling, int | None]
"""Pooling and layer; the pooler output has no layer."""


def vectors_of(shape: Shape, kind: Kind) -> list[Vector]:
    """The vectors whose norms are measured, in the order in which they are counted."""
    poolings = POOLED[:1] if kind is Kind.NORMS else POOLED
    layers = [(pooling, layer) for pooling in poolings for layer in range(shape.n_layers + 1)]
    return [*layers, *([(Pooling.POOLER, None)] if shape.has_pooler else [])]


@dataclass(eq=False)
class Counted:
    """What was counted of the first `n` sentences of a key, those that were not read whole included.

    parts: names of the files they come from, which contain digests of their bytes. n_decided: how many sentences, from
    the first, decided the bins. truncated: int64 (MAX_LENGTH + 2,), sentences that were not read whole, by number of
    tokens; the last are all that have more. censuses: of each of `vectors_of`, without these. Once all is counted, safe
    to share between threads.
    """

    key: Key
    shape: Shape
    n: int
    parts: list[str]
    n_decided: int
    truncated: NDArray[np.int64]
    censuses: Sequence[Census]

    def vector(self, pooling: Pooling, layer: int | None) -> Census:
        """The census of the norms of one vector after `layer` (None: the last), of the sentences that were read whole.

        Raises IndexError as `Measurements.norms` does.
        """
        if pooling is Pooling.POOLER:
            layer = None
        elif layer is None:
            layer = self.shape.n_layers
        vectors = vectors_of(self.shape, self.key.kind)
        if (pooling, layer) not in vectors:
            raise IndexError(f"{pooling} after layer {layer} was not measured")
        return self.censuses[vectors.index((pooling, layer))]

    def n_truncated(self, length_cutoff: int) -> int:
        """How many sentences of fewer tokens than the cutoff are left out: the model read only their beginning."""
        return int(self.truncated[:length_cutoff].sum())


def take_census(store: Store, key: Key, n_sentences: int, progress: Progress) -> Counted | None:
    """What is counted of the first `n_sentences` of a sample, all of them; None if some are not in the store.

    Also None where a part is damaged or of another model: it is deleted. Parts that were not counted yet are; what
    comes out is kept beside them. If a part was replaced or vanished since it was counted, all are counted anew.
    Several processes may count the same at once.

    Raises StoreError, and CancelledError if the progress is told to stop; what was counted until then is kept.
    """
    parts = sorted(store.parts(key).values(), key=lambda part: part.start)
    tally = _kept(store, key, n_sentences, {part.path.name for part in parts})
    shares = _covering(parts, tally.n if tally else 0, n_sentences)
    if shares is None or n_sentences < 1:
        return None
    if not shares and tally:
        return tally
    again = not tally and any((store.root / key.folder_name).glob("census-*.safetensors"))
    task = "Counting all sentences again: an earlier version kept them otherwise" if again else "Counting all sentences"
    n_before = tally.n if tally else 0
    progress.begin(task, n_sentences, n_before)
    if tally:
        tally.censuses = [*tally.censuses]
    shape = tally.shape if tally else None
    undecided: list[tuple[Part, int, _Counts]] = []  # until the first sentences have decided the bins
    try:
        for part, start, stop in shares:
            measured = store.read(part)
            if measured is None or (shape and Shape.of(measured) != shape):
                if measured is not None:
                    store.drop(part)
                return None
            shape = Shape.of(measured)
            norms = np.concatenate([*measured.norms_by_pooling.values(), measured.pooler_norms], axis=1)
            inside = slice(start - part.start, stop - part.start)
            undecided.append((part, stop, (measured.n_tokens[inside], measured.truncated[inside], norms[inside])))
            if not tally and stop >= min(FIRST, n_sentences):
                each = zip(*(counts for *_, counts in undecided), strict=True)
                _, cut, norms = (np.concatenate(arrays)[:FIRST] for arrays in each)
                censuses = [Census.none(NormBins.of(vector)) for vector in norms[~cut].T]
                n_decided, truncated = min(FIRST, n_sentences), np.zeros(N_LENGTHS + 1, np.int64)
                tally = Counted(key, shape, 0, [], n_decided, truncated, censuses)
            if tally:
                for counted, end, (lengths, cut, norms) in undecided:
                    tally.truncated += np.bincount(np.minimum(lengths[cut], N_LENGTHS), minlength=N_LENGTHS + 1)
                    for census, vector in zip(tally.censuses, norms[~cut].T, strict=True):
                        census.add(lengths[~cut], vector)
                    tally.n = end
                    tally.parts.append(counted.path.name)
                undecided = []
            progress.advance(stop)
    finally:  # also of what was counted before it was cancelled, or a part was found damaged
        if tally and tally.n > n_before:
            path = _write(store, tally)
    assert tally is not None  # the last part reaches to `n_sentences`
    return _read(path, key) or tally  # as it was written, a vector is in memory only while it is used


_Counts = tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.float32]]
"""Of some sentences lengths, (n,), whether they were not read whole, (n,), and norms of all vectors, (n, vectors)."""


def _covering(parts: Sequence[Part], position: int, stop: int) -> list[tuple[Part, int, int]] | None:
    """The parts, in order of their start, that cover what is between two positions, with where each is needed.

    None if there is a gap.
    """
    shares = []
    while position < stop:
        best = max((part for part in parts if part.start <= position), key=lambda part: part.stop, default=None)
        if best is None or best.stop <= position:
            return None
        shares.append((best, position, min(best.stop, stop)))
        position = best.stop
    return shares


def is_kept(store: Store, key: Key, n_sentences: int) -> bool:
    """True if something is kept of just so many sentences; raises StoreError."""
    path = next(kept_tallies(store, key, n_sentences), None)
    match = _NAME.fullmatch(path.name) if path else None
    return match is not None and int(match[1]) == n_sentences


def kept_tallies(store: Store, key: Key, n_sentences: int) -> Iterator[Path]:
    """Files of what is kept of so many sentences or fewer: of the most first, and on this machine before a bucket.

    Raises StoreError.
    """
    folder = store.root / key.folder_name
    local, remote = {path.name for path in folder.glob("census-*")}, store.beside(key)
    matches = [match for name in local | remote if (match := _NAME.fullmatch(name)) and int(match[1]) <= n_sentences]
    for name in (match[0] for match in sorted(matches, key=lambda match: -int(match[1]))):
        if name in local:
            yield folder / name
        if name in remote and store.fetch_beside(key, name):
            yield folder / name


def _kept(store: Store, key: Key, n_sentences: int, names: set[str]) -> Counted | None:
    """What was counted of so many sentences or fewer, if all its parts are still those that were counted."""
    for path in kept_tallies(store, key, n_sentences):
        tally = _read(path, key)
        if tally and tally.n_decided >= min(FIRST, n_sentences) and names.issuperset(tally.parts):
            return tally
    return None


class _Stored(Sequence[Census]):
    """Censuses in a file, each read when it is asked for."""

    def __init__(self, content: bytes, bins: Sequence[NormBins]) -> None:
        self._n = len(bins)
        self._read = functools.lru_cache(_IN_MEMORY)(functools.partial(_census_in, content, bins))

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        return self._read(range(self._n)[index])


def _census_in(content: bytes, bins: Sequence[NormBins], index: int) -> Census:
    from pyarrow import parquet

    census = Census.none(bins[index])
    table = parquet.ParquetFile(io.BytesIO(content)).read_row_group(index)
    at = table["length"].to_numpy()
    census.n[at] = table["n"].to_numpy()
    for moment in _MOMENTS:
        getattr(census, moment)[at] = table[moment].to_numpy()
    times = np.diff(table["bins"].combine_chunks().offsets.to_numpy())
    columns, counts = (table[name].combine_chunks().flatten().to_numpy() for name in ("bins", "counts"))
    census.counts[np.repeat(at, times), columns] = counts
    return census


def _read(path: Path, key: Key) -> Counted | None:
    """What is kept in a file; None if it is damaged or of something else."""
    from pyarrow import ArrowException, parquet

    try:
        content = read_file(path)
        match = _NAME.fullmatch(path.name)
        if match is None or match[2] != hashlib.sha256(content).hexdigest()[:16]:
            return None
        about = json.loads(parquet.read_schema(io.BytesIO(content)).metadata[b"clsviz"])
        if (about["version"], about["key"]) != (VERSION, asdict(key)):
            return None
        censuses = _Stored(content, [NormBins(**bins) for bins in about["bins"]])
        truncated = np.array(about["truncated"], np.int64)
        return Counted(
            key, Shape(**about["shape"]), about["n"], about["parts"], about["n_decided"], truncated, censuses
        )
    except (ArrowException, OSError, TypeError, LookupError, ValueError):
        return None


def _write(store: Store, tally: Counted) -> Path:
    """Keep what was counted; raises StoreError."""
    import pyarrow as pa
    from pyarrow import parquet

    key = tally.key
    about = {
        "version": VERSION,
        "key": asdict(key),
        "shape": asdict(tally.shape),
        "n": tally.n,
        "parts": tally.parts,
        "n_decided": tally.n_decided,
        "truncated": tally.truncated.tolist(),
        "bins": [asdict(census.bins) for census in tally.censuses],
    }
    columns = [("vector", pa.int32()), ("length", pa.int32()), ("n", pa.int64())]
    columns += [(moment, pa.float64()) for moment in _MOMENTS]
    columns += [("bins", pa.list_(pa.int32())), ("counts", pa.list_(pa.int64()))]
    schema = pa.schema(columns, metadata={"clsviz": json.dumps(about)})
    file = io.BytesIO()
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for vector, census in enumerate(tally.censuses):
            at = np.flatnonzero(census.n)
            row, column = np.nonzero(census.counts[at])
            offsets = np.searchsorted(row, np.arange(len(at) + 1))
            table = {"vector": np.full(len(at), vector, np.int32), "length": at.astype(np.int32), "n": census.n[at]}
            table |= {moment: getattr(census, moment)[at] for moment in _MOMENTS}
            lists = [column.astype(np.int32), census.counts[at][row, column]]
            of_lengths = [pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array(values)) for values in lists]
            writer.write_table(pa.table([*table.values(), *of_lengths], schema=schema), row_group_size=N_LENGTHS)
    content = file.getvalue()
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = store.root / key.folder_name / f"census-{tally.n:09d}-{digest}.parquet"
    with contextlib.ExitStack() as held:
        # Or else whoever tidies up the store would take what is being written for what somebody left.
        with contextlib.suppress(filelock.Timeout):
            held.enter_context(store.lock(key))
        write_file(path, content)
    for other in path.parent.glob(f"census-{tally.n:09d}*"):
        if other != path:  # of parts that were replaced, or by an earlier version
            other.unlink(missing_ok=True)
    store.put_beside(key, path.name)
    return path
