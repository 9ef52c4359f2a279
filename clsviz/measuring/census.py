"""All sentences of a key counted: one pass over its parts, each of which is read once in its life."""

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import CancelledError
from clsviz.measurements import MAX_LENGTH, Measurements
from clsviz.measuring.census_file import Piece, Tally, kept_tallies, read_tally, vectors_of, write_tally
from clsviz.measuring.part_file import Key, Part
from clsviz.measuring.soundness import Shape
from clsviz.measuring.store import Store
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.statistics import Census, CountedRun, NormBins
from clsviz.vectors import Vectors

N_LENGTHS = MAX_LENGTH + 1


FIRST = 16_384
"""Sentences, from the first of a sample, that decide the bins: they are a uniform sample of all."""


_THREADS = 2
"""That read and sort parts, while another adds up what they found."""


_AHEAD = 6
"""Parts that may be read before they are added."""


_IN_MEMORY = 4
"""Censuses that are kept in memory, 35 MB each."""


class Counted:
    """What was counted of all sentences of a sample; safe to share between threads."""

    def __init__(self, tally: Tally, key: Key, n: int) -> None:
        self._tally = tally
        self._vectors = vectors_of(tally.shape, key.kind)
        self._census = functools.lru_cache(_IN_MEMORY)(tally.censuses.__getitem__)
        self.n = n
        """How many sentences there are, those that were not read whole included."""

    @property
    def n_layers(self) -> int:
        """Number of the last layer; 0 is the embedding output."""
        return self._tally.shape.n_layers

    @property
    def has_pooler(self) -> bool:
        """Whether the model has a pooler."""
        return self._tally.shape.has_pooler

    def vector(self, pooling: Pooling, layer: int | None) -> Census:
        """The census of the norms of one vector after `layer` (None: the last), of the sentences that were read whole.

        Raises IndexError as `Measurements.norms` does.
        """
        if pooling is Pooling.POOLER:
            layer = None
        elif layer is None:
            layer = self.n_layers
        if (pooling, layer) not in self._vectors:
            raise IndexError(f"{pooling} after layer {layer} was not measured")
        census: Census = self._census(self._vectors.index((pooling, layer)))
        return census

    def n_truncated(self, length_cutoff: int) -> int:
        """How many sentences of fewer tokens than the cutoff are left out: the model read only their beginning."""
        return int(self._tally.truncated[:length_cutoff].sum())


def take_census(
    store: Store,
    key: Key,
    n_sentences: int,
    progress: Progress,
    on_damaged: Callable[[Part], None] = lambda part: None,
) -> Counted | None:
    """What is counted of the first `n_sentences` of a sample, all of them; None if some are not in the store.

    Parts that were not counted yet are; what comes out is kept beside them. If a part was replaced or vanished since it
    was counted, all are counted anew. on_damaged: told of each part that was found damaged, and so is not there any
    more: then None as well. Several processes may count the same at once.

    Raises StoreError, and CancelledError if the progress is told to stop; what was counted until then is kept.
    """
    parts = store.parts(key).values()
    kept = _kept(store, key, n_sentences, parts)
    shares = _missing(parts, kept.pieces if kept else (), n_sentences)
    if shares is None or n_sentences < 1:
        return None
    if kept is None or shares:
        counting = _Counting(store, key, n_sentences, kept, on_damaged)
        counting.count(shares, progress)
        if counting.n_damaged:
            return None
        kept = counting.tally
        again = read_tally(counting.keep(), key)
        if again is not None and again.pieces == kept.pieces:
            kept = again  # which is not in memory
    return Counted(kept, key, n_sentences)


class _Share(NamedTuple):
    """The sentences of a part that are to be counted: those at the positions from `first` to `stop` of the sample."""

    part: Part
    first: int
    stop: int

    @property
    def n(self) -> int:
        return self.stop - self.first


def _kept(store: Store, key: Key, n_sentences: int, parts: Iterable[Part]) -> Tally | None:
    """What was counted of so many sentences or fewer, if all its parts are still those that were counted."""
    names = {part.path.name for part in parts}
    for path in kept_tallies(store, key, n_sentences):
        tally = read_tally(path, key)
        if tally and tally.n_decided >= min(FIRST, n_sentences) and all(piece.name in names for piece in tally.pieces):
            return tally
    return None


def _missing(parts: Iterable[Part], counted: Iterable[Piece], n_sentences: int) -> list[_Share] | None:
    """What covers the sentences that are not counted yet, each once; None if not all parts are there."""
    shares: list[_Share] = []
    ordered = sorted(parts, key=lambda part: part.start)
    position = 0
    for _, first, stop in (*sorted(counted, key=lambda piece: piece.first), Piece("", n_sentences, n_sentences)):
        if position < first:
            covering = _covering(ordered, position, first)
            if covering is None:
                return None
            shares += covering
        position = max(position, stop)
    return shares


def _covering(ordered: Sequence[Part], position: int, stop: int) -> list[_Share] | None:
    """The parts that cover what is between two positions, each as far as it is needed; None if there is a gap."""
    shares: list[_Share] = []
    best: Part | None = None
    for part in (*ordered, None):
        while position < stop and (part is None or part.start > position):
            if best is None or best.stop <= position:
                return None
            shares.append(_Share(best, position, min(best.stop, stop)))
            position = best.stop
        if part is not None and (best is None or part.stop > best.stop):
            best = part
    return shares


class _Added(NamedTuple):
    """What a share adds. truncated: as in `Tally`. run: None if no sentence of it was read whole."""

    truncated: NDArray[np.int64]
    run: CountedRun | None


class _Counting:
    """One pass over parts that were not counted yet."""

    def __init__(
        self, store: Store, key: Key, n_sentences: int, kept: Tally | None, on_damaged: Callable[[Part], None]
    ) -> None:
        self._store, self._key, self._n, self._on_damaged = store, key, n_sentences, on_damaged
        self._pieces: list[Piece] = []
        self._censuses: list[Census] = []
        self.n_damaged = 0
        if kept is not None:
            self._begin(kept.shape, [*kept.censuses], kept.truncated.copy(), kept.n_decided)
            self._pieces += kept.pieces

    def _begin(self, shape: Shape, censuses: list[Census], truncated: NDArray[np.int64], n_decided: int) -> None:
        self._shape, self._censuses, self._truncated, self._n_decided = shape, censuses, truncated, n_decided

    @property
    def tally(self) -> Tally:
        """What is counted so far."""
        return Tally(self._shape, tuple(self._pieces), self._n_decided, self._truncated, self._censuses)

    def keep(self) -> Path:
        """Write what is counted so far."""
        return write_tally(self._store, self._key, self._n, self.tally)

    def count(self, shares: list[_Share], progress: Progress) -> None:
        """Count the sentences, and drop what is damaged."""
        n_before = self._n - sum(share.n for share in shares)
        progress.begin("Counting all sentences", self._n, n_before)
        first = [] if self._censuses else self._decide(shares)
        if not self._censuses:
            return
        try:
            for share, added in self._counted(first, shares[len(first) :]):
                if added is None:
                    self._damaged(share)
                else:
                    self._add(share, added)
                progress.advance(n_before := n_before + share.n)
        except CancelledError:
            self.keep()
            raise
        if self.n_damaged:
            self.keep()

    def _decide(self, shares: Iterable[_Share]) -> list[tuple[_Share, Measurements]]:
        """Decide the bins by the first sentences; gives the shares that these are in, unless one is damaged."""
        first: list[tuple[_Share, Measurements]] = []
        for share in shares:
            if share.first >= FIRST:
                break
            measured = self._store.read(share.part)
            if measured is None or (first and Shape.of(measured) != Shape.of(first[0][1])):
                self._damaged(share, measured)
            else:
                first.append((share, measured))
        if self.n_damaged:
            return []
        norms = [_whole(share._replace(stop=min(share.stop, FIRST)), measured)[1] for share, measured in first]
        bins = [NormBins.of(vector) for vector in np.concatenate(norms).T]
        truncated = np.zeros(N_LENGTHS + 1, np.int64)
        self._begin(Shape.of(first[0][1]), [*map(Census.none, bins)], truncated, min(FIRST, self._n))
        return first

    def _counted(
        self, first: Iterable[tuple[_Share, Measurements]], rest: Iterable[_Share]
    ) -> Iterator[tuple[_Share, _Added | None]]:
        """What each share adds, in their order, whichever thread is done first: sums depend on it in the last digit."""
        waiting: deque[tuple[_Share, Future[_Added | None]]] = deque()
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="census") as pool:
            try:
                for share, measured in chain(first, ((share, None) for share in rest)):
                    waiting.append((share, pool.submit(self._added, share, measured)))
                    if len(waiting) > _AHEAD:
                        done, future = waiting.popleft()
                        yield done, future.result()
                while waiting:
                    done, future = waiting.popleft()
                    yield done, future.result()
            finally:
                for _, future in waiting:
                    future.cancel()

    def _added(self, share: _Share, measured: Measurements | None) -> _Added | None:
        """What a share adds; None if its part is damaged, or of another model."""
        if measured is None:
            measured = self._store.read(share.part)
        if measured is None:
            return None
        if Shape.of(measured) != self._shape:
            self._store.drop(share.part)
            return None
        lengths, norms, cut = _whole(share, measured)
        truncated = np.bincount(np.minimum(cut, N_LENGTHS), minlength=N_LENGTHS + 1)
        return _Added(truncated, CountedRun.of(lengths, norms, [census.bins for census in self._censuses]))

    def _add(self, share: _Share, added: _Added) -> None:
        self._truncated += added.truncated
        if added.run is not None:
            for vector, census in enumerate(self._censuses):
                census.add(added.run, vector)
        self._pieces.append(Piece(share.part.path.name, share.first, share.stop))

    def _damaged(self, share: _Share, measured: Measurements | None = None) -> None:
        """Report a part. measured: what is in it, if that is whole but of another model."""
        if measured is not None:
            self._store.drop(share.part)
        self.n_damaged += 1
        self._on_damaged(share.part)


def _whole(share: _Share, measured: Measurements) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]:
    """Of the sentences of a share that were read whole, lengths (n,) and norms (n, vectors); lengths of the others."""
    inside = slice(share.first - share.part.start, max(share.stop - share.part.start, 0))
    n_tokens, truncated = measured.n_tokens[inside], measured.truncated[inside]
    others = [*measured.other_norms.values()] if isinstance(measured, Vectors) else []
    norms = np.concatenate([measured.cls_norms, *others, measured.pooler_norms], axis=1)[inside]
    if not truncated.any():
        return n_tokens, norms, n_tokens[:0]
    return n_tokens[~truncated], norms[~truncated], n_tokens[truncated]
