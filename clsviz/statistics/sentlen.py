"""The SentLen task (Conneau et al. 2018; SentEval): telling into which of six bins of length a sentence falls."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from clsviz.errors import UndefinedFitError
from clsviz.statistics.folds import canonical
from clsviz.statistics.intervals import CONFIDENCE, Interval

Floats = NDArray[np.float64]


Indices = NDArray[np.intp]


BINS: tuple[tuple[int, int], ...] = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))
"""Fewest and most words of a sentence of each class, as published."""


STRENGTHS: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""C of the logistic regression, the inverse of the penalty: those that are tried, from the strongest penalty on."""


CHANCE = 1 / len(BINS)
"""Accuracy of guessing, as the classes are balanced."""


FEWEST_PER_CLASS = 10


_MOST_PER_CLASS = 500


_TOLERANCE, _MOST_STEPS = 1e-4, 2000


_CONSTANT = 1e-6
"""A spread below this share of the norm is rounding."""


@dataclass(frozen=True, eq=False)
class Task:
    """Which sentences are classified, and into what; as many of each class as of any other, in each split.

    labels: intp (n,), the bin of each sentence, -1 where it is not in the task.
    train, dev, test: intp, indices of 60%, 20% and 20% of those that are.
    """

    labels: Indices
    train: Indices
    dev: Indices
    test: Indices
    n_per_class: int


@dataclass(frozen=True, eq=False)
class Result:
    """How well the classes are told apart.

    accuracy: share of the test sentences whose class is found; interval: its 95% interval (Wilson 1927).
    dev_accuracy: of the dev sentences, by which the strength was chosen, so that it flatters.
    strength: C of the logistic regression. confusion: intp (6, 6), test sentences by true (row) and found class.
    """

    accuracy: float
    interval: Interval
    dev_accuracy: float
    strength: float
    n_train: int
    n_dev: int
    n_test: int
    confusion: Indices


@dataclass(frozen=True)
class Published:
    """An accuracy that a paper reports for the task, in %, of other sentences and in another setup."""

    name: str
    accuracy: float
    source: str


_DECLUTR = "Giorgi et al. 2021 (DeCLUTR), Table 3"


PUBLISHED: tuple[Published, ...] = (
    Published("GloVe", 57.82, _DECLUTR),
    Published("fastText", 55.46, _DECLUTR),
    Published("InferSent", 78.76, _DECLUTR),
    Published("InferSent", 71.7, "another paper, in another setup"),
    Published("Universal Sentence Encoder", 73.14, _DECLUTR),
    Published("RoBERTa-base, mean", 81.96, _DECLUTR),
    Published("DistilRoBERTa, mean", 88.62, _DECLUTR),
)
"""Context for a result, never the same measurement: setups differ even between papers, as InferSent’s two show."""


@dataclass(frozen=True, eq=False)
class Choice:
    """The model of the strength that does best on the dev sentences, fitted on the train sentences alone.

    model: StandardScaler and LogisticRegression, fitted. dev_accuracy: its share of dev sentences that it gets right.
    """

    model: Pipeline
    strength: float
    dev_accuracy: float


@dataclass(frozen=True, eq=False)
class _Rows:
    """Features (n, width) and classes (n,) of one split."""

    features: Floats
    labels: Indices


def n_words(sentence: str) -> int:
    """Words of a sentence: what white space separates, punctuation being part of the word that it touches."""
    return len(sentence.split())


def task(sentences: Sequence[str], seed: int = 0, most_per_class: int = _MOST_PER_CLASS) -> Task:
    """Draw the sentences of the task and split them; raises UndefinedFitError where a bin has too few.

    A word is what white space separates (`n_words`). Of sentences that are the same but for case, accents and white
    space only the first is taken, so that none is in two splits. As many of each bin are drawn as the rarest has, at
    most `most_per_class`: they bound the time.
    """
    random = np.random.default_rng(seed)
    found = _bins_of(sentences)
    members = [random.permutation(np.flatnonzero(found == label)) for label in range(len(BINS))]
    rarest = min(range(len(BINS)), key=lambda label: len(members[label]))
    if len(members[rarest]) < FEWEST_PER_CLASS:
        raise UndefinedFitError(_too_few(rarest, len(members[rarest])))
    n = min(most_per_class, len(members[rarest]))
    n_held_out = n // 5
    drawn = np.stack([mine[:n] for mine in members])
    labels = np.full(len(sentences), -1, np.intp)
    labels[drawn] = np.arange(len(BINS))[:, None]
    splits = np.split(drawn, [n - 2 * n_held_out, n - n_held_out], axis=1)
    train, dev, test = (np.sort(split, axis=None) for split in splits)
    return Task(labels, train, dev, test, n)


def classify(features: ArrayLike, task: Task) -> Result:
    """Accuracy of a logistic regression from features: (n, width) of all n sentences, or (n,), one number of each.

    Features are standardised; the strength of the penalty is that which does best on the dev sentences. Both, and the
    regression, know the train sentences alone; the test sentences are looked at once, by the model that was chosen.
    Raises UndefinedFitError where the features are the same for all train sentences, up to rounding.
    """
    choice = choose(features, task)
    test = _rows(features, task, task.test)
    confusion = confusion_matrix(test.labels, choice.model.predict(test.features), labels=range(len(BINS)))
    n_right, n_test = int(np.trace(confusion)), len(test.labels)
    ends = stats.binomtest(n_right, n_test).proportion_ci(CONFIDENCE, method="wilson")
    return Result(
        accuracy=n_right / n_test,
        interval=(float(ends.low), float(ends.high)),
        dev_accuracy=choice.dev_accuracy,
        strength=choice.strength,
        n_train=len(task.train),
        n_dev=len(task.dev),
        n_test=n_test,
        confusion=confusion.astype(np.intp),
    )


def choose(features: ArrayLike, task: Task) -> Choice:
    """The model whose accuracy on the dev sentences is best, of features as of `classify`; test sentences are not read.

    Raises UndefinedFitError as `classify` does.
    """
    return _search(_rows(features, task, task.train), _rows(features, task, task.dev))


def _search(train: _Rows, dev: _Rows) -> Choice:
    """Fit every strength on train, compare on dev; of equals the smallest C.

    Each regression starts from the one of the strength before, which takes fewer steps to the same minimum.
    """
    _explain_constant(train.features)
    scaler = StandardScaler().fit(train.features)
    train_features, dev_features = scaler.transform(train.features), scaler.transform(dev.features)
    regression = LogisticRegression(tol=_TOLERANCE, max_iter=_MOST_STEPS, warm_start=True)
    best, best_accuracy = regression, -1.0
    for strength in STRENGTHS:
        regression.set_params(C=strength).fit(train_features, train.labels)
        accuracy = float(regression.score(dev_features, dev.labels))
        if accuracy > best_accuracy:
            best, best_accuracy = copy.deepcopy(regression), accuracy
    return Choice(make_pipeline(scaler, best), float(best.C), best_accuracy)


def _rows(features: ArrayLike, task: Task, index: Indices) -> _Rows:
    """One split; in double precision, as little tells vectors apart in layers where they are nearly alike."""
    rows = np.asarray(features)[index].astype(np.float64)
    return _Rows(rows.reshape(len(index), -1), task.labels[index])


def _explain_constant(features: Floats) -> None:
    """Raise UndefinedFitError where the features are the same for all sentences, up to rounding."""
    spread = np.sqrt(features.var(axis=0).sum())
    if spread <= _CONSTANT * np.linalg.norm(features.mean(axis=0)):
        what = "norm" if features.shape[1] == 1 else "vector"
        raise UndefinedFitError(f"The {what} is the same for all sentences, so nothing can be read from it.")


def _bins_of(sentences: Sequence[str]) -> Indices:
    """The bin of each sentence, (n,); -1 where it falls into none, or is the same as one before."""
    seen: set[str] = set()
    found = np.full(len(sentences), -1, np.intp)
    for index, sentence in enumerate(sentences):
        n, key = n_words(sentence), canonical(sentence)
        if key not in seen:
            found[index] = next((label for label, (low, high) in enumerate(BINS) if low <= n <= high), -1)
            seen.add(key)
    return found


def _too_few(rarest: int, n: int) -> str:
    low, high = BINS[rarest]
    there = f"only {n} has" if n == 1 else f"only {n} have" if n else "none has"
    return (
        f"Of the sentences under the length cutoff, {there} {low} to {high} words, and each of the six bins needs at "
        f"least {FEWEST_PER_CLASS} different ones. Take a larger sample, another corpus or a higher cutoff."
    )
