"""The encoders that are loaded."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from clsviz import encoder, models
from clsviz.settings import Precision

if TYPE_CHECKING:
    from clsviz.encoder import Encoder


class Encoders:
    """The encoders in memory: the most recently used ones, up to a capacity. Safe to share between threads."""

    def __init__(self, capacity: int = 2) -> None:
        self._capacity = capacity
        self._loaded: OrderedDict[tuple[str, Precision], Encoder] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, weights: models.Weights, precision: Precision = Precision.EXACT) -> "encoder.Encoder":
        """The encoder with these weights, loaded if necessary; raises ModelError where that fails."""
        key = weights.fingerprint, precision
        with self._lock:  # held while loading, so that no model is loaded twice
            if key not in self._loaded:
                while len(self._loaded) >= self._capacity:
                    self._loaded.popitem(last=False)
                self._loaded[key] = encoder.Encoder(weights, precision)
            self._loaded.move_to_end(key)
            return self._loaded[key]
