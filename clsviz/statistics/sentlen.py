"""The SentLen task (Conneau et al. 2018; SentEval): classify sentences into six bins of length."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clsviz.errors import TooFewError, UndefinedFitError
from clsviz.sources.near_duplicates import clusters_of
from clsviz.statistics.intervals import CONFIDENCE, Floats, Interval
from clsviz.statistics.lengths import n_words
from clsviz.statistics.ridge import blas_threads

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

BINS: tuple[tuple[int, int], ...] = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))
"""Fewest and most words in each class, as published."""

CHANCE = 1 / len(BINS)
"""Accuracy of guessing: the classes are balanced."""


@dataclass(frozen=True, eq=False)
class Result:
    """How well the classes can be told apart.

    accuracy: share of test sentences classified correctly; interval: its 95% interval (Wilson 1927).
    dev_accuracy: on the dev sentences, which chose the strength, so it is optimistic.
    strength: C of the logistic regression. confusion: intp (classes, classes), test sentences by true class (row) and
    predicted class.
    """

    accuracy: float
    interval: Interval
    dev_accuracy: float
    strength: float
    n_train: int
    n_dev: int
    n_test: int
    confusion: NDArray[np.intp]


@dataclass(frozen=True)
class Code:
    """The classes of n sentences in bits: by the online code, and with each class as likely as any other."""

    n: int
    bits: float
    uniform_bits: float


Indices = NDArray[np.intp]

STRENGTHS: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""C of the logistic regression (the inverse of the penalty) to choose from, strongest penalty first."""

FEWEST_PER_CLASS = 10

_MOST_PER_CLASS = 2000
"""Enough for five training sentences per dimension of the widest common vectors, 1,024."""


_TOLERANCE, _MOST_STEPS = 1e-4, 2000

_CONSTANT = 1e-6
"""A spread below this fraction of the norm is rounding."""


@dataclass(frozen=True, eq=False)
class Task:
    """The sentences to classify; those of `task` have balanced classes in every split.

    labels: intp (n,), the class of each sentence, from 0; -1 if it is not in the task.
    train, dev, test: intp, indices of the sentences of each split, 60%, 20% and 20% if drawn by `task`.
    """

    labels: Indices
    train: Indices
    dev: Indices
    test: Indices

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.labels.max()) + 1


def task(
    sentences: Sequence[str],
    seed: int = 0,
    most_per_class: int = _MOST_PER_CLASS,
    clusters: NDArray[np.intp] | None = None,
) -> Task:
    """Draw the sentences of the task and split them; raises UndefinedFitError if a bin has too few.

    Words are counted by `n_words`. Of near-duplicates the first is used, so that no sentence is tested or chosen on of
    which a near copy was trained on. Every class gets as many sentences as the rarest bin has, at most
    `most_per_class`, which bounds the time. clusters: the group of near-duplicates of each sentence, by default those
    of `clusters_of`.
    """
    random = np.random.default_rng(seed)
    found = _bins_of(sentences, clusters)
    members = [random.permutation(np.flatnonzero(found == label)) for label in range(len(BINS))]
    rarest = min(range(len(BINS)), key=lambda label: len(members[label]))
    if len(members[rarest]) < FEWEST_PER_CLASS:
        n, (low, high) = len(members[rarest]), BINS[rarest]
        count = f"only {n} has" if n == 1 else f"only {n} have" if n else "none has"
        raise TooFewError(
            f"Of the sentences under the length cutoff, {count} {low} to {high} words, and each of the six bins needs "
            f"at least {FEWEST_PER_CLASS} different ones."
        )
    n = min(most_per_class, len(members[rarest]))
    n_held_out = n // 5
    drawn = np.stack([mine[:n] for mine in members])
    labels = np.full(len(sentences), -1, np.intp)
    labels[drawn] = np.arange(len(BINS))[:, None]
    splits = np.split(drawn, [n - 2 * n_held_out, n - n_held_out], axis=1)
    train, dev, test = (np.sort(split, axis=None) for split in splits)
    return Task(labels, train, dev, test)


def falls_short(sentences: Sequence[str], clusters: NDArray[np.intp] | None = None) -> Callable[[str], bool]:
    """What tells whether a sentence would be in the bin that has the fewest of these."""
    found = _bins_of(sentences, clusters)
    low, high = min(enumerate(BINS), key=lambda one: np.count_nonzero(found == one[0]))[1]
    return lambda sentence: low <= n_words(sentence) <= high


def classify(features: ArrayLike, task: Task, on_step: Callable[[int], None] = lambda _: None) -> Result:
    """Accuracy of a logistic regression on features of all n sentences, (n, width), or (n,) for one number each.

    Scaling and regression are fitted on the train sentences alone, and the penalty is the one that does best on the dev
    sentences. The chosen model sees the test sentences once. on_step: gets how many of `STRENGTHS` are tried. Raises
    UndefinedFitError if the features are the same for all train sentences, up to rounding.
    """
    from scipy import stats
    from sklearn.metrics import confusion_matrix

    model, strength, dev_accuracy = choose(features, task, on_step)
    predicted = model.predict(_rows(features, task.test))
    confusion = confusion_matrix(task.labels[task.test], predicted, labels=range(task.n_classes))
    n_right, n_test = int(np.trace(confusion)), len(task.test)
    ends = stats.binomtest(n_right, n_test).proportion_ci(CONFIDENCE, method="wilson")
    return Result(
        accuracy=n_right / n_test,
        interval=(float(ends.low), float(ends.high)),
        dev_accuracy=dev_accuracy,
        strength=strength,
        n_train=len(task.train),
        n_dev=len(task.dev),
        n_test=n_test,
        confusion=confusion.astype(np.intp),
    )


def choose(
    features: ArrayLike, task: Task, on_step: Callable[[int], None] = lambda _: None
) -> tuple["Pipeline", float, float]:
    """The scaling and regression that do best on the dev sentences, fitted on the train sentences; C, and how well.

    Never looks at the test sentences. The smallest C wins a tie. Each fit starts from the previous one, which takes
    fewer steps to the same minimum. Features and errors are as in `classify`.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train, dev = _rows(features, task.train), _rows(features, task.dev)
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        if np.sqrt(train.var(axis=0).sum()) <= _CONSTANT * np.linalg.norm(train.mean(axis=0)):
            what = "norm" if train.shape[1] == 1 else "vector"
            raise UndefinedFitError(f"The {what} is the same for all sentences, so length cannot be predicted from it.")
        scaler = StandardScaler().fit(train)
        train, dev = scaler.transform(train), scaler.transform(dev)
        regression = LogisticRegression(tol=_TOLERANCE, max_iter=_MOST_STEPS, warm_start=True)
        best, best_accuracy = regression, -1.0
        for done, strength in enumerate(STRENGTHS, start=1):
            regression.set_params(C=strength).fit(train, task.labels[task.train])
            accuracy = float(regression.score(dev, task.labels[task.dev]))
            if accuracy > best_accuracy:
                best, best_accuracy = copy.deepcopy(regression), accuracy
            on_step(done)
    return make_pipeline(scaler, best), float(best.C), best_accuracy


def _rows(features: ArrayLike, index: Indices) -> Floats:
    """One split, (n, width), in double precision: in some layers the vectors are nearly the same."""
    return np.asarray(features)[index].astype(np.float64).reshape(len(index), -1)


def _bins_of(sentences: Sequence[str], clusters: NDArray[np.intp] | None) -> Indices:
    """The bin of each sentence, (n,); -1 if it is in no bin, or a near-duplicate of an earlier sentence."""
    _, first = np.unique(clusters_of(sentences) if clusters is None else clusters, return_index=True)
    found = np.full(len(sentences), -1, np.intp)
    for index in first.tolist():
        n = n_words(sentences[index])
        found[index] = next((label for label, (low, high) in enumerate(BINS) if low <= n <= high), -1)
    return found


_PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Of the training sentences, as published; each is coded by a classifier of those before it."""


def online_code(features: ArrayLike, task: Task) -> Code:
    """The code of the train sentences’ classes from features of all sentences, (n, width) or (n,).

    The first portion in which every class occurs is coded as if all were equally likely, each further one by a logistic
    regression on standardised features, fitted on all before it, with the penalty of `STRENGTHS` whose loss on the dev
    sentences is the lowest. The order of the sentences is random, and always the same.
    """
    x = np.asarray(features).reshape(len(task.labels), -1)
    order = np.random.default_rng(0).permutation(task.train)
    labels, k = task.labels[order], task.n_classes
    portions = sorted({math.ceil(portion * len(order)) for portion in _PORTIONS})
    ends = [end for end in portions if len(set(labels[:end].tolist())) == k] or [len(order)]
    bits = ends[0] * math.log2(k)
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        for start, stop in pairwise(ends):
            bits += _bits(x[order[:stop]].astype(float), labels[:stop], start, x[task.dev], task.labels[task.dev])
    return Code(len(order), bits, len(order) * math.log2(k))


def _bits(
    x: NDArray[np.float64],
    labels: NDArray[np.intp],
    start: int,
    dev: NDArray[np.floating],
    dev_labels: NDArray[np.intp],
) -> float:
    """What the classes from `start` on take, by a classifier of those before."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(x[:start])
    known, coming, held_out = (scaler.transform(rows) for rows in (x[:start], x[start:], dev.astype(float)))
    regression = LogisticRegression(max_iter=_MOST_STEPS, warm_start=True)
    least, best = math.inf, np.empty(0)
    for strength in STRENGTHS:
        regression.set_params(C=strength).fit(known, labels[:start])
        loss = log_loss(dev_labels, regression.predict_proba(held_out), labels=regression.classes_)
        if loss < least:
            least, best = loss, regression.predict_log_proba(coming)
    return float(-best[np.arange(len(best)), labels[start:]].sum() / math.log(2))
