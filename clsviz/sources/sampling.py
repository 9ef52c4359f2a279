"""Samples: sentences of a corpus in random order, before and after they are measured."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clsviz.measurements import Means, Norms
from clsviz.progress import Progress, silent
from clsviz.settings import Experiment
from clsviz.sources.corpora import Corpus, is_on_hub, open_corpus
from clsviz.sources.models import Weights


@dataclass(frozen=True, eq=False)
class Sample:
    """Sentences of a corpus in the order of a seed: a larger sample begins with the smaller one.

    order: intp (n,), rows of the corpus.
    """

    corpus: Corpus
    seed: int
    order: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.order)

    def rows(self, start: int = 0, stop: int | None = None) -> pa.Table:
        """The rows of the corpus from position `start` to `stop` of the sample."""
        order = self.order[start:stop].astype(np.int64)
        # Not pa.array, which imports pandas.
        buffers = [None, pa.py_buffer(order)]
        return self.corpus.table.take(pa.Array.from_buffers(pa.int64(), len(order), buffers))

    def sentences(self, start: int = 0, stop: int | None = None) -> list[str]:
        """The sentences from position `start` to `stop`."""
        sentences: list[str] = self.rows(start, stop)["sentence"].to_pylist()
        return sentences


def draw(experiment: Experiment, root: Path, progress: Progress = silent) -> Sample:
    """The sample of an experiment; `open_corpus` has the errors, and what `root` is."""
    corpus = open_corpus(experiment, root, progress)
    if is_on_hub(experiment.corpus):  # in the order of the seed already
        n = corpus.table.num_rows if experiment.sample_size == "all" else experiment.sample_size
        return Sample(corpus, experiment.seed, np.arange(min(n, corpus.table.num_rows)))
    return sample_of(corpus, experiment)


def sample_of(corpus: Corpus, experiment: Experiment) -> Sample:
    """The sample that an experiment draws from a corpus that is no dataset of the Hub."""
    # NumPy keeps the stream of RandomState in all versions, but not that of Generator.
    order = np.random.RandomState(experiment.seed).permutation(corpus.table.num_rows)
    if experiment.sample_size != "all":
        order = order[: experiment.sample_size].copy()
    return Sample(corpus, experiment.seed, order)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model and a sample, ready to be measured."""

    weights: Weights
    sample: Sample


@dataclass(frozen=True, eq=False)
class Measured:
    """The norms of the first `len(norms)` sentences of a sample, by one model.

    key: the name under which they are stored. n_new: sentences that were measured now, which took
    so many seconds; the others were stored.
    is_complete: True if every sentence of the sample is measured.
    means: norms of the mean of these sentences, where all of them are measured too.
    """

    key: str
    weights: Weights
    sample: Sample
    norms: Norms
    n_new: int
    seconds: float
    is_complete: bool
    means: Means | None = None
