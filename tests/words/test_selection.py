import numpy as np

from clsviz import words
from clsviz.analysis import ViewData
from clsviz.settings import Trait

RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(3, 40, 200).astype(np.int32)
NORMS = (7 + 0.1 * LENGTHS + RANDOM.standard_normal(200)).astype(np.float32)
SHOWN = ViewData(np.arange(200), LENGTHS, NORMS, None, "", clusters=np.arange(200))


def test_a_selection_has_its_own_count_mean_and_r_squared() -> None:
    index = np.flatnonzero(LENGTHS > 20)
    r_squared = np.corrcoef(LENGTHS[index], NORMS[index])[0, 1] ** 2
    assert words.selection.selected(SHOWN, index) == (
        f"{len(index)} selected · mean norm {NORMS[index].mean():.2f}, of all {NORMS.mean():.2f} · R² {r_squared:.3f} "
        "among them"
    )


def test_a_selection_without_a_line_claims_none() -> None:
    assert "R²" not in words.selection.selected(SHOWN, np.array([3, 4]))
    assert "R²" not in words.selection.selected(SHOWN, np.flatnonzero(LENGTHS[0] == LENGTHS))


def test_those_with_a_trait_are_counted_beside_the_others() -> None:
    has = LENGTHS % 2 == 0
    n, means = has.sum(), [words.number(float(NORMS[which].mean())) for which in (has, ~has)]
    assert words.selection.by_trait(Trait.DIGIT, SHOWN, has) == (
        f"{n} of 200 sentences have a digit: mean norm {means[0]}, that of the others {means[1]}."
    )
    assert words.selection.by_trait(Trait.QUESTION, SHOWN, has & False) == (
        "None of the 200 sentences have a question mark."
    )
    one = SHOWN.index == 7
    assert words.selection.by_trait(Trait.CAPITAL, SHOWN, one).startswith("1 of 200 sentences begins with a capital: ")
    alone = ViewData(np.arange(1), LENGTHS[:1], NORMS[:1], None, "")
    assert words.selection.by_trait(Trait.DIGIT, alone, np.array([True])) == "The only sentence has a digit."
    assert words.selection.by_trait(Trait.DIGIT, alone, np.array([False])) == (
        "The only sentence is not one that has a digit."
    )
    assert (
        words.selection.by_trait(Trait.FULL_STOP, SHOWN, has | True) == "All of the 200 sentences end with a full stop."
    )
