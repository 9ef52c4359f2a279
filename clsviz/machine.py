"""How fast this machine multiplies matrices, from which the time of a run is estimated before it starts."""

import functools
import logging
import threading
import time

import numpy as np

MEASURING_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Machine:
    """The machine's rate: guessed at once, and measured in the kernels of the encoder when there is time for it."""

    def __init__(self) -> None:
        self._measured: float | None = None
        self._starting = threading.Lock()
        self._started = False

    @property
    def rate(self) -> float:
        """Floating-point operations per second of a large float32 product."""
        return self._measured or _guess()

    @property
    def is_measured(self) -> bool:
        """Whether the rate is more than a guess."""
        return self._measured is not None

    def measure_soon(self) -> None:
        """Measure for two seconds, once, in a thread of its own; better while nothing else is at work."""
        with self._starting:
            if not self._started:
                self._started = True
                threading.Thread(target=self._measure, name="measure-machine", daemon=True).start()

    def _measure(self) -> None:
        from clsviz.encoder import product_rate  # torch takes seconds to import

        try:
            self._measured = product_rate(MEASURING_SECONDS)
        except RuntimeError:  # of a card that another program fills, say
            _log.exception("The machine's rate could not be measured")


@functools.cache
def _guess() -> float:
    """The best of a few products, as other threads are at work while the page opens. Takes a tenth of a second."""
    left, right = np.ones((1024, 1024), np.float32), np.ones((1024, 1024), np.float32)
    seconds = []
    for _ in range(6):
        began = time.perf_counter()
        left @ right
        seconds.append(time.perf_counter() - began)
    return 2 * 1024**3 / min(seconds)
