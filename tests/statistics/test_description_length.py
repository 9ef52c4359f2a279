import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from clsviz.statistics.sentlen import STRENGTHS, Task, online_code


def task_of(n: int, k: int = 3, seed: int = 0) -> Task:
    """n training sentences of k classes, and half as many to choose on."""
    labels = np.random.default_rng(seed).permutation(np.arange(n + n // 2) % k)
    return Task(labels, np.arange(n), np.arange(n, len(labels)), np.arange(0), n // k)


def test_the_bits_are_those_of_a_code_written_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(80)
    random = np.random.default_rng(1)
    x = random.standard_normal((120, 4)) + 2 * np.eye(3, 4)[task.labels]
    monkeypatch.setattr("clsviz.statistics.sentlen.STRENGTHS", (1.0,))
    order = np.random.default_rng(0).permutation(80)
    x_train, labels = x[order], task.labels[order]
    ends = [end for end in (1, 2, 3, 5, 10, 20, 40, 80) if set(labels[:end]) == {0, 1, 2}]
    bits = ends[0] * math.log2(3)
    for start, stop in pairwise(ends):
        scaler = StandardScaler().fit(x_train[:start])
        probe = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8).fit(
            scaler.transform(x_train[:start]), labels[:start]
        )
        for row, label in zip(x_train[start:stop], labels[start:stop], strict=True):
            bits -= math.log2(probe.predict_proba(scaler.transform(row[None]))[0, label])
    code = online_code(x, task)
    assert code.bits == pytest.approx(bits, rel=1e-3)
    assert code.uniform_bits == pytest.approx(80 * math.log2(3))
    assert code.n == 80


def test_what_tells_the_classes_takes_few_bits_and_noise_takes_all() -> None:
    task = task_of(400)
    random = np.random.default_rng(2)
    noise = random.standard_normal((600, 5))
    plain, hidden = (online_code(noise + size * np.eye(3, 5)[task.labels], task) for size in (10.0, 1.0))
    nothing = online_code(noise, task)
    assert plain.bits < hidden.bits < nothing.bits
    assert plain.bits < 0.2 * plain.uniform_bits
    assert nothing.bits == pytest.approx(nothing.uniform_bits, rel=0.1)
    assert online_code(task.labels.astype(float), task).bits < 0.4 * plain.uniform_bits  # one number each
    assert online_code(noise, task).bits == nothing.bits


def test_the_penalty_is_the_one_with_the_least_loss_on_the_dev_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(200)
    x = np.random.default_rng(3).standard_normal((300, 60)) + np.eye(3, 60)[task.labels]
    chosen = online_code(x, task).bits
    alone = []
    for strength in STRENGTHS:
        monkeypatch.setattr("clsviz.statistics.sentlen.STRENGTHS", (strength,))
        alone.append(online_code(x, task).bits)
    assert chosen < alone[-1]  # the weakest penalty fits noise
    assert chosen <= min(alone) * 1.05


def test_too_few_for_every_class_are_coded_as_equally_likely() -> None:
    task = Task(np.array([0, 1, 2, 0, 1, 2]), np.arange(3), np.arange(3, 6), np.arange(0), 1)
    code = online_code(np.arange(6.0), task)
    assert code.bits == pytest.approx(code.uniform_bits) == pytest.approx(3 * math.log2(3))
