"""The file of a published probing task: sentences with their partitions and classes (SentEval; Conneau et al. 2018)."""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clsviz.errors import CorpusError
from clsviz.settings import printable, shown
from clsviz.sources import files
from clsviz.sources.files import Limits, TextFile, decoded, find_encoding, lines

PARTITIONS = {"tr": "training", "va": "validation", "te": "test"}
"""What the first field of a line is, and what it means; in the order of their numbers."""

_MOST_CLASSES = 100
"""A classifier of more takes too long."""

_MOST_LINES = 500_000
"""All are in memory at once; the published tasks have 120,000."""

_LIMITS = Limits(file_bytes=200 * 2**20, text_bytes=2 * 2**30)
"""All of it is in memory."""


@dataclass(frozen=True, eq=False)
class TaskFile:
    """The sentences of a task, with what is needed to train and test a classifier on them.

    sentences: in an order in which any number per class of each partition is at the beginning. labels, partitions: intp
    (n,), the number of each sentence’s class in `classes`, and of its partition in `PARTITIONS`. fingerprint: SHA-256
    of all lines in hexadecimal.
    """

    name: str
    classes: tuple[str, ...]
    sentences: list[str]
    labels: NDArray[np.intp]
    partitions: NDArray[np.intp]
    fingerprint: str

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Sentences by partition and class, intp (3, number of classes)."""
        counts = np.zeros((len(PARTITIONS), len(self.classes)), np.intp)
        np.add.at(counts, (self.partitions, self.labels), 1)
        return counts

    def head(self, per_class: int | None) -> "TaskFile":
        """The same with at most so many sentences of each class in each partition."""
        n = len(self.labels) if per_class is None else int(np.minimum(self.counts, per_class).sum())
        return replace(self, sentences=self.sentences[:n], labels=self.labels[:n], partitions=self.partitions[:n])


def read_task(path: Path) -> TaskFile:
    """The task in the file at `path`, which may be gzipped: a line per sentence, with tabs between its fields.

    The first field is tr, va or te, the second is the class, the last the sentence. Raises CorpusError if a line is
    otherwise, if a partition is missing, or if one has a class that the training partition lacks.
    """
    import pandas as pd

    name = printable(path.name)
    files.check(path, name, _LIMITS)
    rows = list(_rows(TextFile(path, name, name.lower().endswith(".gz"), _LIMITS)))
    partitions = np.array([list(PARTITIONS).index(partition) for partition, _, _ in rows], np.intp)
    trained = {label for partition, label, _ in rows if partition == "tr"}
    # Numbers come in their order before all others.
    classes = tuple(sorted(trained, key=lambda of: (not of.isdecimal(), len(of) * of.isdecimal(), of)))
    numbers = {label: number for number, label in enumerate(classes)}
    found = {partition for partition, _, _ in rows}
    for partition, what in PARTITIONS.items():
        if partition not in found:
            raise CorpusError(f"{name} has no {what} sentences: no line begins with {partition}.")
    if not 2 <= len(classes) <= _MOST_CLASSES:
        raise CorpusError(
            f"The training sentences of {name} are of {len(classes):,} class{'' if len(classes) == 1 else 'es'}; "
            f"there must be 2 to {_MOST_CLASSES:,}. The second field of a line is its class."
        )
    unknown = next((label for _, label, _ in rows if label not in numbers), None)
    if unknown is not None:
        raise CorpusError(f"No training sentence of {name} is of the class “{shown(unknown)}”, but others are.")
    labels = np.array([numbers[label] for _, label, _ in rows], np.intp)
    # All first sentences of a class of a partition, then all second ones, and so on; shuffled before, the same way.
    random = np.random.default_rng(0).permutation(len(labels))
    groups = pd.Series(partitions[random] * (labels.max() + 1) + labels[random])
    order = random[np.lexsort((groups, groups.groupby(groups).cumcount()))]
    content = "\n".join("\t".join(row) for row in rows)
    return TaskFile(
        name,
        classes,
        [rows[i][2] for i in order],
        labels[order],
        partitions[order],
        hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest(),
    )


def _rows(file: TextFile) -> Iterator[tuple[str, str, str]]:
    """Partition, class and sentence of every line that is not blank."""
    found = lines(decoded(file, find_encoding(file)), "\n", file)
    for number, line in enumerate(itertools.chain.from_iterable(found), start=1):
        if number > _MOST_LINES:
            raise CorpusError(f"{file.name} has over {_MOST_LINES:,} lines. Take a part of it.")
        if not line.strip():
            continue
        fields = line.rstrip("\r\n").split("\t")
        where = f"Line {number:,} of {file.name}"
        if len(fields) < 3:
            raise CorpusError(
                f"{where} is “{shown(line.strip())}”; it must have a partition (tr, va or te), a class and a sentence, "
                "with tabs between them."
            )
        partition, label, sentence = fields[0].strip(), fields[1].strip(), fields[-1].strip()
        if partition not in PARTITIONS:
            raise CorpusError(f"{where} begins with “{shown(partition)}”; it must begin with tr, va or te.")
        if not label or not sentence:
            raise CorpusError(f"{where} has no {'sentence' if label else 'class'}. Complete it, or leave it out.")
        yield partition, label, sentence
