"""What is kept of a census, so that no part is read twice.

    <store>/norms-<digest of the key>/census-000100000.safetensors    of the first 100,000 sentences

One file holds all vectors, of each only the bins in which there is something; a vector is read when it is asked for. It
says which parts it was counted from. What is damaged, or what another version wrote, is as good as absent.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors import numpy as safetensors

from clsviz.atomic import new_file, open_regular
from clsviz.measurements import POOLED, Kind
from clsviz.measuring.part_file import Key
from clsviz.measuring.soundness import Shape
from clsviz.measuring.store import Store
from clsviz.settings import Pooling
from clsviz.statistics import Census, NormBins

VERSION = 1
"""Raise it when what is kept changes its meaning."""


_NAME = re.compile(r"census-(\d{9,})\.safetensors")


_DAMAGE = (SafetensorError, OSError, TypeError, LookupError, ValueError, OverflowError, RecursionError)


_MOMENTS = ("sums", "squares", "lowest", "highest")


Vector = tuple[Pooling, int | None]
"""Pooling and layer; the pooler output has no layer."""


def vectors_of(shape: Shape, kind: Kind) -> list[Vector]:
    """The vectors whose norms are measured, in the order in which they are counted."""
    poolings = POOLED if kind is Kind.VECTORS else POOLED[:1]
    layers = [(pooling, layer) for pooling in poolings for layer in range(shape.n_layers + 1)]
    return [*layers, *([(Pooling.POOLER, None)] if shape.has_pooler else [])]


class Piece(NamedTuple):
    """Sentences that were counted: those at the positions from `first` to `stop` of a sample, from one part.

    name: of the part's file, which contains the digest of its bytes.
    """

    name: str
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class Tally:
    """What is counted of a key.

    censuses: of each of `vectors_of`, without the sentences that were not read whole. truncated: int64 (MAX_LENGTH +
    2,), how many these are by number of tokens; the last are all that have more. n_decided: how many sentences, from
    the first, decided the bins.
    """

    shape: Shape
    pieces: tuple[Piece, ...]
    n_decided: int
    truncated: NDArray[np.int64]
    censuses: Sequence[Census]


class _Stored(Sequence[Census]):
    """Censuses in a file, each read when it is asked for."""

    def __init__(self, tensors: Any, names: Sequence[str], bins: Sequence[NormBins]) -> None:
        self._tensors, self._names, self._bins = tensors, names, bins  # the file stays mapped if it is replaced

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: Any) -> Any:
        bins, name = self._bins[index], self._names[index]
        cells, counts, moments = _arrays(self._tensors, name)
        census = Census.none(bins)
        census.counts.reshape(-1)[cells] = counts
        census.n[:] = census.counts.sum(axis=1)
        for moment, values in zip(_MOMENTS, moments, strict=True):
            getattr(census, moment)[:] = values
        return census


def kept_tallies(store: Store, key: Key, n_sentences: int) -> Iterator[Path]:
    """Where something is kept of so many sentences or fewer: of the most first, and on this machine before a bucket.

    Raises StoreError.
    """
    folder = store.root / key.folder_name
    here, there = {path.name for path in folder.glob("census-*")}, store.beside(key)
    matches = [match for name in here | there if (match := _NAME.fullmatch(name)) and int(match[1]) <= n_sentences]
    for name in (match[0] for match in sorted(matches, key=lambda match: -int(match[1]))):
        if name in here:
            yield folder / name
        if name in there and store.fetch_beside(key, name):
            yield folder / name


def is_kept(store: Store, key: Key, n_sentences: int) -> bool:
    """Whether something is kept of just so many sentences; raises StoreError."""
    path = next(kept_tallies(store, key, n_sentences), None)
    match = _NAME.fullmatch(path.name) if path else None
    return match is not None and int(match[1]) == n_sentences


def read_tally(path: Path, key: Key) -> Tally | None:
    """What is kept in a file; None if it is damaged or of something else."""
    try:
        with open_regular(path):
            tensors: Any = safe_open(path, framework="numpy")
        said = tensors.metadata()
        if said["digest"] != _digest(said["clsviz"].encode()):
            return None
        about = json.loads(said["clsviz"])
        shape = Shape(**about["shape"])
        pieces = tuple(Piece(*piece) for piece in about["pieces"])
        names = [_name(vector) for vector in vectors_of(shape, key.kind)]
        if (about["version"], about["key"], [*about["vectors"]]) != (VERSION, asdict(key), names):
            return None
        if any(_digest(*_arrays(tensors, name)) != about["vectors"][name]["digest"] for name in names):
            return None
        truncated = tensors.get_tensor("truncated")
        if _digest(truncated) != about["truncated"]:
            return None
        bins = [NormBins(**about["vectors"][name]["bins"]) for name in names]
        return Tally(shape, pieces, about["n_decided"], truncated, _Stored(tensors, names, bins))
    except _DAMAGE:
        return None


def write_tally(store: Store, key: Key, n_sentences: int, tally: Tally) -> Path:
    """Keep what was counted of the first `n_sentences`; raises StoreError."""
    arrays: dict[str, NDArray[Any]] = {"truncated": tally.truncated}
    vectors = {}
    for vector, census in zip(vectors_of(tally.shape, key.kind), tally.censuses, strict=True):
        name, flat = _name(vector), census.counts.reshape(-1)
        cells = np.flatnonzero(flat)
        moments = np.stack([getattr(census, moment) for moment in _MOMENTS])
        of: list[NDArray[Any]] = [cells.astype(np.uint32), flat[cells], moments]
        arrays |= dict(zip(_tensors_of(name), of, strict=True))
        vectors[name] = {"bins": asdict(census.bins), "digest": _digest(*of)}
    about = {
        "version": VERSION,
        "key": asdict(key),
        "shape": asdict(tally.shape),
        "pieces": tally.pieces,
        "n_decided": tally.n_decided,
        "truncated": _digest(tally.truncated),
        "vectors": vectors,
    }
    text = json.dumps(about)
    content = safetensors.save(arrays, metadata={"clsviz": text, "digest": _digest(text.encode())})
    path = store.root / key.folder_name / f"census-{n_sentences:09d}.safetensors"
    with contextlib.ExitStack() as held:
        # Or else whoever tidies up the store would take what is being written for what somebody left.
        with contextlib.suppress(filelock.Timeout):
            held.enter_context(store.lock(key))
        temporary = held.enter_context(new_file(path))
        temporary.write_bytes(content)
    store.put_beside(key, path.name)
    return path


def _name(vector: Vector) -> str:
    pooling, layer = vector
    return str(pooling) if layer is None else f"{pooling}-{layer}"


def _tensors_of(name: str) -> Iterable[str]:
    return f"{name}.cells", f"{name}.counts", f"{name}.moments"


def _arrays(tensors: Any, name: str) -> list[NDArray[Any]]:
    """Which cells are not empty, how many sentences are in each, and the moments of the norms by length."""
    return [tensors.get_tensor(tensor) for tensor in _tensors_of(name)]


def _digest(*contents: Any) -> str:
    whole = hashlib.sha256()
    for content in contents:
        whole.update(content)
    return whole.hexdigest()
