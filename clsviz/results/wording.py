"""Names of vectors, and sentences on samples, that several answers have."""

from typing import Final

from clsviz.numbers import counted
from clsviz.settings import Experiment
from clsviz.sources.sampling import Sample
from clsviz.statistics.intervals import LARGER
from clsviz.store import SHIPPED
from clsviz.store.results import path_of

POOLINGS: Final = {"cls": "[CLS]", "mean": "mean-pooled vector", "pooler": "pooler output"}
"""Vectors as sentences name them."""

ELSEWHERE: Final = "The numbers that come with clsviz were measured on another machine."


def origin(key: str | tuple[object, ...]) -> list[str]:
    """A caveat where what has this key, of slices or of a result, comes with clsviz."""
    path = SHIPPED / key if isinstance(key, str) else path_of(SHIPPED, key)
    return [ELSEWHERE] * path.exists()


def left_out(
    experiment: Experiment,
    sample: Sample,
    n_long: int,
    n_truncated: int,
    n_models: int = 1,
    unit: str = "tokens",
) -> list[str]:
    """Caveats on sentences over the cutoff, on truncated ones, and on a corpus that is too small.

    n_truncated: of the others, those that not all of the models read as a whole. unit: of the
    cutoff.
    """
    n, size = len(sample), experiment.sample_size
    reader, by = ("the model", "") if n_models == 1 else ("a model", " by a model")
    long = f"{experiment.length_cutoff:,} {unit} or more{by}"
    cases = {
        f"Left out: {counted(n_long)} of {long}.": n_long,
        f"Left out: {counted(n_truncated)} longer than {reader} reads.": n_truncated,
        f"The corpus has {counted(n)}: the sample is all of them.": size != "all" and n < size,
    }
    return [caveat for caveat, holds in cases.items() if holds]


def remedy_of(
    remedy: str, experiment: Experiment, sample: Sample, n_long: int, n_read: int | None = None
) -> str:
    """A remedy of statistics, which do not know where more sentences, or other lengths, may be.

    n_long: sentences that a higher cutoff lets in. n_read: of the sample, None for all.
    """
    if remedy != LARGER:
        return remedy
    n, size, corpus = len(sample), experiment.sample_size, sample.corpus
    is_all = size == "all" or n < size
    if not corpus.reading.revision:  # of the Hub, no more is read than the sample
        is_all = is_all or n == corpus.table.num_rows
    remedies = ["raise the length cutoff"] * (n_long > 0)
    if n_read is None or n_read == n:
        remedies.append(f"take a larger {'corpus' if is_all else 'sample'}")
    else:
        remedies.append("raise probe_size")
    return f"{', or '.join(remedies)}.".capitalize()
