import numpy as np

from clsviz import words
from clsviz.analysis.layers import AfterLayer, EveryLayer

NOTHING = np.empty(0, np.float32)


def every(*r_squared: float | None, n: int = 5000) -> EveryLayer:
    layers = tuple(AfterLayer(layer, NOTHING, 1.0, 1.0, known) for layer, known in enumerate(r_squared))
    return EveryLayer(n, np.arange(400), np.arange(400, dtype=np.int32), layers)


def test_the_best_and_the_last_layer_are_named_once() -> None:
    assert words.every_layer.said(every(None, 0.4, 0.123)) == (
        "A straight line in length accounts for most of the norm of [CLS] after layer 1 (R² 0.400); "
        "after the last layer, 2, R² is 0.123."
    )
    assert words.every_layer.said(every(0.5, 0.1, None)).endswith("at the embedding layer (R² 0.500).")
    assert words.every_layer.said(every(0.1, 0.2)).endswith("after layer 1 (R² 0.200), the last.")
    assert words.every_layer.said(every(None, None)) == "After no layer is there a line through these norms."
