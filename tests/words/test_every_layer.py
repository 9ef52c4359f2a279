import numpy as np

from clsviz import words
from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.settings import Unit

NOTHING = np.empty(0, np.float32)


def every(*r_squared: float | None, n: int = 5000) -> EveryLayer:
    layers = tuple(AfterLayer(layer, NOTHING, 1.0, 1.0, known) for layer, known in enumerate(r_squared))
    return EveryLayer(n, np.arange(400), np.arange(400, dtype=np.int32), layers)


def test_the_best_and_the_last_layer_are_named_once() -> None:
    assert words.every_layer.said(every(None, 0.4, 0.123)) == (
        "Among these sentences, a straight line explains the norm of [CLS] best after layer 1 (R² 0.400); "
        "after the last layer, 2, R² is 0.123."
    )
    assert words.every_layer.said(every(0.5, 0.1, None)).endswith("best at the embedding layer (R² 0.500).")
    assert words.every_layer.said(every(0.1, 0.2)).endswith("best after layer 1 (R² 0.200), the last.")
    assert words.every_layer.said(every(None, None)) == "After no layer is there a line through these norms."


def test_how_many_are_drawn_is_said() -> None:
    assert "They draw 400 of 5,000 sentences;" in words.every_layer.about_panels(every(0.1), Unit.TOKENS)
    alone = EveryLayer(1, np.arange(1), np.arange(1, dtype=np.int32), every(0.1).layers)
    assert "They draw 1 sentence;" in words.every_layer.about_panels(alone, Unit.TOKENS)
    assert "They draw all 400 sentences;" in words.every_layer.about_panels(every(0.1, n=400), Unit.TOKENS)
