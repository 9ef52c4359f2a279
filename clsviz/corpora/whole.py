"""All sentences of a corpus of this machine, read a run at a time: more of them than memory may hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clsviz.corpora import kept
from clsviz.corpora.corpus import Corpus
from clsviz.corpora.order import N_SHUFFLED, shuffled
from clsviz.errors import CorpusError


class DamagedFileError(CorpusError):
    """The file of sentences at `path` is damaged, or no longer there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed or deleted while it was being read. Run the same command again.")
        self.path = path


@dataclass(frozen=True)
class Files:
    """Files of sentences as `kept` keeps them, one after the other, with how many each has."""

    paths: Sequence[tuple[Path, int]]

    @property
    def n_sentences(self) -> int:
        """How many they have together."""
        return sum(n for _, n in self.paths)

    def rows(self, numbers: NDArray[np.intp]) -> list[str]:
        """The sentences with these numbers, intp (n,), in this order; raises DamagedFileError."""
        rows: list[str] = self._taken(numbers, kept.rows).tolist()
        return rows

    def rows_of_table(self, numbers: NDArray[np.intp]) -> NDArray[np.int64]:
        """Which row of the table each of these sentences comes from, int64 (n,); raises DamagedFileError."""
        return self._taken(numbers, kept.rows_of_table).astype(np.int64)

    def taken(self, numbers: NDArray[np.intp], corpus: Corpus) -> tuple[list[str], NDArray[np.int64] | None]:
        """`rows`, and `rows_of_table` if the corpus has other columns; raises DamagedFileError."""
        return self.rows(numbers), self.rows_of_table(numbers) if corpus.fields else None

    def _taken(self, numbers: NDArray[np.intp], take: Callable[[Path, NDArray[np.intp]], Any]) -> NDArray[np.object_]:
        found = np.empty(len(numbers), object)
        first = 0
        for path, n in self.paths:
            here = np.flatnonzero((numbers >= first) & (numbers < first + n))
            if len(here):
                taken = take(path, numbers[here] - first)
                if taken is None:
                    raise DamagedFileError(path)
                found[here] = taken
            first += n
        return found

    def beside(self, name: str) -> Path:
        """Where something of that name is kept that was made of them."""
        path, _ = self.paths[0]
        return path.with_name(f"{path.stem}-{name}.parquet")


class Whole:
    """The sentences of a corpus by their positions, from 0: the first N_SHUFFLED are those of the largest sample."""

    def __init__(self, files: Files, seed: int) -> None:
        """files: where they are kept. seed: of the draw."""
        self._files, self._n, self._seed = files, files.n_sentences, seed

    def __len__(self) -> int:
        return self._n

    def read(self, start: int, stop: int) -> list[str]:
        """The sentences at positions from `start` to `stop`; raises CorpusError where they can no longer be read."""
        first = self._first[start:stop] if start < N_SHUFFLED else []
        if stop <= N_SHUFFLED:
            return first
        return first + self._files.rows(self._numbers(max(start, N_SHUFFLED), min(stop, self._n)))

    def _numbers(self, start: int, stop: int) -> NDArray[np.intp]:
        """Which sentences of the corpus are at these positions, all behind the shuffled ones: intp (stop - start,)."""
        rank = np.arange(start, stop) - N_SHUFFLED  # among those that were not shuffled
        return rank + np.searchsorted(self._n_before, rank, side="right")

    @cached_property
    def _n_before(self) -> NDArray[np.intp]:
        """How many sentences that were not shuffled come before each that was, in the order of the corpus."""
        numbers = np.sort(self._order)
        return numbers - np.arange(len(numbers))

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return shuffled(self._n, self._seed)

    @cached_property
    def _first(self) -> list[str]:
        """The shuffled sentences: they lie all over the file, which is read once for all of them."""
        return self._files.rows(self._order)
