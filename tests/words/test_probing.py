from dataclasses import replace

import numpy as np
import pytest

from clsviz import words
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL, Erasure, Left
from clsviz.statistics.probes import Leg, Travel

NAN = float("nan")
HERE, THERE = "Docs", "Novels"


def legs(*across: float) -> tuple[Leg, ...]:
    return tuple(
        Leg(layer, 0.9, 1.0 + layer, 1 - error / 10, error, 0.8, 1.5 + layer) for layer, error in enumerate(across)
    )


def test_a_probe_that_travels_is_told_beside_one_that_was_trained_there_and_guessing() -> None:
    found = Travel(500, 400, 2, 6.0, 7.0, 5.0, legs(NAN, 2.5, 4.0))
    assert words.probing.travelled(found, HERE, THERE) == (
        "Trained on Docs and read on Novels: after layer 1 it is off by 2.5 tokens there (on held-out sentences of its "
        "own corpus: 2.0; trained there: 2.5), and after the last layer it is off by 4.0 tokens there (on held-out "
        "sentences of its own corpus: 3.0; trained there: 3.5). Guessing the mean length of Docs is off by 7.0 there."
    )


@pytest.mark.parametrize(
    ("across", "claim"),
    [
        ((NAN, 2.5, 9.0), ": after the last layer the probe does no better."),
        ((NAN, 8.0, 9.0), ": the probe does no better."),
        ((NAN, 9.0, 2.0), ": after layer 1 the probe does no better."),
    ],
)
def test_a_probe_that_is_worse_than_a_guess_there_is_said_to_be(across: tuple[float, ...], claim: str) -> None:
    text = words.probing.travelled(Travel(500, 400, 2, 6.0, 7.0, 5.0, legs(*across)), HERE, THERE, "words")
    assert text.endswith(claim)
    assert "words there" in text


def test_what_is_not_read_yet_or_cannot_be_is_not_told() -> None:
    nothing = Travel(500, 4, 2, 6.0, 7.0, NAN, legs(NAN))
    assert words.probing.travelled(nothing, HERE, THERE).startswith("No probe of Docs could be read on Novels so far")
    assert words.probing.travelled(None, HERE, THERE) == "Fitting probes…"
    text = words.probing.travelled(nothing, HERE, THERE)
    assert text.endswith("There are 500 and 4, without those of Novels that are in both.")
    few = words.probing.travelled(replace(nothing, legs=legs(NAN, 2.0)), HERE, THERE)
    assert few.startswith("Not tested: 4 sentences are too few to tell how a probe of Docs does on Novels.")
    copies = words.probing.travelled(replace(nothing, n_clusters=6, legs=legs(NAN, 2.0)), HERE, THERE)
    assert copies.startswith("Not tested: 6 different sentences (of 500) are too few")
    first = words.probing.travelled(replace(nothing, n_there=400, legs=legs(NAN, 2.0)), HERE, THERE)
    assert "after layer 1" in first
    assert "last layer" not in first


def test_what_erasing_leaves_is_told_with_its_control() -> None:
    left = {
        BEFORE: Left((0.9, 0.8), (0.95, 0.95), (0.6, 0.7)),
        AFTER: Left((-0.004, 0.0), (0.7, 0.8), (0.5, 0.5)),
        CONTROL: Left((0.85, 0.85), (0.88, 0.92), (0.6, 0.7)),
    }
    text = words.probing.erased(Erasure(400, 2, 2, left))
    assert text == (
        "Once the length is erased, a linear probe reads R² 0.00 (before: 0.85), a nonlinear one 0.75 (before: 0.95), "
        "and a sentence’s length goes with that of its 10 nearest neighbours at ρ 0.50 (before: 0.65). Erasing "
        "shuffled lengths leaves 0.85, 0.90 (0.88 to 0.92) and 0.65 (0.60 to 0.70)."
    )
    assert words.probing.erased(Erasure(400, 5, 2, left)).endswith("So far, 2 of 5 folds are done.")
    odd = Left((-30.0,), (-0.3,), (np.nan,))
    assert "R² below 0 (before" in words.probing.erased(Erasure(400, 1, 1, left | {AFTER: odd}))
    assert "nonlinear one −0.30" in words.probing.erased(Erasure(400, 1, 1, left | {AFTER: odd}))
    assert "at ρ undefined" in words.probing.erased(Erasure(400, 1, 1, left | {AFTER: odd}))
    few = words.probing.erased(Erasure(400, 2, 2, left, n_clusters=1))
    assert few.startswith("Not tested: 1 different sentence (of 400) is too few to tell what erasing the length leaves")
    assert words.probing.erased(None) == "Erasing the length…"
