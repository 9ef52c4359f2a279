"""The encoders that are loaded."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from clsviz import encoder
from clsviz.settings import Precision
from clsviz.sources import models

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder, Process


class Encoders:
    """The encoders in memory: the most recently used ones, up to a capacity. Safe to share between threads."""

    def __init__(self, capacity: int = 2, process: "Process | None" = None) -> None:
        """process: where they are loaded; by default in this one."""
        self._capacity = capacity
        self._process = process
        self._loaded: OrderedDict[tuple[str, Precision], AnyEncoder] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, weights: models.Weights, precision: Precision = Precision.EXACT) -> "AnyEncoder":
        """The encoder with these weights, loaded if necessary; raises ModelError where that fails."""
        if weights.imported:
            raise weights.imported.no_model
        key = weights.fingerprint, precision
        with self._lock:  # held while loading, so that no model is loaded twice
            if not self.has(weights, precision):
                self._loaded.pop(key, None)
                while len(self._loaded) >= self._capacity:
                    self._loaded.popitem(last=False)
                self._loaded[key] = (self._process.encoder if self._process else encoder.Encoder)(weights, precision)
            self._loaded.move_to_end(key)
            return self._loaded[key]

    def has(self, weights: models.Weights, precision: Precision = Precision.EXACT) -> bool:
        """Whether the encoder with these weights is in memory."""
        loaded = self._loaded.get((weights.fingerprint, precision))
        return loaded is not None and not loaded.is_gone

    @property
    def pid(self) -> int | None:
        """The number of the process that has them, if it is not this one and runs."""
        return self._process.pid if self._process else None

    def product_rate(self, seconds: float) -> float:
        """How fast this machine multiplies matrices, measured where the encoders are for so many seconds."""
        rate: float = (self._process or encoder).product_rate(seconds)
        return rate

    def close(self) -> None:
        """End the process that has them, and whatever goes on there."""
        if self._process is not None:
            self._process.close()
