from dataclasses import replace

import numpy as np
import pandas as pd
from support.snapshots import assert_said

from clsviz import words
from clsviz.analysis import ViewData
from clsviz.experiment import View
from clsviz.settings import Unit
from clsviz.statistics.line import fit
from clsviz.statistics.similarity import nearest

LENGTHS = np.repeat(np.arange(5, 15, dtype=np.int32), 30)
NORMS = np.linspace(6, 8, len(LENGTHS), dtype=np.float32)
SHOWN = ViewData(np.arange(len(LENGTHS)), LENGTHS, NORMS, fit(LENGTHS, NORMS), "", 0)


def grown(**norms: list[float]) -> str:
    rows = [(name, n, norm) for name, values in norms.items() for n, norm in enumerate(values, 1)]
    return words.try_a_sentence.growth_said(pd.DataFrame(rows, columns=["variant", "n_words", "norm"]))


def test_a_sentence_is_set_beside_those_of_about_its_length() -> None:
    def facts(length: int, norm: float = 7.0, shown: ViewData = SHOWN, *, cut: bool = False) -> str:
        return words.try_a_sentence.facts(length, norm, Unit.WORDS, shown, is_truncated=cut)

    same = replace(SHOWN, norms=np.full(len(LENGTHS), 6.9389334, np.float32), fit=None)
    lengths, norms = np.full(1000, 9, np.int32), np.arange(1000, dtype=np.float32)
    assert_said(
        "typed",
        {
            "higher than all": facts(10, 9.0),
            "one word": facts(1),
            "longer than all": facts(40),
            "at the ends": [facts(length) for length in (4, 5, 14, 15)],
            "without a line": facts(10, shown=replace(SHOWN, fit=None)),
            "one length": facts(40, shown=replace(SHOWN, lengths=np.full(len(LENGTHS), 6), fit=None)),
            "the norm of all": facts(10, 6.938934, same),
            "cut": facts(10, cut=True),
            "ranks": [words.try_a_sentence.among(9, norm, lengths, norms) for norm in (-1, 0.5, 500.5, 998.5, 1000)],
            "tokens": words.try_a_sentence.token_list(["a", "b"]),
            "many tokens": words.try_a_sentence.token_list(["a"] * 100)[-30:],
            "it grows": grown(typed=[7, 9, 6.5, 8], shuffled=[7, 7, 7, 7.25]),
            "it hardly changes": grown(typed=[7, 7.002], shuffled=[7, 7.004]),
            "one word grows": grown(typed=[7], shuffled=[7]),
            "nothing grows": grown(),
        },
    )


def test_ties_and_zero_vectors_are_told_beside_the_nearest() -> None:
    vectors = np.array([[1, 0], [1, 1], [1, 1], [1, 1], [0, 0]], np.float32)
    near = nearest(np.array([1, 0], np.float32), vectors, list("abcde"), n=2)
    text = words.try_a_sentence.nearest("A.", View(), near, float("nan"))
    assert "among 4 sentences. A tie: 2 more sentences are as near as the last one listed." in text
    assert text.endswith(" One sentence has a zero vector, which is near nothing.")
    near = nearest(np.array([1, 0], np.float32), vectors[:2], ["a", "b"], n=2)
    assert words.try_a_sentence.nearest("A.", View(), near, float("nan")).endswith("among 2 sentences.")
