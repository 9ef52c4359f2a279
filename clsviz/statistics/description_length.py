"""How many bits the classes of sentences take once their vectors are known: the online code (Voita and Titov 2020)."""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from clsviz.statistics.results.sentlen import Code
from clsviz.statistics.ridge import blas_threads
from clsviz.statistics.sentlen import STRENGTHS, Task

_PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Of the training sentences, as published; each is coded by a classifier of those before it."""


_MOST_STEPS = 2000


def online_code(features: ArrayLike, task: Task) -> Code:
    """The code of the train sentences’ classes from features of all sentences, (n, width) or (n,).

    The first portion in which every class occurs is coded as if all were equally likely, each further one by a logistic
    regression on standardised features, fitted on all before it, with the penalty of `STRENGTHS` whose loss on the dev
    sentences is the lowest. The order of the sentences is random, and always the same.
    """
    x = np.asarray(features).reshape(len(task.labels), -1)
    order = np.random.default_rng(0).permutation(task.train)
    labels, k = task.labels[order], task.n_classes
    ends = [end for end in _ends(len(order)) if len(set(labels[:end].tolist())) == k] or [len(order)]
    bits = ends[0] * math.log2(k)
    with blas_threads().limit(limits=1, user_api="blas"):  # as in `ridge_probe`
        for start, stop in pairwise(ends):
            bits += _bits(x[order[:stop]].astype(float), labels[:stop], start, x[task.dev], task.labels[task.dev])
    return Code(len(order), bits, len(order) * math.log2(k))


def _ends(n: int) -> list[int]:
    return sorted({math.ceil(portion * n) for portion in _PORTIONS})


def _bits(
    x: NDArray[np.float64],
    labels: NDArray[np.intp],
    start: int,
    dev: NDArray[np.floating],
    dev_labels: NDArray[np.intp],
) -> float:
    """What the classes from `start` on take, by a classifier of those before."""
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
