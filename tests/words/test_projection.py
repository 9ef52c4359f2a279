import numpy as np

from clsviz import words
from clsviz.statistics.probes import Projection


def projected(r_squared: float, *shares: float) -> Projection:
    return Projection(np.zeros((400, 2), np.float32), shares or (0.2, 0.06), r_squared, (r_squared,))


def test_shares_and_both_probes_are_said_once() -> None:
    assert words.projection.said(projected(0.414), "[CLS] after layer 2", 0.987) == (
        "The two directions hold 26% of the variance of [CLS] after layer 2 (20% and 6.0%); from these two numbers "
        "alone, a linear probe predicts the length of held-out sentences at R² 0.41 (from the whole vector: 0.99)."
    )


def test_what_is_not_known_is_left_out() -> None:
    assert words.projection.said(projected(-0.3), "[CLS]", None).endswith("held-out sentences at R² below 0.")
    assert words.projection.said(projected(-0.001), "[CLS]", None).endswith("at R² 0.00.")
    few = words.projection.said(projected(0.9), "[CLS]", 0.99, n_different=6)
    assert few == (
        "The two directions hold 26% of the variance of [CLS] (20% and 6.0%). Not tested: 6 different sentences (of "
        "400) are too few to tell whether these two numbers alone predict the length. It takes at least 100."
    )
    assert words.projection.said(None, "[CLS]", None) == "Projecting the vectors…"
