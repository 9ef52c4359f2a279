"""The encoders that are loaded."""

import contextlib
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Self

from clsviz import encoder, models
from clsviz.errors import ModelError
from clsviz.measuring.checked import Checked
from clsviz.settings import Precision

if TYPE_CHECKING:
    from clsviz.encoder import AnyEncoder, Process
    from clsviz.measuring.store import Store


class Mistaken(Exception):  # noqa: N818  (the encoder is replaced)
    """An encoder gave other numbers than the model's own code, so what it measured is void."""


class Encoders:
    """The encoders in memory: the most recently used ones, up to a capacity. Safe to share between threads.

    An encoder that is loaded directly, without transformers, is there seconds sooner. What it measures may be shown at
    once, and kept after `check` has compared it with the one that transformers loads.
    """

    def __init__(self, capacity: int = 2, checked: Checked | None = None, process: "Process | None" = None) -> None:
        """checked: what was found out before; by default nothing is remembered.

        process: where they are loaded; by default in this one.
        """
        self._capacity = capacity
        self._process = process
        self._checked = checked or Checked()
        self._loaded: OrderedDict[tuple[str, Precision], AnyEncoder] = OrderedDict()
        self._unchecked: weakref.WeakSet[AnyEncoder] = weakref.WeakSet()
        self._lock = threading.RLock()

    @classmethod
    def of(cls, store: "Store", capacity: int = 2, process: "Process | None" = None) -> Self:
        """Those of a store, which remembers what was checked."""
        return cls(capacity, Checked(store.checked), process)

    def get(
        self, weights: models.Weights, precision: Precision = Precision.EXACT, *, unchecked: bool = False
    ) -> "AnyEncoder":
        """The encoder with these weights, loaded if necessary; raises ModelError where that fails.

        unchecked: whether it may be one that `check` has yet to be called for.
        """
        if weights.imported:
            raise weights.imported.no_model
        key = weights.fingerprint, precision
        with self._lock:  # held while loading, so that no model is loaded twice
            if not self.has(weights, precision):
                self._loaded.pop(key, None)
                while len(self._loaded) >= self._capacity:
                    self._loaded.popitem(last=False)
                self._loaded[key] = self._load(weights, precision)
            self._loaded.move_to_end(key)
            if not unchecked:
                with contextlib.suppress(Mistaken):
                    self.check(self._loaded[key])
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

    def needs_check(self, loaded: "AnyEncoder") -> bool:
        """Whether nobody knows yet that its numbers are those of the model's own code."""
        return loaded in self._unchecked

    def check(self, loaded: "AnyEncoder") -> None:
        """Compare an encoder with the one that transformers loads, if that was not done before.

        Raises Mistaken if they do not agree, and ModelError if transformers cannot load it; `get` then gives the other.
        """
        with self._lock:
            if loaded not in self._unchecked:
                return
            key = loaded.weights.fingerprint, loaded.precision
            try:
                other = self._new(loaded.weights, loaded.precision)
            except ModelError:
                self._loaded.pop(key, None)
                raise
            if not loaded.agrees_with(other):
                self._loaded[key] = other
                raise Mistaken
            self._unchecked.discard(loaded)
            self._checked.add(loaded)

    def close(self) -> None:
        """End the process that has them, and whatever goes on there."""
        if self._process is not None:
            self._process.close()

    def _load(self, weights: models.Weights, precision: Precision) -> "AnyEncoder":
        try:
            loaded = self._new(weights, precision, directly=True)
        except encoder.Unsuited:
            return self._new(weights, precision)
        if loaded not in self._checked:
            self._unchecked.add(loaded)
        return loaded

    def _new(self, weights: models.Weights, precision: Precision, *, directly: bool = False) -> "AnyEncoder":
        load = self._process.encoder if self._process else encoder.Encoder
        return load(weights, precision, directly=directly)
