"""A published probing task, on the sentences, classes and partitions of its own file."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clsviz import statistics
from clsviz.analysis.norms import check_layer, check_pooling
from clsviz.corpora import TaskFile, canonical
from clsviz.errors import UndefinedFitError
from clsviz.experiment import View
from clsviz.settings import Lengths
from clsviz.statistics import shuffled
from clsviz.statistics.results import Result
from clsviz.statistics.sentlen import Task
from clsviz.vectors import Vectors


@dataclass(frozen=True, eq=False)
class Published:
    """How well the classes of a task file can be told from vectors of that width, and from their norms alone.

    vector, norm: None where undefined, and `problem` says why. guessing: accuracy of always answering the class that is
    commonest among the training sentences. n_truncated: sentences of which the model reads only the beginning.
    n_shared: test sentences that are among the training sentences as well, but for case, accents and white space.
    """

    file: str
    fingerprint: str
    n_classes: int
    n_train: int
    n_dev: int
    n_test: int
    width: int
    guessing: float
    vector: Result | None = None
    norm: Result | None = None
    problem: str = ""
    n_truncated: int = 0
    n_shared: int = 0


def classify(
    file: TaskFile, vectors: Vectors, view: View, on_step: Callable[[int], None] = lambda _: None
) -> Published:
    """Train on the training sentences of a task, choose on the validation sentences, and count right ones of the test.

    vectors: of the sentences of the file, in their order. view: which of them; with shuffled lengths the classes are
    shuffled among the sentences of each partition. on_step: called for each classifier that is fitted. Raises
    SettingError if there is no such vector.
    """
    check_pooling(view, vectors)
    check_layer(view, vectors.n_layers)
    labels = file.labels.copy()
    train, dev, test = (np.flatnonzero(file.partitions == number) for number in range(3))
    if view.lengths is Lengths.SHUFFLED:
        for partition in (train, dev, test):
            labels[partition] = shuffled(labels[partition])
    task = Task(labels, train, dev, test, int(file.counts[0].min()))
    known = {canonical(file.sentences[i]) for i in train}
    found = Published(
        file.name,
        file.fingerprint,
        len(file.classes),
        *(len(train), len(dev), len(test)),
        vectors.width,
        float(np.mean(task.labels[test] == np.bincount(task.labels[train]).argmax())),
        n_truncated=int(vectors.truncated.sum()),
        n_shared=sum(canonical(file.sentences[i]) in known for i in test),
    )
    try:
        of_vector = statistics.sentlen.classify(vectors.of(view.pooling, view.layer), task, on_step)
        found = replace(found, vector=of_vector)
        return replace(found, norm=statistics.sentlen.classify(vectors.norms(view.pooling, view.layer), task, on_step))
    except UndefinedFitError as error:
        return replace(found, problem=str(error))


def summary(found: Published) -> dict[str, object]:
    """What was found, ready for JSON; undefined values are None."""
    return {
        "file": found.file,
        "file_fingerprint": found.fingerprint,
        "n_classes": found.n_classes,
        "n_train": found.n_train,
        "n_validation": found.n_dev,
        "n_test": found.n_test,
        "n_test_also_in_train": found.n_shared,
        "n_truncated": found.n_truncated,
        "accuracy": found.vector and found.vector.accuracy,
        "interval": found.vector and list(found.vector.interval),
        "accuracy_norm_only": found.norm and found.norm.accuracy,
        "interval_norm_only": found.norm and list(found.norm.interval),
        "guessing": found.guessing,
        "classifier": "logistic regression",
        "problem": found.problem or None,
    }
